"""Those who want a log to be read to its end: the end is looked up for them, once for several that ask at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.kafka.log.reads import OnDone, Reads


class LogEnds:
    """Any thread may call. Nothing is looked up before ``begin``, nor between ``pause`` and ``begin``."""

    def __init__(self, topic: str, reads: Reads, look_up: Callable[[], dict[int, int] | None]) -> None:
        """``look_up`` may block; None if that came to nothing, and those who asked are to wait for the next ``begin``.

        It is called on threads of its own.
        """
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
        """Reading has begun (anew); ``before`` asked earlier than all who are waiting here."""
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
        before = self._reads.positions()
        ends = self._look_up()
        with self._lock:
            self._looking, over = False, self._over
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
