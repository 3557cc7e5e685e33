"""A wait ends when what it is for can't come any more."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from support.tasks.runs import eventually
from support.waiting import Inbox, received, until


def wait_for_a_queue() -> Any:
    return received(queue.Queue())


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize(
    "wait", [lambda: until(lambda: False, "nothing"), lambda: eventually(lambda: False), Inbox().next, wait_for_a_queue]
)
def test_a_wait_ends_when_a_thread_of_the_test_has_ended_by_an_exception(wait: Callable[[], Any]) -> None:
    def fail() -> None:
        time.sleep(0.05)
        raise ValueError("it is over")

    threading.Thread(target=fail, name="worker-7").start()
    began = time.monotonic()
    with pytest.raises(AssertionError, match=r"worker-7 has ended by ValueError\('it is over'\)"):
        wait()
    assert time.monotonic() - began < 300


def test_a_queue_that_stays_empty_is_given_up() -> None:
    with pytest.raises(queue.Empty):
        received(queue.Queue(), 0.05)
