"""Members of a group on a real broker, each with a minimal worker that runs its assignment."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.core.group.membership import (
    CONFIG_MISMATCH,
    ClusterConfigSnapshot,
    CoordinatorFound,
    CoordinatorUnknown,
    Failed,
    Joined,
    PollTimeoutExpired,
    Revoked,
)
from penstock.core.model.tasks import TaskId
from support.kafka.group_worker import ALL, CONFIG, Worker, settled, until

pytestmark = pytest.mark.integration


def test_the_first_member_leads_and_runs_everything(start: Callable[..., Worker]) -> None:
    a = start("a")
    until(lambda: settled(a), "a runs everything")
    # The first group of a broker waits until the topic is made that keeps groups.
    first = next(event for event in a.events if not isinstance(event, CoordinatorUnknown))
    assert isinstance(first, CoordinatorFound)
    joined = a.assignment
    assert joined is not None
    assert joined.leader
    assert joined.protocol_version == 2
    assert joined.assignment.leader == joined.member_id == a.member.member_id
    assert joined.assignment.leader_url == "http://a:8083/"
    assert joined.assignment.offset == 5
    assert joined.generation == a.member.generation >= 1
    assert joined.owners is not None
    assert joined.owners.tasks[TaskId("c1", 0)] == "http://a:8083/"


@pytest.mark.parametrize("protocol", ["sessioned", "compatible", "eager"])
def test_members_join_and_leave(start: Callable[..., Worker], protocol: str) -> None:
    a = start("a", protocol=protocol)
    until(lambda: settled(a), "a runs everything")
    b = start("b", protocol=protocol)
    until(lambda: settled(a, b), "a and b share")
    c = start("c", protocol=protocol)
    until(lambda: settled(a, b, c), "a, b and c share")
    assert [w.assignment.leader for w in (a, b, c)] == [True, False, False]
    assert {w.assignment.assignment.leader for w in (a, b, c)} == {a.assignment.member_id}
    a.stop()
    until(lambda: settled(b, c), "b and c share")
    assert sorted(w.assignment.leader for w in (b, c)) == [False, True]
    b.stop()
    until(lambda: settled(c), "c runs everything")


def test_a_group_of_eager_and_sessioned_members_is_eager(start: Callable[..., Worker]) -> None:
    a = start("a")
    until(lambda: settled(a), "a runs everything")
    b = start("b", protocol="eager")
    until(lambda: settled(a, b) and {w.assignment.protocol_version for w in (a, b)} == {0}, "a and b share, eagerly")
    b.stop()
    until(lambda: settled(a) and a.assignment.protocol_version == 2, "a runs everything, in its own protocol")
    assert {joined.protocol_version for joined in b.seen(Joined)} == {0}
    assert (a.running, b.seen(Failed)) == (ALL, [])


def test_nothing_is_joined_before_what_is_revoked_has_stopped(start: Callable[..., Worker]) -> None:
    a = start("a")
    until(lambda: settled(a), "a runs everything")
    a.confirms = False
    b = start("b")
    until(lambda: a.seen(Revoked), "something is revoked from a")
    (revoked,) = a.seen(Revoked)
    a.go_round(40)
    assert b.running == set()
    assert len(a.seen(Joined)) == 1
    a.confirms = True
    revoked.done()
    until(lambda: settled(a, b), "a and b share")


def test_a_revocation_that_takes_too_long_costs_the_membership(start: Callable[..., Worker]) -> None:
    a = start("a", rebalance_timeout_ms="5000")
    until(lambda: settled(a), "a runs everything")
    a.confirms = False
    b = start("b")
    late = "has not stopped what was revoked, longer than rebalance.timeout.ms=5000"
    until(lambda: any(late in expired.reason for expired in a.seen(PollTimeoutExpired)), "a has left")
    (revoked,) = a.seen(Revoked)
    assert {*revoked.connectors, *revoked.tasks}
    until(lambda: {*revoked.connectors, *revoked.tasks} <= b.running, "b runs what was revoked")
    a.confirms = True
    revoked.done()
    until(lambda: settled(a, b), "a and b share")


def test_the_longest_time_for_a_rebalance_is_no_shorter_one(start: Callable[..., Worker]) -> None:
    """A member may add something to it, to know how long an answer may take."""
    a = start("a", rebalance_timeout_ms=str(2**31 - 1))
    until(lambda: settled(a), "a runs everything")
    a.confirms = False
    b = start("b", rebalance_timeout_ms=str(2**31 - 1))
    until(lambda: a.seen(Revoked), "something is revoked from a")
    a.go_round(40)
    assert (a.seen(PollTimeoutExpired), a.seen(Failed), b.seen(Failed)) == ([], [], [])
    a.confirms = True
    a.seen(Revoked)[0].done()
    until(lambda: settled(a, b), "a and b share")


def test_a_worker_that_no_longer_ticks_leaves_and_comes_back(start: Callable[..., Worker]) -> None:
    a = start("a", rebalance_timeout_ms="1500")
    b = start("b")
    until(lambda: settled(a, b), "a and b share")
    a.alive = False
    until(lambda: settled(b) and a.seen(PollTimeoutExpired), "b runs everything, and a knows")
    expired = a.seen(PollTimeoutExpired)[-1]  # there may be another, of a busy machine
    assert "rebalance.timeout.ms=1500" in expired.reason
    a.alive = True
    until(lambda: settled(a, b), "a and b share")


def test_a_former_member_confirms_nothing(start: Callable[..., Worker]) -> None:
    answers: list[bool] = []
    a = start("a")
    until(lambda: settled(a), "a runs everything")
    a.member.confirm(answers.append)
    until(lambda: answers == [True], "a is a member")
    a.member.leave("taking too long to read the log", keeps_work=False)
    until(lambda: a.member.generation == -1, "a has left")
    a.member.confirm(answers.append)
    until(lambda: len(answers) == 2, "there is an answer")
    assert answers == [True, False]


def test_a_new_connector_is_assigned_after_a_rejoin(start: Callable[..., Worker]) -> None:
    a = start("a", snapshot=ClusterConfigSnapshot(1))
    until(lambda: a.assignment, "a has joined")
    assert a.running == set()
    a.member.publish(CONFIG)
    a.member.request_rejoin("connectors have changed")
    until(lambda: settled(a), "a runs everything")
    assert a.assignment.assignment.offset == 5


def test_a_leader_that_has_read_less_assigns_nothing_until_it_has_caught_up(start: Callable[..., Worker]) -> None:
    a = start("a", snapshot=ClusterConfigSnapshot(1))
    until(lambda: a.assignment, "a has joined")
    b = start("b")
    until(lambda: b.seen(Joined), "b has joined")
    (joined,) = b.seen(Joined)
    assert joined.assignment.error == CONFIG_MISMATCH
    assert joined.assignment.offset == 5
    b.go_round(30)
    assert len(b.seen(Joined)) == 1
    a.member.publish(CONFIG)
    for worker in (a, b):
        worker.member.request_rejoin("the config topic has been read")
    until(lambda: settled(a, b), "a and b share")


def test_a_member_that_leaves_for_now_returns_when_asked(start: Callable[..., Worker]) -> None:
    a = start("a")
    b = start("b")
    until(lambda: settled(a, b), "a and b share")
    a.member.leave("taking too long to read the log")
    until(lambda: b.running >= ALL and a.member.generation == -1, "b runs everything, and a is no member")
    # A member that leaves for the moment keeps its tasks: a revocation by b does not show that a has returned.
    left = len(a.seen(Joined))
    a.member.request_rejoin("the log has been read")
    until(lambda: settled(a, b) and len(a.seen(Joined)) > left, "a has joined again, a and b share")
    assert a.assignment.generation > b.seen(Joined)[0].generation
    assert a.running | b.running == ALL


def test_a_session_timeout_that_the_broker_refuses_is_reported(start: Callable[..., Worker]) -> None:
    a = start("a", session_timeout_ms="100000000")
    until(lambda: a.seen(Failed), "a is refused")
    (failed,) = a.seen(Failed)
    assert failed.reason.startswith("session.timeout.ms=100000000 is not within the range allowed by the broker")


def test_a_broker_that_is_down_is_searched_for() -> None:
    a = Worker("127.0.0.1:1", "nobody", "a")
    until(lambda: a.events, "a knows")
    (unknown,) = a.events
    assert unknown == CoordinatorUnknown(
        "The coordinator of group nobody can't be reached by way of bootstrap.servers=127.0.0.1:1"
    )
    a.stop()
    assert len(a.events) == 1


@pytest.mark.security
def test_a_group_whose_assignments_exceed_the_broker_s_record_goes_on_without_some(
    start: Callable[..., Worker],
) -> None:
    """Java's group would end: the broker cannot store what all members run."""
    names = {f"{i:04}{'n' * 1000}": 1 for i in range(1000)}
    a = start("a", snapshot=ClusterConfigSnapshot(5, {**CONFIG.connectors, **names}))
    until(lambda: a.running >= ALL, "a runs what has short names, and some of the others")
    assert len(ALL) < len(a.running) < 700
    b = start("b", snapshot=ClusterConfigSnapshot(5, {**CONFIG.connectors, **names}))
    until(lambda: b.running and b.running | a.running >= ALL, "a and b share")
    assert (a.seen(Failed), b.seen(Failed)) == ([], [])
