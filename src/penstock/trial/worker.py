"""A worker in a process of its own, as anybody would start one: a properties file and ``penstock worker``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from penstock.api.processes import leashed

STOP_SECONDS = 30
LAST_LINES = 20


class LocalWorker:
    """``penstock worker`` with these arguments, whose log lies in ``folder``. ``leash``: it must not outlive this
    process.
    """

    def __init__(self, folder: Path, arguments: Sequence[str], *, leash: bool = True) -> None:
        self.log = folder / "worker.log"
        self._arguments = list(arguments)
        self._leash = leash
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Called again after ``stop`` or ``kill``: the same worker, as an operator would start it again."""
        command = [sys.executable, "-m", "penstock.cli", "worker", *self._arguments]
        with self.log.open("ab") as log:
            # A session of its own: Ctrl-C at the terminal is its owner's to handle.
            self._process = subprocess.Popen(
                leashed(command) if self._leash else command,
                stdin=subprocess.PIPE if self._leash else subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def ended(self) -> str | None:
        """Return that the worker has ended, with the last lines of its log; None while it runs."""
        if self._process is None or (status := self._process.poll()) is None:
            return None
        return f"The worker ended with status {status}. {self.last_lines()}"

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

    def last_lines(self) -> str:
        """Return the end of the worker's log, which is deleted when the command that started it ends."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return "\n".join(["The end of its log:", *lines[-LAST_LINES:]]) if lines else "It logged nothing."
