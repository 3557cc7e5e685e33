"""Log lines on their way to a process that may be slow."""

from __future__ import annotations

import gc
import threading
from typing import Any

from penstock.wire.lines import MAX_TEXT, MAX_UNCONFIRMED, MAX_WAITING, OVERHEAD, LineBuffer, beginning_of
from support.waiting import until

SIZE = 1000 - OVERHEAD
"""Characters of a line that counts for 1,000."""


class Other:
    """The process that gets the lines."""

    def __init__(self) -> None:
        self.messages: list[tuple[list[str], int]] = []
        self.buffer = LineBuffer[str](lambda lines, dropped: self.messages.append((lines, dropped)))

    def add(self, *lines: str) -> None:
        for line in lines:
            self.buffer.add(line, SIZE)

    @property
    def lines(self) -> list[str]:
        return [line for lines, _ in self.messages for line in lines]


def test_a_line_is_sent_by_the_thread_that_adds_it() -> None:
    senders: list[Any] = []
    buffer = LineBuffer[str](lambda lines, dropped: senders.append((threading.current_thread(), lines)))
    buffer.add("a", 1)
    buffer.add("b", 1)
    assert senders == [(threading.current_thread(), ["a"]), (threading.current_thread(), ["b"])]


def test_lines_that_are_not_confirmed_let_others_wait_and_be_sent_together() -> None:
    other, many = Other(), MAX_UNCONFIRMED // 1000 + 1
    other.add(*(f"{n}" for n in range(many + 50)))
    assert len(other.messages) == many
    other.buffer.confirm(many)
    until(lambda: len(other.lines) == many + 50, "the lines")
    assert len(other.messages) == many + 1
    assert other.lines == [f"{n}" for n in range(many + 50)]


def test_the_oldest_of_too_many_lines_are_dropped_and_counted_where_they_were() -> None:
    other, many = Other(), 10 * MAX_WAITING // 1000
    other.add(*(f"{n}" for n in range(many)))
    until(lambda: other.buffer.confirm(1000) or other.lines[-1] == f"{many - 1}", "the lines")  # type: ignore[func-returns-value]
    (dropped,) = (dropped for _, dropped in other.messages if dropped)
    assert len(other.lines) + dropped == many
    first = MAX_UNCONFIRMED // 1000 + 1
    assert other.lines == [f"{n}" for n in (*range(first), *range(first + dropped, many))]


def test_lines_dropped_elsewhere_are_counted_in_their_place() -> None:
    other = Other()
    other.add("a")
    other.buffer.dropped(3)
    other.add("b")
    assert other.messages == [(["a"], 0), ([], 3), (["b"], 0)]


def test_the_last_lines_are_sent_though_nobody_confirms() -> None:
    other, many = Other(), MAX_UNCONFIRMED // 500
    other.add(*(f"{n}" for n in range(many)))
    other.buffer.finish(0.01)
    (dropped,) = (dropped for _, dropped in other.messages if dropped)
    assert len(other.lines) + dropped == many
    assert other.lines[-1] == f"{many - 1}"


def test_a_line_that_can_not_be_sent_lets_the_next_ones_through() -> None:
    sent: list[str] = []

    def send(lines: list[str], dropped: int) -> None:
        if "bad" in lines:
            raise TypeError("no line")
        sent.extend(lines)

    buffer = LineBuffer[str](send)
    for line in ("bad", "good"):
        buffer.add(line, MAX_UNCONFIRMED)
    assert sent == ["good"]


def test_a_finalizer_may_log_while_a_line_is_added() -> None:
    other = Other()

    class Logs:
        def __del__(self) -> None:
            other.add("finalized")

    with other.buffer._changed:
        del_me = Logs()
        del del_me
        gc.collect()
    other.add("next")
    assert other.lines == ["finalized", "next"]


def test_a_line_without_end_is_cut() -> None:
    assert beginning_of("a" * MAX_TEXT) == "a" * MAX_TEXT
    assert beginning_of("a" * (MAX_TEXT + 1)) == f"{'a' * MAX_TEXT}... ({MAX_TEXT + 1} characters)"
