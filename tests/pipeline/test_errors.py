"""Failing records are found, retried, reported and skipped, or end the task."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError, DataError, RetriableError
from penstock.core.model.tasks import TaskId
from penstock.hosts.errors import FatalJavaError
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.messages.base import JavaFailure
from penstock.pipeline.errors import (
    ErrorHandler,
    ErrorSettings,
    LogReporter,
    PipelineStage,
    RecordFailure,
    Step,
    StoppedError,
)
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.trace import causes, trace

TASK = TaskId("c", 0)


def consumed(*values: Any) -> Batch:
    n = len(values)
    origin = SinkOrigin(["t"] * n, [1] * n, list(range(10, 10 + n)), ["CreateTime"] * n)
    return Batch.of("t", list(values), timestamps=[5] * n, origin=origin)


def to_numbers(batch: Batch) -> Batch:
    return batch.with_(values=[int(value) for value in batch.values])


NUMBERS = Step(PipelineStage.VALUE_CONVERTER, "x.Numbers", to_numbers)


class Handling:
    """An error handler and a record of everything that it does."""

    def __init__(self, config: dict[str, str], reporters: bool = True, stopped: bool = False) -> None:
        """``stopped``: the task is stopped while the handler waits."""
        self.stopped = stopped
        self.failures: list[RecordFailure] = []
        self.slept: list[float] = []
        self.metrics = Metrics(lambda values: None, ())
        settings = ErrorSettings.of(config)
        log = LogReporter(TASK, settings, self.metrics)
        self.handler = ErrorHandler(settings, self.metrics, self._sleep, (self.failures.append, log))

    def _sleep(self, seconds: float) -> bool:
        self.slept.append(seconds)
        return self.stopped

    def total(self, name: str) -> float:
        return self.metrics.snapshot(0.0)[name]


TOLERATE = {"errors.tolerance": "all"}


def test_nothing_happens_to_good_records() -> None:
    handling = Handling({})
    assert handling.handler.run([NUMBERS, NUMBERS], consumed("1", "2")).values == [1, 2]
    assert handling.failures == []


def test_no_record_is_the_cause_of_anothers_error() -> None:
    handling = Handling(TOLERATE)
    handling.handler.run([NUMBERS], consumed("x", "1", "2", "y"))
    assert [[str(each) for each in causes(failure.error)] for failure in handling.failures] == [
        ["invalid literal for int() with base 10: 'x'"],
        ["invalid literal for int() with base 10: 'y'"],
    ]


def test_the_first_culprit_ends_the_task() -> None:
    handling = Handling({})
    with pytest.raises(ConnectError, match="Tolerance exceeded in error handler") as raised:
        handling.handler.run([NUMBERS], consumed("1", "x", "3", "y"))
    assert [failure.record.values for failure in handling.failures] == [["x"]]
    lines = trace(raised.value).splitlines()
    assert lines[0] == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert lines[1] == "Caused by: ValueError: invalid literal for int() with base 10: 'x'"
    assert lines[2] == "\tIn stage VALUE_CONVERTER, class x.Numbers, topic t, partition 1, offset 11"
    assert lines[3].startswith("\tat <listcomp>(") or lines[3].startswith("\tat to_numbers(")


@pytest.mark.parametrize("n", [1, 2, 3, 10, 33])
def test_culprits_are_skipped_if_tolerated_and_order_is_kept(n: int) -> None:
    handling = Handling(TOLERATE)
    values = ["x" if i % 3 == 1 else str(i) for i in range(n)]
    assert handling.handler.run([NUMBERS], consumed(*values)).values == [i for i in range(n) if i % 3 != 1]
    assert [failure.record.origin.offsets[0] for failure in handling.failures] == [  # type: ignore[union-attr]
        10 + i for i in range(n) if i % 3 == 1
    ]
    assert handling.total("total-records-skipped") == len(handling.failures)


def odd_only(batch: Batch) -> Batch:
    if any(value % 2 == 0 for value in batch.values):
        raise DataError("even")
    return batch


STEPS = [NUMBERS, Step(PipelineStage.TRANSFORMATION, "x.OddOnly", odd_only)]


def test_failures_of_several_steps_are_reported_in_the_order_of_the_records() -> None:
    handling = Handling(TOLERATE)
    assert handling.handler.run(STEPS, consumed("1", "2", "x", "3", "4", "y", "z", "5", "6")).values == [1, 3, 5]
    assert [failure.record.values[0] for failure in handling.failures] == [2, "x", 4, "y", "z", 6]


def test_nothing_is_processed_after_the_record_that_ends_the_task() -> None:
    handling = Handling({})
    batch, error = handling.handler.run_until(STEPS, consumed("1", "3", "4", "x", "5"))
    assert (batch.values, str(error)) == ([1, 3], "Tolerance exceeded in error handler")
    assert [failure.record.values for failure in handling.failures] == [[4]]


def test_a_skipped_record_reaches_no_later_step() -> None:
    seen: list[Any] = []

    def look(batch: Batch) -> Batch:
        seen.extend(batch.values)
        return batch

    Handling(TOLERATE).handler.run(
        [NUMBERS, Step(PipelineStage.TRANSFORMATION, "x.Look", look, "look")], consumed("x", "2")
    )
    assert seen == [2]


class Flaky:
    """Fails the given number of times before it succeeds."""

    def __init__(self, failures: int) -> None:
        self.left = failures

    def __call__(self, batch: Batch) -> Batch:
        if self.left:
            self.left -= 1
            raise RetriableError("try again")
        return batch


def flaky(failures: int) -> Step:
    return Step(PipelineStage.TRANSFORMATION, "x.Flaky", Flaky(failures), "f")


def test_retries_wait_longer_each_time() -> None:
    handling = Handling({"errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "100000"})
    assert handling.handler.run([flaky(4)], consumed("a")).values == ["a"]
    assert handling.slept == pytest.approx([0.3, 0.6, 1.2, 2.4])
    assert handling.total("total-retries") == 4


def test_no_wait_is_longer_than_allowed() -> None:
    handling = Handling({"errors.retry.timeout": "-1", "errors.retry.delay.max.ms": "200"})
    handling.handler.run([flaky(5)], consumed("a"))
    assert len(handling.slept) == 5
    assert max(handling.slept) <= 0.2


def test_without_a_time_for_retries_there_are_none() -> None:
    handling = Handling({})
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        handling.handler.run([flaky(1)], consumed("a"))
    assert handling.slept == []


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_stop_ends_retries_and_gives_up_no_record(tolerance: str) -> None:
    handling = Handling({"errors.retry.timeout": "-1", "errors.tolerance": tolerance}, stopped=True)
    with pytest.raises(StoppedError):
        handling.handler.run([flaky(100)], consumed("a"))
    assert handling.failures == []


def test_the_records_before_the_culprit_are_good() -> None:
    handling = Handling({})
    batch, error = handling.handler.run_until([NUMBERS, NUMBERS], consumed("1", "2", "x", "4", "y"))
    assert batch.values == [1, 2]
    assert "Tolerance exceeded" in str(error)
    assert [failure.record.values for failure in handling.failures] == [["x"]]


def test_an_error_of_java_ends_the_task_after_the_records_before_it() -> None:
    def missing(batch: Batch) -> Batch:
        if "x" in batch.values:
            classes = ["java.lang.NoClassDefFoundError", "java.lang.LinkageError", "java.lang.Error"]
            raise java_error(JavaFailure(classes, "a/Class", [], ""))
        return batch

    handling = Handling({**TOLERATE, "errors.retry.timeout": "-1"})
    steps = [Step(PipelineStage.TRANSFORMATION, "x.Missing", missing)]
    before, error = handling.handler.run_until(steps, consumed("1", "2", "x", "3"))
    assert before.values == ["1", "2"]
    assert isinstance(error, FatalJavaError)
    assert (handling.failures, handling.slept) == ([], [])


def test_failures_elsewhere_are_reported_and_tolerated_the_same() -> None:
    failure = RecordFailure(PipelineStage.TASK_PUT, "x.Task", DataError("bad"), consumed("a"))
    handling = Handling(TOLERATE)
    handling.handler.failed(failure)
    assert handling.failures == [failure]
    with pytest.raises(ConnectError, match="Tolerance exceeded"):
        Handling({}).handler.failed(failure)


def test_failures_elsewhere_are_errors_only_if_they_are_not_tolerated() -> None:
    failure = RecordFailure(PipelineStage.TASK_PUT, "x.Task", DataError("bad"), consumed("a"))
    tolerant, strict = Handling(TOLERATE), Handling({})
    tolerant.handler.failed(failure)
    with pytest.raises(ConnectError):
        strict.handler.failed(failure)
    assert [h.total("total-record-failures") for h in (tolerant, strict)] == [1, 1]
    assert [h.total("total-record-errors") for h in (tolerant, strict)] == [0, 1]
    tolerant.handler.run([NUMBERS], consumed("x"))
    assert tolerant.total("total-record-errors") == 1, "of a step it is one anyhow"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({}, []),
        (
            {"errors.log.enable": "true"},
            ["Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class 'x.Numbers'."],
        ),
        (
            {"errors.log.enable": "true", "errors.log.include.messages": "true"},
            [
                "Error encountered in task c-0. Executing stage 'VALUE_CONVERTER' with class 'x.Numbers', "
                "where consumed record is {topic='t', partition=1, offset=10, timestamp=5, timestampType=CreateTime}."
            ],
        ),
    ],
)
def test_failures_are_logged_with_javas_words(
    config: dict[str, str], expected: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    Handling({**TOLERATE, **config}).handler.run([NUMBERS], consumed("x"))
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR] == expected


def without_x(batch: Batch) -> Batch:
    """Drop records in a way that authors of transforms may try."""
    return batch.with_(values=[value for value in batch.values if value != "x"])


@pytest.mark.parametrize("values", [("a", "x", "b"), ("x",)])
def test_records_whose_values_a_step_loses_are_errors(values: tuple[str, ...]) -> None:
    step = Step(PipelineStage.TRANSFORMATION, "x.Without", without_x)
    with pytest.raises(ConnectError, match="Tolerance exceeded") as raised:
        Handling({}).handler.run([step], consumed(*values))
    assert str(raised.value.__cause__).startswith("A batch has 0 values and 1 topics; all columns must be of the same")
    tolerant = Handling(TOLERATE)
    left = tolerant.handler.run([step], consumed(*values))
    assert left.values == [value for value in values if value != "x"]
    assert [failure.record.values for failure in tolerant.failures] == [["x"]]


def test_a_step_that_gives_no_batch_is_an_error() -> None:
    nothing: Any = None
    step = Step(PipelineStage.TRANSFORMATION, "x.Nothing", lambda batch: nothing)
    with pytest.raises(ConnectError) as raised:
        Handling({}).handler.run([step], consumed("a"))
    assert str(raised.value.__cause__) == "Expected a Batch, not a NoneType"


def test_what_must_not_wait_is_done_while_a_record_waits() -> None:
    handling = Handling({"errors.retry.timeout": "-1"})
    done: list[int] = []
    handling.handler._wait = lambda seconds: time.sleep(seconds)  # type: ignore[assignment, func-returns-value]
    handling.handler.meanwhile = lambda: done.append(1)
    assert handling.handler.run([flaky(3)], consumed("1")).values == ["1"]
    # Once for each of the pauses of 0.3, 0.6 and 1.2 seconds; the longer ones take several turns.
    assert len(done) > 3


def test_settings_are_numbers_in_whatever_way_they_are_written() -> None:
    settings = ErrorSettings.of({"errors.retry.timeout": "0" * 5000 + "2000", "errors.retry.delay.max.ms": " \u0665 "})
    assert (settings.retry_timeout, settings.retry_delay_max) == (2.0, 0.005)
