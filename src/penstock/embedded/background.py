"""Servers that stay when the command that started them has ended: what a file in their folder says of them while they
run, and how they are stopped.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Protocol, TypeVar

from penstock.embedded.home import EmbeddedError, writing

STOP_SECONDS, KILL_SECONDS = 15, 5


class Server(Protocol):
    """A dataclass of what is written down."""

    @property
    def pid(self) -> int: ...

    @property
    def port(self) -> int: ...


S = TypeVar("S", bound=Server)


def write(file: Path, server: Server) -> None:
    with writing(file.parent):
        file.write_text(json.dumps(asdict(server)) + "\n")  # type: ignore[call-overload]


def read(file: Path, kind: Callable[..., S]) -> S | None:
    """None if the file is not there, or says nothing of a server."""
    try:
        return kind(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None


def require_port(running: Server, port: int, title: str, command: str, directory: Path) -> None:
    """Raises EmbeddedError if a server that runs already is asked for on another port; 0 is any."""
    if port not in (0, running.port):
        raise EmbeddedError(
            f"A {title} already runs from {directory} on port {running.port}: "
            f"stop it first with `penstock {command} down`, or choose another folder with --data."
        )


def stop(server: Server, gone: Callable[[], bool], file: Path) -> None:
    """Returns when it is gone, by force after 15 s; its file is gone then too."""
    for number, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, KILL_SECONDS)):
        try:
            os.kill(server.pid, number)
        except ProcessLookupError:
            break
        if _within(seconds, gone):
            break
    file.unlink(missing_ok=True)


def _within(seconds: float, gone: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + seconds
    while not gone():
        if time.monotonic() > give_up:
            return False
        time.sleep(0.05)
    return True
