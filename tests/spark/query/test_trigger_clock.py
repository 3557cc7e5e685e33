"""Queries whose next batch Spark would begin late, since the time of day was set back."""

from __future__ import annotations

import logging
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.pipeline.task import TaskControl, TaskFencedError
from penstock.spark.query import trigger_clock
from penstock.spark.query.sink.query import SinkQuery
from penstock.spark.query.source.task import QuerySource
from penstock.spark.query.trigger_clock import TriggerClock

HOUR = 3600.0
REAL = time.time


def set_clock(patch: pytest.MonkeyPatch, by: float) -> None:
    patch.setattr(trigger_clock, "time", SimpleNamespace(time=lambda: REAL() + by, monotonic=time.monotonic))


@pytest.mark.parametrize(("by", "interval", "back"), [(-HOUR, 5.0, HOUR), (HOUR, 5.0, 0), (-HOUR, 0.0, 0), (0, 5.0, 0)])
def test_a_clock_that_was_set_back_is_noticed_once(
    monkeypatch: pytest.MonkeyPatch, by: float, interval: float, back: float
) -> None:
    clock = TriggerClock(interval)
    set_clock(monkeypatch, by)
    assert round(clock.set_back()) == back
    assert clock.set_back() == 0
    set_clock(monkeypatch, 0)
    assert round(clock.set_back()) == (HOUR if by > 0 and interval else 0)


def test_a_sinks_query_ends_so_that_the_next_one_begins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A thread sets the clock once the query is attended to."""
    nothing: Any = None
    control, looked = TaskControl(), threading.Event()
    metrics = SimpleNamespace(tick=lambda now: looked.set())
    source: Any = SimpleNamespace(max_age=HOUR, pace=SimpleNamespace(interval=5.0))
    report: Any = SimpleNamespace(metrics=metrics)
    sink = SinkQuery("c-0", source, nothing, control, report)
    sink._renewal = time.monotonic() + HOUR
    attending = threading.Thread(target=sink._attend, args=(SimpleNamespace(isActive=True), []))
    with caplog.at_level(logging.WARNING):
        attending.start()
        looked.wait()
        set_clock(monkeypatch, -HOUR)
        attending.join()
    assert "The time of day was set back by 3600 s; the query of c-0 starts again" in caplog.text


def test_a_source_is_lost_and_so_starts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    source: Any = QuerySource.__new__(QuerySource)
    source._query, source._failure, source._stopped = SimpleNamespace(isActive=True), None, False
    source._clock = TriggerClock(5.0)
    source._look()
    set_clock(monkeypatch, -HOUR)
    with pytest.raises(TaskFencedError, match="set back by 3600 s"):
        source._look()
