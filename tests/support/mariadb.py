"""A MariaDB of the tests' own, if there is one on this machine; and what is in its tables."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from penstock.embedded.ports import free_port

START_SECONDS = 900
LOOPBACK = "127.0.0.1"
SERVER = ("mariadbd", "mysqld")


def binary() -> str | None:
    """Return the server's program; Debian does not put it on every user's path."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"))
    return next(filter(None, (shutil.which(name, path=path) for name in SERVER)), None)


class MariaDb:
    """One server on a free port with a database ``app``. ``stop`` and ``start`` it again; its tables stay.

    ``settings`` are more options of the server.
    """

    def __init__(self, *settings: str) -> None:
        self._settings = settings
        self._folder = Path(tempfile.mkdtemp(prefix="penstock-mariadb-", dir="/tmp"))
        self._server: subprocess.Popen[bytes] | None = None
        # It does not run as root.
        self._as = {"user": "mysql", "group": "mysql"} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(self._folder, "mysql", "mysql")
        self.port = free_port()
        self.url = f"jdbc:mariadb://{LOOPBACK}:{self.port}/app?user=root"
        root = "--auth-root-authentication-method=normal"
        self._run("mariadb-install-db", "--no-defaults", f"--datadir={self._folder}/data", root, "--skip-test-db")
        self.start()
        self.execute("CREATE DATABASE app CHARACTER SET utf8mb4", database="")

    def start(self) -> None:
        server = binary()
        assert server is not None
        options = (f"--bind-address={LOOPBACK}", f"--port={self.port}", f"--socket={self._folder}/socket")
        durability = ("--innodb-flush-log-at-trx-commit=2", "--skip-log-bin", "--skip-name-resolve")
        self._server = subprocess.Popen(
            [server, "--no-defaults", f"--datadir={self._folder}/data", *options, *durability, *self._settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            **self._as,  # type: ignore[call-overload]
        )
        give_up = time.monotonic() + START_SECONDS
        while not self._answers():
            assert self._server.poll() is None
            assert time.monotonic() < give_up
            time.sleep(0.1)

    def stop(self) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait(900)
            self._server = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def rows(self, sql: str) -> list[list[str]]:
        return [line.split("\t") for line in self.execute(sql).splitlines()]

    def execute(self, script: str, database: str = "app") -> str:
        """Statements that may be many, each a transaction of its own."""
        socket = f"--socket={self._folder}/socket"
        return self._run(
            "mariadb",
            "--no-defaults",
            socket,
            "-uroot",
            "-NB",
            "--default-character-set=utf8mb4",
            database,
            said=script,
        )

    def session(self) -> subprocess.Popen[str]:
        """Runs the statements that are written to its standard input, in a connection of its own."""
        socket = f"--socket={self._folder}/socket"
        command = ["mariadb", "--no-defaults", socket, "-uroot", "-NB", "--unbuffered", "app"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", **self._as)  # type: ignore[call-overload, no-any-return]

    def _answers(self) -> bool:
        try:
            return self.execute("SELECT 1", database="") == "1\n"
        except subprocess.CalledProcessError:
            return False

    def _run(self, name: str, *arguments: str, said: str = "") -> str:
        done = subprocess.run(
            [name, *filter(None, arguments)],
            input=said,
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
            **self._as,
        )
        return done.stdout
