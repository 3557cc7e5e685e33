"""The order in which Arrow batches of several partitions are taken: of arrival, or one partition after the other."""

from __future__ import annotations

import queue
import threading
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

AHEAD = 2
"""Maximum of Arrow batches that wait to be taken; in order, of the partition whose turn it is."""
MAX_BYTES = 64 << 20
"""Maximum of bytes that wait of partitions whose turn it is not."""


class Arriving(Protocol):
    """One partition of the batch that was begun last."""

    def put(self, rows: pa.RecordBatch, seconds: float) -> bool:
        """Add rows; False if there is no room within ``seconds``, or if another batch has been begun."""

    def ended(self) -> None:
        """Called when all rows of the partition have been put."""


class Arrivals(Protocol):
    """``take`` is for one thread, ``put`` for those of the partitions, the others for one more."""

    def begin(self, partitions: int) -> None:
        """Begin a batch; rows of the batch before that are put later are ignored."""

    def clear(self) -> None:
        """Forget what has not been taken."""

    def partition(self, number: int) -> Arriving: ...

    def finish(self, end: object, seconds: float) -> bool:
        """Put the object that is taken after all rows of the batch; False if there is no room within ``seconds``."""

    def take(self, seconds: float) -> Any:
        """Return the next item, or None if none arrives within ``seconds``."""


class AsTheyCome:
    def __init__(self) -> None:
        self._rows: queue.Queue[Any] = queue.Queue(AHEAD)

    def begin(self, partitions: int) -> None:
        pass

    def clear(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._rows.get_nowait()

    def partition(self, number: int) -> AsTheyCome:
        return self

    def put(self, rows: object, seconds: float) -> bool:
        with suppress(queue.Full):
            self._rows.put(rows, timeout=seconds)
            return True
        return False

    def ended(self) -> None:
        pass

    finish = put

    def take(self, seconds: float) -> Any:
        try:
            return self._rows.get(timeout=seconds)
        except queue.Empty:
            return None


@dataclass(slots=True, eq=False)
class _Lane:
    """Rows that have arrived of one partition."""

    owner: InOrder
    rows: deque[Any] = field(default_factory=deque)
    over: bool = False

    def put(self, rows: pa.RecordBatch, seconds: float) -> bool:
        return self.owner.put(self, rows, seconds)

    def ended(self) -> None:
        self.owner.end(self)


class InOrder:
    """One partition after the other, batch after batch. Later ones are read ahead, as far as memory allows.

    The partition whose turn it is always finds a place, so that it never waits for one that waits for it.
    """

    def __init__(self, most: int = MAX_BYTES) -> None:
        self._most, self._bytes = most, 0
        self._lanes: deque[_Lane] = deque()
        self._batch: list[_Lane] = []
        self._changed = threading.Condition()

    def begin(self, partitions: int) -> None:
        with self._changed:
            self._batch = [_Lane(self) for _ in range(partitions)]
            self._lanes.extend(self._batch)

    def clear(self) -> None:
        with self._changed:
            self._lanes.clear()
            self._batch, self._bytes = [], 0
            self._changed.notify_all()

    def partition(self, number: int) -> _Lane:
        with self._changed:
            return self._batch[number] if number < len(self._batch) else _Lane(self)

    def put(self, lane: _Lane, rows: pa.RecordBatch, seconds: float) -> bool:
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_place(lane), seconds) or lane not in self._lanes:
                return False
            lane.rows.append(rows)
            self._bytes += rows.nbytes
            self._changed.notify_all()
            return True

    def end(self, lane: _Lane) -> None:
        with self._changed:
            lane.over = True
            self._changed.notify_all()

    def finish(self, end: object, seconds: float) -> bool:
        with self._changed:
            self._lanes.append(_Lane(self, deque([end]), over=True))
            self._changed.notify_all()
        return True

    def take(self, seconds: float) -> Any:
        with self._changed:
            if not self._changed.wait_for(self._ready, seconds):
                return None
            found = self._lanes[0].rows.popleft()
            if isinstance(found, pa.RecordBatch):
                self._bytes -= found.nbytes
            self._changed.notify_all()
            return found

    def _ready(self) -> bool:
        while self._lanes and self._lanes[0].over and not self._lanes[0].rows:
            self._lanes.popleft()
            self._changed.notify_all()
        return bool(self._lanes and self._lanes[0].rows)

    def _has_place(self, lane: _Lane) -> bool:
        if lane not in self._lanes:
            return True
        if lane is self._lanes[0] and len(lane.rows) < AHEAD:
            return True
        return self._bytes < self._most
