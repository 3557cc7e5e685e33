"""Members of a group on a real broker, each with a worker of a few lines that does as it is told."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from penstock.core.group.membership import (
    CONFIG_MISMATCH,
    ClusterConfigSnapshot,
    CoordinatorFound,
    CoordinatorUnknown,
    Failed,
    GroupEvent,
    Joined,
    Lost,
    PollTimeoutExpired,
    Revoked,
)
from penstock.core.model.tasks import TaskId
from penstock.kafka.group.member import GroupMember

pytestmark = pytest.mark.integration

CONFIG = ClusterConfigSnapshot(5, {"c0": 3, "c1": 1})
ALL = {"c0", "c1", TaskId("c0", 0), TaskId("c0", 1), TaskId("c0", 2), TaskId("c1", 0)}
PATIENCE_S = 120.0


class Worker:
    """A loop that starts and stops what its member is told, and joins again when it should."""

    def __init__(
        self,
        bootstrap: str,
        group: str,
        name: str,
        *,
        protocol: str = "sessioned",
        max_delay_ms: int = 0,
        snapshot: ClusterConfigSnapshot = CONFIG,
        **settings: str,
    ) -> None:
        # Nothing here waits for these times to be over: a machine may be so busy that shorter ones are.
        timeouts = {"session.timeout.ms": "30000", "heartbeat.interval.ms": "500", "rebalance.timeout.ms": "60000"}
        timeouts |= {key.replace("_", "."): value for key, value in settings.items()}
        self.name = name
        self.events: list[GroupEvent] = []
        self.running: set[str | TaskId] = set()
        self.assignment: Joined | None = None
        self.confirms = True
        self.alive = True
        self.turns = 0
        self._queue: queue.Queue[GroupEvent | None] = queue.Queue()
        self.member = GroupMember(
            {"bootstrap.servers": bootstrap, "client.id": name, **timeouts},
            group,
            f"http://{name}:8083/",
            protocol,
            max_delay_ms,
            self._queue.put,
        )
        self.member.publish(snapshot)
        self.member.start()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self) -> None:
        rejoin_at = float("inf")
        while True:
            self.turns += 1
            if self.alive:
                self.member.tick()
            try:
                event = self._queue.get(timeout=0.05)
            except queue.Empty:
                if time.monotonic() >= rejoin_at:
                    rejoin_at = float("inf")
                    self.member.request_rejoin("the scheduled delay is over")
                continue
            if event is None:
                return
            self.events.append(event)
            match event:
                case Revoked(connectors=connectors, tasks=tasks) | Lost(connectors=connectors, tasks=tasks):
                    self.running -= {*connectors, *tasks}
                    if self.confirms:
                        event.done()
                case Joined(assignment=told) if not told.failed:
                    self.assignment = event  # before what tests wait for
                    self.running |= {*told.connectors, *told.tasks}
                    rejoin_at = time.monotonic() + told.delay_ms / 1000 if told.delay_ms else float("inf")
                    if told.revoked_connectors or told.revoked_tasks:
                        self.member.request_rejoin("something was revoked")

    def go_round(self, turns: int) -> None:
        """Wait for so many turns of its loop, 20 a second at most; heartbeats go out every ten of them."""
        enough = self.turns + turns
        until(lambda: self.turns >= enough, f"{turns} turns of {self.name}")

    def seen(self, kind: type[GroupEvent]) -> list[GroupEvent]:
        return [event for event in self.events if isinstance(event, kind)]

    def stop(self) -> None:
        self.member.leave_and_stop(10.0)
        self._queue.put(None)
        self._thread.join()


def until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_S} s: {what}"
        time.sleep(0.02)


def settled(*workers: Worker) -> bool:
    running = [item for worker in workers for item in worker.running]
    sizes = [len(worker.running) for worker in workers]
    return len(running) == len(ALL) and set(running) == ALL and max(sizes) - min(sizes) <= 2


@pytest.fixture
def group() -> str:
    return f"group-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def start(bootstrap: str, group: str) -> Iterator[Callable[..., Worker]]:
    workers = []

    def start(name: str, **options: object) -> Worker:
        workers.append(Worker(bootstrap, group, name, **options))
        return workers[-1]

    yield start
    for worker in workers:
        worker.stop()


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
    a = start("a", rebalance_timeout_ms="2000")
    until(lambda: settled(a), "a runs everything")
    a.confirms = False
    b = start("b")
    until(lambda: a.seen(PollTimeoutExpired), "a has left")
    (revoked,) = a.seen(Revoked)
    (expired,) = a.seen(PollTimeoutExpired)
    assert "has not stopped what was revoked, longer than rebalance.timeout.ms=2000" in expired.reason
    assert {*revoked.connectors, *revoked.tasks}
    until(lambda: {*revoked.connectors, *revoked.tasks} <= b.running, "b runs what was revoked")
    a.confirms = True
    revoked.done()
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


OTHER_PROCESS = """
import queue, sys, time
from penstock.core.group.membership import ClusterConfigSnapshot, Lost, Revoked
from penstock.kafka.group.member import GroupMember

bootstrap, group = sys.argv[1:]
settings = {"bootstrap.servers": bootstrap, "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
events = queue.Queue()
member = GroupMember(settings, group, "http://b:8083/", "sessioned", 2000, events.put)
member.publish(ClusterConfigSnapshot(5, {"c0": 3, "c1": 1}))
member.start()


def say(what):
    sys.stdout.write(f"{time.monotonic()} {what}\\n")
    sys.stdout.flush()


while True:
    member.tick()
    try:
        event = events.get(timeout=0.1)
    except queue.Empty:
        member.confirm(lambda confirmed: events.put("confirmed" if confirmed else "denied"))
        continue
    say(event if isinstance(event, str) else type(event).__name__)
    if isinstance(event, (Revoked, Lost)):
        event.done()
"""


@pytest.fixture
def other_process(bootstrap: str, group: str) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    processes = []

    def start() -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        command = [sys.executable, "-c", OTHER_PROCESS, bootstrap, group]
        processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        with process:
            process.kill()


def test_a_killed_members_work_waits_for_it_and_then_goes_to_others(
    start: Callable[..., Worker], other_process: Callable[[], subprocess.Popen[str]]
) -> None:
    a = start("a", max_delay_ms=2000)
    until(lambda: settled(a), "a leads")
    b = other_process()
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    b.kill()
    until(lambda: a.assignment.assignment.delay_ms == 2000, "a knows of the loss")
    assert not settled(a)
    until(lambda: settled(a), "a runs everything")


def test_a_suspended_member_takes_its_work_up_again(
    start: Callable[..., Worker], other_process: Callable[[], subprocess.Popen[str]]
) -> None:
    a = start("a", max_delay_ms=60_000)
    until(lambda: settled(a), "a leads")
    b = other_process()
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    shared = a.assignment.owners
    b.send_signal(signal.SIGSTOP)
    until(lambda: a.assignment.assignment.delay_ms == 60_000, "a knows of the loss")
    b.send_signal(signal.SIGCONT)
    until(lambda: a.assignment.assignment.delay_ms == 0, "b is back")
    assert a.assignment.owners == shared
    b.kill()
    assert "Lost" not in b.communicate()[0]


def test_a_member_confirms_its_work_only_while_the_coordinator_counts_it(
    start: Callable[..., Worker], other_process: Callable[[], subprocess.Popen[str]]
) -> None:
    a = start("a")
    until(lambda: settled(a), "a leads")
    b = other_process()
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    assert b.stdout is not None
    until(lambda: b.stdout.readline().endswith("confirmed\n"), "b has confirmed its work")
    b.send_signal(signal.SIGSTOP)
    until(lambda: {"http://a:8083/"} == set(a.assignment.owners.tasks.values()) and settled(a), "a runs everything")
    thawed = time.monotonic()
    b.send_signal(signal.SIGCONT)
    until(lambda: {"http://a:8083/", "http://b:8083/"} == set(a.assignment.owners.tasks.values()), "a and b share")
    after: list[str] = []
    while "confirmed" not in after:
        at, what = b.stdout.readline().split()
        after += [what] if float(at) > thawed else []
    assert "Joined" in after


def test_what_is_no_member_confirms_nothing(start: Callable[..., Worker]) -> None:
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
    # Who leaves for now goes on with what it runs: that b gives something up says nothing of a's return.
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
