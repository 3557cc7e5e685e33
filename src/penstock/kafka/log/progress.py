"""Progress of reading a log, and callers that wait until it has been read to an offset or to its end.

Any thread may call; callbacks are called outside of the lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

OnDone = Callable[[Exception | None], None]
"""Called once with None or an error, on another thread or at once; must return at once."""

Ends = Mapping[int, int]
"""For each partition the offset after the last record that is meant."""


class _Wait(NamedTuple):
    ends: Ends
    done: OnDone


class ReadProgress:
    """The positions up to which records have been delivered, and the waits for positions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._positions: dict[int, int] = {}
        self._marked: dict[int, int] = {}
        self._waits: list[_Wait] = []
        self._over: Exception | None = None

    def begin(self, starts: Ends) -> list[OnDone]:
        """Reading begins, or begins again, at these offsets; the waits so far are returned, as their ends are void."""
        with self._lock:
            self._positions, self._marked = dict(starts), {}
            waits, self._waits = self._waits, []
        return [wait.done for wait in waits]

    def fail(self, error: Exception) -> None:
        """Nothing more will be read: all waits end with this error, and so do later ones."""
        with self._lock:
            self._over = error
            waits, self._waits = self._waits, []
        for wait in waits:
            wait.done(error)

    def passed(self, positions: Ends) -> None:
        """Everything before these positions has been delivered."""
        with self._lock:
            self._positions.update(positions)
            ready = [wait for wait in self._waits if self._has_passed(wait.ends)]
            if ready:
                self._waits = [wait for wait in self._waits if wait not in ready]
        for wait in ready:
            wait.done(None)

    def wait_for(self, ends: Ends, done: OnDone) -> None:
        """Done when everything before these ends has been delivered, which may be now."""
        with self._lock:
            over, here = self._over, self._has_passed(ends)
            if not here and over is None:
                self._waits.append(_Wait(ends, done))
                return
        done(None if here else over)

    def missing(self) -> dict[int, tuple[int, int]]:
        """The partitions that are waited for, each with the position reached and the end."""
        with self._lock:
            ends = [item for wait in self._waits for item in wait.ends.items()]
            return {p: (at, end) for p, end in sorted(ends) if (at := self._positions.get(p, 0)) < end}

    def mark(self, ends: Ends) -> None:
        """A transaction of this worker ended with these records, so that a marker follows each."""
        with self._lock:
            self._marked.update(ends)

    def positions(self) -> dict[int, int]:
        with self._lock:
            return dict(self._positions)

    def without_markers(self, ends: Ends, before: Ends) -> dict[int, int]:
        """The ends that are worth waiting for; ``before`` are positions taken before the ends were asked for.

        A committed record that has been delivered was already followed by its transaction's marker. So if just one
        entry follows the last record of a transaction of this worker, it is that marker, which is never delivered: a
        consumer learns of it only from its next, empty fetch.
        """
        with self._lock:
            return {
                partition: end - 1 if end - 1 == before.get(partition) == self._marked.get(partition) else end
                for partition, end in ends.items()
            }

    def _has_passed(self, ends: Ends) -> bool:
        return all(self._positions.get(partition, 0) >= end for partition, end in ends.items())


class EndLookups:
    """Waits for the end of a log: looks the end up, once for several callers.

    Nothing is looked up before ``begin``, nor between ``pause`` and ``begin``.
    """

    def __init__(self, topic: str, reads: ReadProgress, look_up: Callable[[], dict[int, int] | None]) -> None:
        """``look_up`` is called on threads of its own and may block; None: the callers wait for the next ``begin``."""
        self._topic, self._reads, self._look_up = topic, reads, look_up
        self._lock = threading.Lock()
        self._asked: list[OnDone] = []
        self._open = self._looking = False
        self._over: Exception | None = None

    def ask(self, on_done: OnDone) -> None:
        """Done when every record that is in the topic now has been delivered."""
        with self._lock:
            over = self._over
            if over is None:
                self._asked.append(on_done)
        if over is not None:
            on_done(over)
        self._begin_look_up()

    def begin(self, before: list[OnDone]) -> None:
        """Reading has begun; the callers ``before`` asked earlier than those that wait here."""
        with self._lock:
            self._asked = before + self._asked
            self._open = True
        self._begin_look_up()

    def pause(self) -> None:
        self._open = False

    def fail(self, error: Exception) -> None:
        """Nothing more will be read."""
        with self._lock:
            self._open, self._over = False, error
            asked, self._asked = self._asked, []
        for on_done in asked:
            on_done(error)

    def _begin_look_up(self) -> None:
        with self._lock:
            if self._looking or not self._asked or not self._open:
                return
            self._looking, asked, self._asked = True, self._asked, []
        threading.Thread(target=self._run, args=(asked,), name=f"log-{self._topic}-ends", daemon=True).start()

    def _run(self, asked: list[OnDone]) -> None:
        before, ends, over = self._reads.positions(), None, None
        try:
            ends = self._look_up()
        except Exception as e:  # those who asked get it, and the next look-up may go well
            over = e
        with self._lock:
            self._looking, over = False, self._over or over
            if ends is None and over is None:
                self._asked = asked + self._asked
        if over is not None:
            for on_done in asked:
                on_done(over)
        elif ends is not None:
            ends = self._reads.without_markers(ends, before)
            for on_done in asked:
                self._reads.wait_for(ends, on_done)
        self._begin_look_up()
