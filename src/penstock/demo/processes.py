"""The demo's worker, a process as anybody would start one: a properties file and ``penstock worker distributed``."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from penstock.demo.problem import DemoError
from penstock.embedded.leash import leashed

STOP_SECONDS = 30
PORT = 8083
"""The one that Connect is known for; if it is taken, a free one."""

_PROPERTIES = """\
bootstrap.servers={bootstrap}
group.id=penstock-demo
listeners=http://127.0.0.1:{port}
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
config.storage.topic=connect-configs
offset.storage.topic=connect-offsets
status.storage.topic=connect-status
config.storage.replication.factor=1
offset.storage.replication.factor=1
status.storage.replication.factor=1
# The demo wants to see what is done; the default is a minute.
offset.flush.interval.ms=1000
exactly.once.source.support=enabled
# A worker or a sink task that was killed can't leave its group; the least that a broker allows until it is given up.
session.timeout.ms=6000
heartbeat.interval.ms=2000
consumer.session.timeout.ms=6000
consumer.heartbeat.interval.ms=2000
"""


class WorkerProcess:
    """A worker whose properties and log lie in ``folder``. ``leash``: it must not outlive this process."""

    def __init__(self, folder: Path, bootstrap: str, *, leash: bool = True) -> None:
        self.port = _port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.properties = folder / "worker.properties"
        self.log = folder / "worker.log"
        self._leash = leash
        self._process: subprocess.Popen[bytes] | None = None
        self.properties.write_text(_PROPERTIES.format(bootstrap=bootstrap, port=self.port))

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Called again after ``kill``: the same worker, as an operator would start it again."""
        command = [sys.executable, "-m", "penstock.cli", "worker", "distributed", str(self.properties)]
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C at the terminal is the demo's to handle.
            self._process = subprocess.Popen(
                leashed(command) if self._leash else command,
                stdin=subprocess.PIPE if self._leash else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def check(self) -> None:
        """Raises DemoError if the worker is not running."""
        if self._process is not None and (status := self._process.poll()) is not None:
            raise DemoError(f"The worker ended with status {status}: {self._last_words()} (its log is {self.log}).")

    def kill(self) -> None:
        """End it without warning, as a crash would."""
        self._end_group()

    def stop(self) -> None:
        """End it in good order; by force after 30 s."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)
        self._end_group()

    def _end_group(self) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._process = None

    def _last_words(self) -> str:
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        said = [line for line in lines if " ERROR " in line or line.startswith("penstock: ")]
        return (said or lines or ["it said nothing"])[-1]


def _port() -> int:
    for wanted in (PORT, 0):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", wanted))
            return probe.getsockname()[1]
    raise DemoError("This machine has no free port for the worker's REST interface.")
