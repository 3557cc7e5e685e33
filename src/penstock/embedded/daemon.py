"""A broker that stays when the command that started it has ended: ``penstock kafka up``, ``down`` and ``status``."""

from __future__ import annotations

import json
import os
import signal
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.embedded.broker import STOP_SECONDS, Broker, holds_lock
from penstock.embedded.home import EmbeddedError, home, writing


@dataclass(frozen=True, slots=True)
class Running:
    """What ``broker.json`` in a broker's folder says of it while it runs."""

    pid: int
    port: int

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"


def default_directory() -> Path:
    return home() / "kafka"


def up(directory: Path, port: int) -> Running:
    """Starts the broker of ``directory`` and returns when it answers; one that already runs on ``port`` is left alone.

    Raises EmbeddedError, also when it runs on another port. ``port`` 0 takes a free one, or whichever it runs on.
    """
    if running := status(directory):
        if port in (0, running.port):
            return running
        raise EmbeddedError(
            f"A broker already runs from {directory} on port {running.port}: "
            "stop it first with `penstock kafka down`, or choose another folder with --data."
        )
    broker = Broker(directory, port, leash=False)
    broker.start()
    assert broker.pid is not None
    running = Running(broker.pid, broker.port)
    with writing(directory):
        _file(directory).write_text(json.dumps(asdict(running)) + "\n")
    return running


def status(directory: Path) -> Running | None:
    """The broker that runs from ``directory``; None without one. The lock on its data is the proof, not the file."""
    if not holds_lock(directory / "data"):
        return None
    try:
        return Running(**json.loads(_file(directory).read_text()))
    except (OSError, ValueError, TypeError):
        raise EmbeddedError(
            f"A broker that was not started by `penstock kafka up` uses {directory}: stop it where it was started."
        ) from None


def down(directory: Path) -> Running | None:
    """Stops the broker of ``directory`` and returns when it is gone, by force after 15 s; None when there was none."""
    running = status(directory)
    if running is not None:
        for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, 5)):
            try:
                os.kill(running.pid, number)
            except ProcessLookupError:
                break
            if _released(directory, seconds):
                break
    _file(directory).unlink(missing_ok=True)
    return running


def _released(directory: Path, seconds: float) -> bool:
    give_up = time.monotonic() + seconds
    while holds_lock(directory / "data"):
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True


def _file(directory: Path) -> Path:
    return directory / "broker.json"
