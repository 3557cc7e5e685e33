"""Time limit of a write's retries."""

from __future__ import annotations

import time

import pytest

from penstock.pipeline.errors import ErrorSettings
from penstock.spark.query.sink.retries import BatchRetries, CountedRetries, RetryReport
from penstock.spark.query.sink.task import passes


def make(timeout: str, longest: str = "60000") -> BatchRetries:
    return BatchRetries(ErrorSettings.of({"errors.retry.timeout": timeout, "errors.retry.delay.max.ms": longest}))


def test_nothing_is_tried_again_unless_it_is_asked_for() -> None:
    assert BatchRetries(ErrorSettings.of({})).after(100.0) is None


def test_waits_grow_up_to_the_longest_and_end_with_the_time_allowed() -> None:
    retries, now, waits = make("5000", "1000"), 100.0, []
    while (wait := retries.after(now)) is not None:
        waits.append(wait)
        now += wait
    assert waits[:3] == [0.3, 0.6, 1.0]
    assert max(waits) == 1.0
    assert now == pytest.approx(105.0)


def test_a_success_gives_all_the_time_again() -> None:
    retries = make("1000")
    assert retries.after(100.0) == 0.3
    assert retries.over()
    assert not retries.over()
    assert retries.after(200.0) == 0.3
    assert retries.after(201.0) is None


def test_a_negative_timeout_is_without_end() -> None:
    retries = make("-1", "2000")
    assert [retries.after(now) for now in (0.0, 10.0, 1e6, 1e9)] == [0.3, 0.6, 1.2, 2.0]


def test_a_number_of_retries_begins_again_after_a_success() -> None:
    retries = CountedRetries(2, 3.0)
    assert [retries.after(0.0) for _ in range(3)] == [3.0, 3.0, None]
    assert retries.failing
    assert retries.over()
    assert not retries.failing
    assert retries.after(0.0) == 3.0


def test_a_report_of_retries_is_renewed_when_the_cause_changes() -> None:
    report = RetryReport()
    first = report.failed(Exception("no route"), 3.0, "max.retries")
    assert first is not None
    assert first.startswith("no route. Retrying for as long as max.retries allows, since ")
    assert report.logs
    assert report.failed(Exception("no route"), 3.0, "max.retries") is None
    assert not report.logs
    second = report.failed(Exception("refused"), 3.0, "max.retries")
    assert second is not None
    assert report.logs
    assert second.partition("since ")[2][:20] == first.partition("since ")[2][:20]
    assert report.over() is not None
    assert report.over() is None


@pytest.mark.parametrize(
    ("java", "passing"),
    [
        ("TimeoutException: Timed out waiting for a node assignment. Call: listOffsets", True),
        ("FencedLeaderEpochException: The leader epoch in the request is older than the epoch on the broker.", True),
        ("KafkaStorageException: Disk error when trying to access log file on the disk.", True),
        ("TopicAuthorizationException: Not authorized to access topics: [t]", False),
        ("SaslAuthenticationException: Authentication failed", False),
    ],
)
def test_a_query_starts_again_after_what_javas_clients_retry(java: str, passing: bool) -> None:
    text = f"java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.{java}"
    assert passes(Exception(text)) == passing


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_a_report_comes_in_time_though_the_clock_is_set(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    report, steady, today = RetryReport(), [100.0], [1_000_000.0]
    monkeypatch.setattr(time, "monotonic", lambda: steady[0])
    monkeypatch.setattr(time, "time", lambda: today[0])
    assert report.failed(OSError("away"), 1.0, "x") is not None
    steady[0] += 1
    today[0] += jump
    assert report.failed(OSError("away"), 1.0, "x") is None
    steady[0] += 6
    assert report.failed(OSError("away"), 1.0, "x") is not None
    assert report.over() == 7.0
