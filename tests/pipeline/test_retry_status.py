"""The status of a task that retries: shown after half a minute, with the error's cause, and taken back."""

from __future__ import annotations

import pytest

from penstock.api.errors import RetriableError
from penstock.java.text import java_class_name
from penstock.pipeline import retry_status
from penstock.pipeline.retry_status import RetryStatus


class AwayError(Exception):
    sqlstate = "57P03"


class Host:
    """Keeps the reasons of ``running``."""

    def __init__(self) -> None:
        self.reasons: list[str | None] = []

    def running(self, degraded_reason: str | None = None) -> None:
        self.reasons.append(degraded_reason)


def away(message: str = "the database starts") -> RetriableError:
    error = RetriableError("not written")
    try:
        raise error from AwayError(message)
    except RetriableError:
        return error


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(retry_status, "time", clock)
    return clock


def test_a_task_that_retries_for_half_a_minute_shows_class_message_sqlstate_and_frames(clock: Clock) -> None:
    host = Host()
    status = RetryStatus(host)  # type: ignore[arg-type]
    status.failed(away())
    clock.now += 29.9
    status.failed(away())
    assert host.reasons == []
    clock.now += 0.2
    status.failed(away())
    (reason,) = host.reasons
    lines = (reason or "").splitlines()
    assert lines[:3] == [
        "Retrying automatically since 1970-01-01T00:16:40Z:",
        "org.apache.kafka.connect.errors.RetriableException: not written",
        f"Caused by: {java_class_name(AwayError)}: the database starts",
    ]
    assert "\tSQLSTATE 57P03" in lines
    assert any(line.startswith("\tat away(") for line in lines)
    clock.now += 60
    status.failed(away())
    assert len(host.reasons) == 1, "the same error is shown once"
    status.failed(away("no space"))
    status.failed(away("no memory"))
    assert len(host.reasons) == 2, "another one is shown, but not more often than every half minute"
    status.over()
    status.over()
    assert host.reasons[2:] == [None]


def test_a_short_retry_leaves_the_status_alone(clock: Clock) -> None:
    host = Host()
    status = RetryStatus(host)  # type: ignore[arg-type]
    for _ in range(3):
        status.failed(away())
        clock.now += 25
        status.over()
    assert host.reasons == []


def test_a_pause_hides_it_and_after_it_is_shown_again(clock: Clock) -> None:
    host = Host()
    status = RetryStatus(host)  # type: ignore[arg-type]
    for reports in (True, True, False, False, True):
        if not reports:
            status.paused()
        status.failed(away(), reports=reports)
        clock.now += 31
    assert len(host.reasons) == 2
    assert None not in host.reasons
