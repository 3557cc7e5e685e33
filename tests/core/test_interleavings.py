"""A cluster reaches the state that its users asked for, whatever the order of events.

Requests, failures, crashes, cut-off workers and the passing of time are drawn, and so is the order in which everything
that is under way goes on: reading and writing the logs, stopping, starting, answers. ``PENSTOCK_TEST_EXAMPLES=5000``
tests that many clusters instead of a few.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from penstock.core.model import actions as a
from penstock.core.model import messages as m
from penstock.core.model.records import (
    ConnectorConfig,
    ConnectorStatus,
    RestartRequest,
    TargetState,
    TaskCount,
    TasksCommit,
    TaskStatus,
    TopicStatus,
)
from penstock.core.model.tasks import TaskId
from simulation.cluster import Cluster
from simulation.worker import Worker

EXAMPLES = int(os.environ.get("PENSTOCK_TEST_EXAMPLES", "40"))
NAMES, WORKERS, TOPICS = ("c", "s"), ("w1", "w2", "w3"), ("t", "u")
names, tasks = st.sampled_from(NAMES), st.builds(TaskId, st.sampled_from(NAMES), st.integers(0, 2))


class Watched(Cluster):
    """A cluster that checks what must hold at every moment."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.started: set[tuple[str, str | TaskId]] = set()

    def _carry_out(self, worker: Worker, action: a.Action) -> None:
        match action:
            case a.StartTask(id) if self.settings["exactly_once"] and not id.connector.startswith("s"):
                read = self.topics.config[: worker.read]
                committed = _last(read, lambda r: isinstance(r, TasksCommit) and r.connector == id.connector)
                fenced = _last(read, lambda r: isinstance(r, TaskCount) and r.connector == id.connector)
                assert fenced > committed, f"{worker.id} starts {id} before its generation's fencing record"
            case a.AppendStatus(records):
                for record in records:
                    if isinstance(record, (ConnectorStatus, TaskStatus)) and record.state == "RESTARTING":
                        assert self._may_restart(worker, record), f"{worker.id} restarts {record}, as nobody asked"
        if isinstance(action, (a.StartConnector, a.StartTask)):
            self.started.add((worker.id, action.name if isinstance(action, a.StartConnector) else action.id))
        super()._carry_out(worker, action)

    def _may_restart(self, worker: Worker, record: ConnectorStatus | TaskStatus) -> bool:
        """Return whether a request that the worker has read applies to this instance, and the instance is the
        worker's.
        """
        name, task = (record.name, False) if isinstance(record, ConnectorStatus) else (record.id.connector, True)
        what = record.name if isinstance(record, ConnectorStatus) else record.id
        if not (worker.herder.work.assigned(what) or (worker.id, what) in self.started):
            return False
        asked = [r for r in self.topics.config[: worker.read] if isinstance(r, RestartRequest) and r.connector == name]
        meant = [r for r in asked if r.include_tasks or not task]
        return any(not r.only_failed for r in meant) or bool(meant and self._has_failed(record))

    def _has_failed(self, record: ConnectorStatus | TaskStatus) -> bool:
        def same(other: Any) -> bool:
            if isinstance(record, ConnectorStatus):
                return isinstance(other, ConnectorStatus) and other.name == record.name
            return isinstance(other, TaskStatus) and other.id == record.id

        return any(same(r) and r.state == "FAILED" for r in self.topics.status)  # type: ignore[union-attr]


class Interleavings(RuleBasedStateMachine):
    exactly_once = False

    @initialize(seed=st.integers(0, 2**32), delay=st.sampled_from([0, 5_000]))
    def begin(self, seed: int, delay: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.cluster = Watched(
            self.lines.append,
            lambda channels: self.random.randrange(len(channels)),
            exactly_once=self.exactly_once,
            fenced_writes=self.exactly_once,
        )
        self.cluster.group.max_delay_ms = delay
        self.asked: list[int] = []
        self.cluster.start("w1")
        self.cluster.start("w2")
        self.steps(60)

    @property
    def alive(self) -> list[str]:
        return list(self.cluster.workers)

    def steps(self, count: int) -> None:
        for _ in range(count):
            if not self.cluster.step():
                break

    @rule(count=st.integers(1, 25))
    def go_on(self, count: int) -> None:
        self.steps(count)

    @rule(count=st.integers(50, 300))
    def go_on_for_long(self, count: int) -> None:
        self.steps(count)

    # -- what users do

    def ask(self, on: int, request: m.Request) -> None:
        """Send a request to a worker; the leader gets most of its requests from the others."""
        self.asked.append(self.cluster.send(self.alive[on % len(self.alive)], request))

    @rule(on=st.integers(0, 2), name=names, tasks_max=st.integers(1, 3), replace=st.booleans())
    def configure(self, on: int, name: str, tasks_max: int, replace: bool) -> None:
        config: dict[str, str | None] = {
            "connector.class": "Sink" if name == "s" else "Source",
            "tasks.max": str(tasks_max),
        }
        self.ask(on, m.PutConfig(name, config) if replace else m.CreateConnector(name, config))

    @rule(on=st.integers(0, 2), name=names)
    def delete(self, on: int, name: str) -> None:
        self.ask(on, m.DeleteConnector(name))

    @rule(on=st.integers(0, 2), name=names, state=st.sampled_from(["PAUSED", "STARTED"]))
    def pause_or_resume(self, on: int, name: str, state: Any) -> None:
        self.ask(on, m.SetTargetState(name, state))

    @rule(on=st.integers(0, 2), name=names)
    def stop(self, on: int, name: str) -> None:
        self.ask(on, m.StopConnector(name))

    @rule(on=st.integers(0, 2), name=names, include_tasks=st.booleans(), only_failed=st.booleans())
    def restart(self, on: int, name: str, include_tasks: bool, only_failed: bool) -> None:
        self.ask(on, m.RestartConnector(name, include_tasks, only_failed))

    @rule(on=st.integers(0, 2), id=tasks)
    def restart_task(self, on: int, id: TaskId) -> None:
        self.ask(on, m.RestartTask(id.connector, id.task))

    @rule(on=st.integers(0, 2), name=names)
    def reset_topics(self, on: int, name: str) -> None:
        self.ask(on, m.ResetTopics(name))

    # -- what happens to a cluster

    @rule(id=tasks, topic=st.sampled_from(TOPICS))
    def use_topic(self, id: TaskId, topic: str) -> None:
        self.cluster.use_topic(id, topic)

    @rule(id=tasks)
    def task_fails(self, id: TaskId) -> None:
        self.cluster.fail(id, "boom")

    @rule(name=names)
    def break_or_repair(self, name: str) -> None:
        self.cluster.broken ^= {name}

    @rule(milliseconds=st.sampled_from([100, 1_000, 5_000, 20_000]))
    def time_passes(self, milliseconds: int) -> None:
        self.cluster.pass_time(milliseconds)

    @precondition(lambda self: len(self.cluster.workers) < 3)
    @rule()
    def worker_comes(self) -> None:
        self.cluster.start(next(w for w in WORKERS if w not in self.cluster.workers))

    @precondition(lambda self: len(self.cluster.workers) > 1)
    @rule(on=st.integers(0, 2))
    def worker_dies(self, on: int) -> None:
        self.cluster.kill(self.alive[on % len(self.alive)])

    @precondition(lambda self: len(self.cluster.workers) > 1)
    @rule(on=st.integers(0, 2))
    def worker_is_cut_off(self, on: int) -> None:
        name = self.alive[on % len(self.alive)]
        if self.cluster.workers[name].joined:
            self.cluster.cut_off(name, joins_again=True)

    @precondition(lambda self: self.cluster.calls)
    @rule(which=st.integers(0, 5))
    def answer_is_lost(self, which: int) -> None:
        calls = list(self.cluster.calls)
        self.cluster.lose_answer(calls[which % len(calls)])

    # -- the end

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            self.come_to_rest()
            Rest(self.cluster).check()

    def come_to_rest(self) -> None:
        for _ in range(60):
            for _ in range(5_000):
                if not self.cluster.step():
                    break
            else:
                pytest.fail("the cluster does not come to rest:\n" + "\n".join(self.lines[-40:]))
            self.cluster.pass_time(2_000)
        self.cluster.settle()


class Rest:
    """Checks of a cluster in which nothing is under way any more."""

    def __init__(self, cluster: Watched) -> None:
        self.cluster = cluster
        self.connectors = self._last_of(ConnectorConfig, lambda r: r.name, lambda r: r.config)
        self.targets = self._last_of(TargetState, lambda r: r.connector, lambda r: r.state)
        self.commits = self._last_of(TasksCommit, lambda r: r.connector, lambda r: r.tasks)

    def _last_of(self, kind: type, key: Any, value: Any) -> dict[str, Any]:
        last = {key(r): value(r) for r in self.cluster.topics.config if isinstance(r, kind)}
        return {k: v for k, v in last.items() if v is not None}

    def check(self) -> None:
        self._check_workers()
        statuses = {_key(r): r for r in self.cluster.topics.status}
        statuses = {k: r for k, r in statuses.items() if not _is_tombstone(r)}
        self._check_connectors(statuses)
        self._check_tasks(statuses)
        self._check_topics(statuses)
        known = {("connector", n) for n in self.connectors} | {("task", id) for id in self._tasks()}
        left = [r for k, r in statuses.items() if k[0] != "topic" and k not in known]
        assert not left, f"statuses of deleted instances are left: {left}"

    def _check_workers(self) -> None:
        for worker in self.cluster.workers.values():
            herder = worker.herder
            assert herder.work.held == set()
            assert not herder.restarts.lane.busy
            assert not herder.leadership.changes.busy
            assert herder.output.flows.next_deadline() is None or herder.membership.is_leader or self.cluster.broken
            assert set(herder.state.connectors) == set(self.connectors)
            assert set(worker.tasks) == {t.id for t in herder.work.tasks.values() if not t.ended}
        alive = list(self.cluster.workers.values())
        waiting = [n for n, worker in self.cluster.sent.items() if worker in alive and n not in self.cluster.answered]
        assert not waiting, f"requests {waiting} have not been answered"

    def _tasks(self) -> list[TaskId]:
        counts = {name: len(c.task_configs) for name, c in self._leader().herder.state.connectors.items()}
        return [TaskId(name, i) for name, count in counts.items() for i in range(count)]

    def _leader(self) -> Worker:
        (leader,) = [w for w in self.cluster.workers.values() if w.herder.membership.is_leader]
        return leader

    def _check_connectors(self, statuses: dict[Any, Any]) -> None:
        for name in self.connectors:
            runs = [
                (w, w.herder.work.connectors[name])
                for w in self.cluster.workers.values()
                if name in w.herder.work.connectors
            ]
            assert len(runs) == 1, f"{name} runs {len(runs)} times"
            ((worker, run),) = runs
            target = self.targets.get(name, "STARTED")
            status = statuses[("connector", name)]
            wanted = {"STARTED": "RUNNING"}.get(target, target)
            if status.state != wanted:
                assert status.state == "FAILED", f"{status}, but it should be {wanted}"
                assert run.phase.value == "failed"
            assert status.worker_id == worker.id
            tasks, config = self._leader().herder.state.connectors[name].task_configs, self.connectors[name]
            if target == "STOPPED":
                assert tasks == [], f"{name} is stopped and has tasks {tasks}"
            if target == "STARTED" and status.state == "RUNNING":
                wanted_tasks = [{**config, "n": str(i)} for i in range(int(config["tasks.max"]))]
                assert tasks == wanted_tasks, f"{name} is {config} and has tasks {tasks}"

    def _check_tasks(self, statuses: dict[Any, Any]) -> None:
        for id in self._tasks():
            status = statuses[("task", id)]
            runs = [w.id for w in self.cluster.workers.values() if id in w.tasks]
            if status.state == "FAILED":
                assert runs == [], f"{id} has failed and runs on {runs}"
                assert status.trace == "boom", f"{id} has failed by itself: {status.trace}"
                continue
            target = self.targets.get(id.connector, "STARTED")
            assert status.state == {"STARTED": "RUNNING"}.get(target, target), status
            assert runs == [status.worker_id], f"{id} runs on {runs}: {status}"
        wanted = set(self._tasks())
        for worker in self.cluster.workers.values():
            assert set(worker.tasks) <= wanted

    def _check_topics(self, statuses: dict[Any, Any]) -> None:
        """Check that each topic that a running task knows as active is active, and that only existing connectors have
        any.
        """
        active = {(k[2], k[1]) for k in statuses if k[0] == "topic"}
        assert {name for name, _ in active} <= set(self.connectors), f"topics are left: {active}"
        for worker in self.cluster.workers.values():
            for task in worker.tasks.values():
                known = {(task.id.connector, topic) for topic in task.known_topics}
                assert known <= active, f"{task.id} takes {known} for active, not {active}"


def _key(record: Any) -> tuple[Any, ...]:
    match record:
        case ConnectorStatus(name):
            return ("connector", name)
        case TaskStatus(id):
            return ("task", id)
        case TopicStatus(topic, connector):
            return ("topic", topic, connector)
    raise TypeError(record)


def _is_tombstone(record: Any) -> bool:
    return (record.task if isinstance(record, TopicStatus) else record.state) is None


def _last(records: list[Any], is_it: Any) -> int:
    return max((i for i, record in enumerate(records) if is_it(record)), default=-1)


class ExactlyOnce(Interleavings):
    exactly_once = True


FEW = settings(
    max_examples=EXAMPLES,
    stateful_step_count=40,
    deadline=None,
    derandomize="PENSTOCK_TEST_EXAMPLES" not in os.environ,
    print_blob=False,
    suppress_health_check=list(HealthCheck),
)
Interleavings.TestCase.settings = FEW
ExactlyOnce.TestCase.settings = FEW
TestInterleavings = Interleavings.TestCase
TestExactlyOnce = ExactlyOnce.TestCase
