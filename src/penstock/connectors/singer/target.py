"""A run of a target: a process that reads messages, and tells states when what is before them is durable."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any

import orjson

from penstock.connectors.singer.process import SingerProcess

log = logging.getLogger(__name__)

_NUMBER = "number"
_CHUNKS_AHEAD = 2


class TargetProcess(SingerProcess):
    """The process of a target. Lines wait in memory until it reads them; ``has_room`` says whether there is room."""

    kind = "target"

    def __init__(self, command: str, files: Mapping[str, Any]) -> None:
        super().__init__(command, files, reads=True)
        self._news = threading.Condition()
        self._chunks: deque[bytes] = deque()
        self._ending, self._strange, self._since = False, False, False
        self.states = 0
        """Number of states written; they are numbered from 1."""
        self.told = 0
        """The last of them that it has told."""
        self.over = False
        """Whether it tells nothing more."""
        self.ended_at: float | None = None
        """When its input ended, by the monotonic clock."""
        self._thread(self._write)
        self._thread(self._read, self._out)

    @property
    def holds(self) -> bool:
        """Whether the target has been given more than the states that it has told cover."""
        return self._since or self.told < self.states

    def has_room(self, seconds: float) -> bool:
        """Wait for room for more lines; return whether there is, or the target has ended."""
        return self._until(lambda: self.over or len(self._chunks) < _CHUNKS_AHEAD, seconds)

    def tells(self, number: int, seconds: float) -> bool:
        """Wait for this state; return whether the target has told it."""
        self._until(lambda: self.over or self.told >= number, seconds)
        return self.told >= number

    def ends(self, seconds: float) -> bool:
        """Wait for the end; return whether the target has ended."""
        return self._until(lambda: self.over, seconds)

    def write(self, chunk: bytes) -> None:
        with self._news:
            self._chunks.append(chunk)
            self._since = True
            self._news.notify_all()

    def write_state(self, bookmarks: Any) -> int:
        """The number of the state."""
        self.states += 1
        self.write(orjson.dumps({"type": "STATE", "value": {"bookmarks": bookmarks, _NUMBER: self.states}}) + b"\n")
        self._since = False
        return self.states

    def end(self) -> None:
        """Close the target's input; called when no more is written."""
        with self._news:
            self._ending = True
            self.ended_at = self.ended_at or time.monotonic()
            self._news.notify_all()

    def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        with self._news:
            return self._news.wait_for(holds, seconds)

    def _write(self) -> None:
        with suppress(OSError, ValueError):  # it has ended, or was killed
            while (chunk := self._next()) is not None:
                self._feed.write(chunk)
                self._feed.flush()
                with self._news:
                    self._chunks.popleft()
                    self._news.notify_all()
            self._feed.close()

    def _next(self) -> bytes | None:
        with self._news:
            self._news.wait_for(lambda: self._chunks or self._ending or self.over)
            return self._chunks[0] if self._chunks and not self.over else None

    def _read(self, out: IO[bytes]) -> None:
        for line in out:
            number = _number_in(line)
            with self._news:
                if number is not None and number <= self.states:
                    self.told = max(self.told, number)
                elif line.strip() and not self._strange:
                    self._strange = True
                    log.warning("The target writes lines that are no states it was given; they are ignored")
                self._news.notify_all()
        self._process.wait()
        with self._news:
            self.over = True
            self._news.notify_all()


def _number_in(line: bytes) -> int | None:
    try:
        state = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    number = state.get(_NUMBER) if isinstance(state, dict) else None
    return number if type(number) is int else None
