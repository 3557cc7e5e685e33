"""A run of a tap: a process that writes messages."""

from __future__ import annotations

import json
import queue
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from penstock.api.errors import ConnectError
from penstock.connectors.singer.process import SingerProcess

_LINES_AHEAD = 5000
DISCOVERY_SECONDS = 300.0


class Tap(SingerProcess):
    kind = "tap"

    def __init__(self, command: str, files: Mapping[str, Any], *flags: str, program: Sequence[str] = ()) -> None:
        super().__init__(command, files, *flags, program=program)
        self._lines: queue.Queue[bytes | None] = queue.Queue(_LINES_AHEAD)
        self._thread(self._read, self._out)

    def line(self, seconds: float) -> bytes | None:
        """The next line of its output; None if there is none yet. Raises EOFError at its end."""
        try:
            found = self._lines.get(timeout=seconds) if seconds else self._lines.get_nowait()
        except queue.Empty:
            return None
        if found is None:
            self._lines.put(None)
            raise EOFError
        return found

    def _read(self, out: IO[bytes]) -> None:
        for line in out:
            self._put(line)
        self._put(None)

    def _put(self, line: bytes | None) -> None:
        """Add a line when there is room; once the tap is killed only its end is added."""
        while not self._killed:
            with suppress(queue.Full):
                return self._lines.put(line, timeout=0.5)
        if line is None:
            with suppress(queue.Full):
                self._lines.put_nowait(None)
        return None


def discover(command: str, config: Any) -> dict[str, Any]:
    """The tap's catalog. Raises ConnectError."""
    tap = Tap(command, {"config": config}, "--discover")
    lines: list[bytes] = []
    try:
        with suppress(EOFError):
            while (line := tap.line(DISCOVERY_SECONDS)) is not None:
                lines.append(line)
            raise ConnectError(f"The tap has not told its catalog (--discover) within {DISCOVERY_SECONDS:g} s")
        if failure := tap.failure():
            raise failure
    finally:
        tap.kill()
    try:
        found = json.loads(b"".join(lines))
    except ValueError as error:
        raise ConnectError(f"The tap's catalog (--discover) is no JSON: {error}; set singer.catalog") from None
    if not isinstance(found, dict):
        raise ConnectError("The tap's catalog (--discover) is no object: set singer.catalog")
    return found
