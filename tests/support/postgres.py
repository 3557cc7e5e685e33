"""A PostgreSQL of the tests' own, if there is one on this machine; and what is in its tables."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from penstock.embedded.ports import free_port
from support.machine import missing
from support.waiting import SECONDS, until

USER = "penstock"
START_SECONDS = 900
LOOPBACK = "127.0.0.1"


def binaries() -> Path | None:
    """Return the folder with ``postgres`` and ``initdb``; Debian does not put it on the path."""
    found = [Path(path).resolve().parent for name in ("initdb", "postgres") if (path := shutil.which(name))]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists()), None)


class Postgres:
    """One server on a free port. ``stop`` and ``start`` it again; its tables stay. ``settings`` are PostgreSQL's."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._data = folder / "data"
        self._settings = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        self._server: subprocess.Popen[bytes] | None = None
        # It does not run as root.
        self._as = {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        if self._as:
            shutil.chown(folder, "postgres", "postgres")
        self.port = free_port()
        self.url = f"jdbc:postgresql://{LOOPBACK}:{self.port}/postgres?user={USER}"
        self._run("initdb", "-D", str(self._data), "-U", USER, "-A", "trust", "--no-sync")

    @classmethod
    def make(cls, **settings: str) -> Postgres:
        """A server in a folder that its own user can access."""
        return cls(Path(tempfile.mkdtemp(prefix="penstock-postgres-", dir="/tmp")), **settings)

    @property
    def pid(self) -> int:
        """While it runs."""
        assert self._server is not None
        return self._server.pid

    def start(self) -> None:
        folder = binaries()
        assert folder is not None
        options = ("-h", LOOPBACK, "-p", str(self.port), "-k", str(self._data), "-F", *self._settings)
        self._server = subprocess.Popen(
            [folder / "postgres", "-D", str(self._data), *options],
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
            self._server.send_signal(signal.SIGINT)  # it disconnects whoever is connected
            self._server.wait(900)
            self._server = None

    def standby(self) -> Postgres:
        """Return a standby server of this one, which has its data and follows it; it runs."""
        made = Postgres.__new__(Postgres)
        folder = Path(tempfile.mkdtemp(prefix="penstock-postgres-", dir="/tmp"))
        made._data, made._settings, made._as, made._server = folder / "data", self._settings, self._as, None
        if made._as:
            shutil.chown(folder, "postgres", "postgres")
        made.port = free_port()
        made.url = f"jdbc:postgresql://{LOOPBACK}:{made.port}/postgres?user={USER}"
        server = ("-h", LOOPBACK, "-p", str(self.port), "-U", USER)
        self._run("pg_basebackup", *server, "-D", str(made._data), "-R", "--checkpoint=fast", "--no-sync")
        made.start()
        return made

    def end_of_log(self) -> int:
        """Return the position of the last checkpoint's record, of a server that was stopped."""
        found = self._run("pg_controldata", "-D", str(self._data))
        line = next(line for line in found.splitlines() if line.startswith("Latest checkpoint location:"))
        high, low = line.split()[-1].split("/")
        return (int(high, 16) << 32) | int(low, 16)

    def has_all_of(self, primary: Postgres) -> bool:
        """Return whether this standby server has replayed the log of a primary that was stopped."""
        return int(self.rows("SELECT pg_last_wal_replay_lsn() - '0/0'")[0][0]) > primary.end_of_log()

    def copy_slot(self, primary: Postgres, name: str) -> None:
        """Copy a replication slot of the primary, as failover tools do; both servers are stopped."""
        slot = self._data / "pg_replslot" / name
        shutil.copytree(primary._data / "pg_replslot" / name, slot)
        if self._as:
            for path in (slot, *slot.iterdir()):
                shutil.chown(path, "postgres", "postgres")

    def detach(self) -> None:
        """Forget the server that a standby server follows; called while it is stopped."""
        self._settings = [*self._settings, "-c", "primary_conninfo="]

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._data.parent, ignore_errors=True)

    def rows(self, sql: str) -> list[list[str]]:
        said = self._run(*self._psql(), "-F", "\t", "-c", sql)
        return [line.split("\t") for line in said.splitlines()]

    def execute(self, script: str) -> None:
        """Execute a script; each statement outside of the script's transactions is one of its own."""
        self._run(*self._psql(), "-v", "ON_ERROR_STOP=1", "-f", "-", said=script)

    def drop_slot(self, name: str) -> None:
        """Drop the replication slot, if it exists; a reader that has closed its connection holds it for some
        moments.
        """
        slot = f"FROM pg_replication_slots WHERE slot_name = '{name}'"
        until(lambda: not self.rows(f"SELECT 1 {slot} AND active"), f"slot {name} is free", SECONDS)
        self.execute(f"SELECT pg_drop_replication_slot(slot_name) {slot};")

    def session(self) -> subprocess.Popen[str]:
        """Runs the statements that are written to its standard input, in a connection of its own."""
        folder = binaries()
        assert folder is not None
        command = [str(folder / "psql"), *self._psql()[1:]]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/", **self._as)  # type: ignore[call-overload, no-any-return]

    def _psql(self) -> tuple[str, ...]:
        return ("psql", "-h", LOOPBACK, "-p", str(self.port), "-U", USER, "-d", "postgres", "-qAt")

    def _answers(self) -> bool:
        try:
            return self.rows("SELECT 1") == [["1"]]
        except subprocess.CalledProcessError:
            return False

    def _run(self, name: str, *arguments: str, said: str = "") -> str:
        folder = binaries()
        assert folder is not None
        done = subprocess.run(
            [folder / name, *arguments],
            input=said,
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
            **self._as,
        )
        return done.stdout


def running_server(**settings: str) -> Iterator[Postgres]:
    """Yield a running server, and remove it afterwards: the body of a fixture. A test that needs it is skipped where
    there is no PostgreSQL, or fails there if it may not be skipped (``support.machine``).
    """
    if binaries() is None:
        missing("there is no PostgreSQL on this machine: initdb is neither on the path nor in /usr/lib/postgresql")
    server = Postgres.make(**settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()
