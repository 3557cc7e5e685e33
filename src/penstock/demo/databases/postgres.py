"""A PostgreSQL of the demo's own, of the programs on this machine: it ends with the demo, and leaves nothing."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from penstock.api.processes import leashed
from penstock.demo.flights import DemoError
from penstock.embedded.ports import free_port

HOST, USER, DATABASE = "127.0.0.1", "penstock", "postgres"
LOGICAL = ("-c", "wal_level=logical", "-c", "max_wal_senders=4", "-c", "max_replication_slots=4")
SECONDS = 60
DEBIAN = Path("/usr/lib/postgresql")
"""Debian's folder of the programs, by version; it is not on the path."""
SERVANT = "postgres"
"""User that runs the server if the demo runs as root, which PostgreSQL refuses."""


def programs() -> Path:
    """The folder with the programs of a server. Raises DemoError."""
    found = [Path(path).resolve().parent for name in ("initdb", "postgres") if (path := shutil.which(name))]
    found += sorted(DEBIAN.glob("*/bin"), reverse=True)
    for folder in found:
        if all((folder / name).exists() for name in ("initdb", "postgres", "psql")):
            return folder
    raise DemoError(
        "There is no PostgreSQL on this machine, whose changes the demo follows: install its server and client "
        "(Debian: `apt-get install postgresql`, Fedora: `dnf install postgresql-server`, macOS: `brew install "
        "postgresql`); it need not be started."
    )


class Postgres:
    """One server on a free port, which a connector can follow."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs, self._data = programs, folder / "data"
        self._as: dict[str, Any] = _servant(folder)
        self.port = free_port()

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://{HOST}:{self.port}/{DATABASE}?user={USER}"

    @contextmanager
    def running(self) -> Iterator[None]:
        self._run("initdb", "-D", str(self._data), "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8")
        where = ("-D", str(self._data), "-h", HOST, "-p", str(self.port), "-k", str(self._data))
        server = subprocess.Popen(
            leashed([str(self._programs / "postgres"), *where, "-F", *LOGICAL]),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
            **self._as,
        )
        try:
            give_up = time.monotonic() + SECONDS
            while not self._answers():
                if server.poll() is not None or time.monotonic() > give_up:
                    raise DemoError(f"PostgreSQL ({self._programs / 'postgres'}) did not start within {SECONDS} s.")
                time.sleep(0.1)
            yield
        finally:
            server.send_signal(signal.SIGINT)  # it disconnects all clients
            with suppress(subprocess.TimeoutExpired):
                server.wait(SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()

    def query(self, sql: str) -> list[list[str]]:
        return [line.split("\t") for line in self._psql("-qAt", "-F", "\t", "-c", sql).splitlines()]

    def execute(self, script: str, content: str = "") -> list[str]:
        """Run statements; what each has done, as ``UPDATE 12``. ``content`` is what a COPY at their end reads."""
        said = self._psql("-f", "-", said=f"{script}\n{content}")
        return [line for line in said.splitlines() if line]

    def _answers(self) -> bool:
        with suppress(DemoError):
            return self.query("SELECT 1") == [["1"]]
        return False

    def _psql(self, *arguments: str, said: str = "") -> str:
        where = ("-h", HOST, "-p", str(self.port), "-U", USER, "-d", DATABASE)
        return self._run("psql", "-X", "-v", "ON_ERROR_STOP=1", *where, *arguments, said=said)

    def _run(self, name: str, *arguments: str, said: str = "") -> str:
        command = [str(self._programs / name), *arguments]
        done = subprocess.run(command, input=said, capture_output=True, text=True, check=False, cwd="/", **self._as)
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["no word"]
            raise DemoError(f"{self._programs / name} has failed: {lines[-1]}")
        return done.stdout


@contextmanager
def server() -> Iterator[Postgres]:
    """In a scratch folder, which its user can reach. Raises DemoError where there is no PostgreSQL."""
    found = programs()
    folder = Path(tempfile.mkdtemp(prefix="penstock-demo-postgres-"))
    try:
        postgres = Postgres(found, folder)
        with postgres.running():
            yield postgres
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _servant(folder: Path) -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    try:
        pwd.getpwnam(SERVANT)
    except KeyError:
        raise DemoError(
            f"PostgreSQL does not run as root, and this machine has no user {SERVANT}: run the demo as another user."
        ) from None
    shutil.chown(folder, SERVANT)
    return {"user": SERVANT, "group": pwd.getpwnam(SERVANT).pw_gid, "extra_groups": []}
