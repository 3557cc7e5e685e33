"""Calls of a plugin's methods that do not return."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

from penstock.pipeline.telemetry.plugin_calls import PluginCall, PluginCalls
from penstock.spark.run.task_link import StallWatch, described
from support.tasks.runs import eventually


def test_a_call_that_does_not_return_is_reported_once_and_when_it_returns() -> None:
    calls, release, said = PluginCalls(), threading.Event(), list[str | None]()

    def blocks() -> None:
        with calls.entered("poll"), calls.entered("something within it"):
            release.wait()

    watch = StallWatch(calls, 0.2, said.append)
    watch.start()
    thread = threading.Thread(target=blocks)
    thread.start()
    first = eventually(lambda: said)[0]
    assert first is not None
    assert first.startswith("The task is stalled: poll has not returned since 20")
    assert "\tat blocks(" in first
    release.set()
    thread.join()
    assert said == [first, None]
    watch.ended.set()
    eventually(lambda: "stall-watch" not in {each.name for each in threading.enumerate()})


def test_calls_that_return_are_not_reported() -> None:
    calls, said = PluginCalls(), list[PluginCall]()
    for _ in range(3):
        with calls.entered("poll"):
            calls.report(10.0, said.append)
    calls.report(0.0, said.append)
    assert said == []


def test_what_a_call_waits_for_meanwhile_is_no_part_of_it() -> None:
    calls, said = PluginCalls(), list[Any]()
    calls.on_return = lambda: said.append("returned")
    with calls.entered("a batch of the query"):
        calls.report(0.0, lambda call: said.append(call.method))
        with calls.left():
            calls.report(0.0, said.append)
        calls.report(10.0, said.append)
        calls.report(0.0, lambda call: said.append(call.method))
    assert said == ["a batch of the query", "returned"] * 2
    with calls.left():
        calls.report(0.0, said.append)
    assert len(said) == 4


def test_a_call_in_another_process_is_reported_once_and_when_it_is_over() -> None:
    calls, said = PluginCalls(), list[Any]()
    began: list[float | None] = [None]
    calls.on_return = lambda: said.append("returned")
    calls.watch("poll", lambda: began[0])
    calls.report(0.0, lambda call: said.append(described(call)))
    assert said == []
    began[0] = time.monotonic()
    calls.report(60.0, lambda call: said.append(described(call)))
    calls.report(0.0, lambda call: said.append(described(call)))
    calls.report(0.0, lambda call: said.append(described(call)))
    assert re.fullmatch(r"The task is stalled: poll has not returned since 20\d\d-\S+", *said)
    began[0] = time.monotonic() + 60
    calls.report(30.0, said.append)
    assert said[1:] == ["returned"]


def test_what_has_not_returned_when_another_call_does_is_reported_again() -> None:
    calls, said = PluginCalls(), list[Any]()
    calls.on_return = lambda: said.append("returned")
    polling: list[float | None] = [time.monotonic()]
    calls.watch("poll", lambda: polling[0])

    def report() -> list[Any]:
        calls.report(0.0, lambda call: said.append(call.method))
        found, said[:] = list(said), []
        return found

    with calls.entered("convert"):
        assert report() == ["poll", "convert"]
        polling[0] = None
        assert report() == ["returned", "convert"]
        polling[0] = time.monotonic()
        assert report() == ["poll"]
    assert report() == ["returned", "poll"]


def test_a_call_that_raises_has_returned() -> None:
    calls, said = PluginCalls(), list[Any]()
    calls.on_return = lambda: said.append("returned")
    try:
        with calls.entered("put"):
            calls.report(0.0, lambda call: said.append(described(call)))
            raise ValueError
    except ValueError:
        pass
    assert said[1:] == ["returned"]
    calls.report(0.0, said.append)
    assert len(said) == 2
