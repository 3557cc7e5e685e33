"""The stop of a source task, which two threads ask for: the host's, and the loop's at its end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait

from penstock.pipeline.runtime import StopOnce
from penstock.pipeline.telemetry.plugin_calls import PluginCalls


def test_the_end_of_the_loop_waits_for_a_stop_that_runs_already() -> None:
    entered, released = threading.Event(), threading.Event()
    calls: list[str] = []

    def stop() -> None:
        entered.set()
        released.wait()
        calls.append("stop")

    once = StopOnce(stop, PluginCalls())
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(once)
        entered.wait()
        second = pool.submit(once)
        try:
            assert wait([second], timeout=0.2).not_done == {second}
        finally:
            released.set()
        second.result()
        assert calls == ["stop"]
        first.result()


def test_a_stop_that_fails_holds_up_nothing() -> None:
    def stop() -> None:
        raise ValueError("broken")

    once = StopOnce(stop, PluginCalls())
    once()
    once()
    assert once.returned.is_set()
