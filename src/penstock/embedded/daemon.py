"""A broker that stays when the command that started it has ended: ``penstock kafka up``, ``down`` and ``status``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.embedded.background import read, require_port, stop, write
from penstock.embedded.broker import Broker, holds_lock
from penstock.embedded.home import EmbeddedError, home


@dataclass(frozen=True, slots=True)
class RunningBroker:
    """Running broker, as ``broker.json`` in its folder describes it."""

    pid: int
    port: int

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"


def default_directory() -> Path:
    return home() / "kafka"


def up(directory: Path, port: int) -> RunningBroker:
    """Starts the broker of ``directory`` and returns when it answers; one that already runs on ``port`` is left alone.

    Raises EmbeddedError, also when it runs on another port. ``port`` 0 takes a free one, or whichever it runs on.
    """
    if running := status(directory):
        require_port(running, port, "broker", "kafka", directory)
        return running
    broker = Broker(directory, port, leash=False, lasting=True)
    broker.start()
    assert broker.pid is not None
    running = RunningBroker(broker.pid, broker.port)
    write(_file(directory), running)
    return running


def status(directory: Path) -> RunningBroker | None:
    """The broker that runs from ``directory``; None without one. The lock on its data is the proof, not the file."""
    if not holds_lock(directory / "data"):
        return None
    running = read(_file(directory), RunningBroker)
    if running is None:
        raise EmbeddedError(
            f"A broker that was not started by `penstock kafka up` uses {directory}: stop it where it was started."
        )
    return running


def down(directory: Path) -> RunningBroker | None:
    """Stops the broker of ``directory`` and returns when it is gone, by force after 15 s; None when there was none."""
    running = status(directory)
    if running is None:
        _file(directory).unlink(missing_ok=True)
    else:
        stop(running, lambda: not holds_lock(directory / "data"), _file(directory))
    return running


def _file(directory: Path) -> Path:
    return directory / "broker.json"
