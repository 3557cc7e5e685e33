"""A worker learns in time that it is cut off, and only then."""

from __future__ import annotations

import pytest

from penstock.core.group.membership import Reachability

STEP_MS = 100


def first_out_of_reach(reachability: Reachability, *, coordinator_known: bool, silent: bool) -> int:
    for now_ms in range(0, 60_000, STEP_MS):
        unanswered_ms = now_ms if silent else 0
        if not reachability.observe(now_ms, coordinator_known=coordinator_known, unanswered_ms=unanswered_ms):
            return now_ms
    raise AssertionError("not told within a minute")


@pytest.mark.parametrize(
    ("session_timeout_ms", "heartbeat_interval_ms"), [(10_000, 3_000), (6_000, 2_000), (9_000, 500)]
)
def test_a_silent_coordinator_is_reported_within_the_session_timeout(
    session_timeout_ms: int, heartbeat_interval_ms: int
) -> None:
    reachability = Reachability(session_timeout_ms, heartbeat_interval_ms)
    told_ms = first_out_of_reach(reachability, coordinator_known=True, silent=True)
    assert heartbeat_interval_ms < told_ms < session_timeout_ms


def test_an_unknown_coordinator_is_reported_after_one_heartbeat_interval() -> None:
    reachability = Reachability(10_000, 3_000)
    assert first_out_of_reach(reachability, coordinator_known=False, silent=False) == 3_000


def test_a_coordinator_that_is_found_again_in_time_is_no_outage() -> None:
    reachability = Reachability(10_000, 3_000)
    for now_ms in range(0, 60_000, STEP_MS):
        known = now_ms % 5_000 > 2_500
        assert reachability.observe(now_ms, coordinator_known=known, unanswered_ms=0)


def test_after_a_pause_of_the_process_the_coordinator_is_asked_first() -> None:
    reachability = Reachability(10_000, 3_000)
    assert reachability.observe(0, coordinator_known=True, unanswered_ms=0)
    resumed_ms = 60_000
    told = [
        reachability.observe(now_ms, coordinator_known=True, unanswered_ms=now_ms)
        for now_ms in range(resumed_ms, resumed_ms + 10_000, STEP_MS)
    ]
    assert told.index(False) * STEP_MS == 4_000 + STEP_MS + 3_000
