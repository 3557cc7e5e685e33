"""A cluster of real herders over two logs in memory, steered by lines of text: what scenarios are told in.

Nothing here decides anything: records that are appended are read back by every worker, rebalances are decided by the
real assignor, connectors and tasks say at once what they were asked for, and time passes only when a scenario says
so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.core import actions as a
from penstock.core import events as e
from penstock.core import messages as m
from penstock.core.group.assignment import AssignorMemory, Rebalance, assign
from penstock.core.group.membership import Assignment, ClusterConfigSnapshot, Joined, Lost, Member
from penstock.core.herder import Herder, HerderSettings, PluginFacts
from penstock.core.records import ConfigRecord, ConnectorStatus, StatusTopicRecord, TaskStatus, TopicStatus
from penstock.core.tasks import TaskEnded, TaskFailed, TaskId, TaskPaused, TaskRunning, TopicSeen


class Facts(PluginFacts):
    """Classes whose name begins with Sink are sinks; the rest are sources."""

    def kind(self, config: Any) -> str:
        return "unknown" if config is None else "sink" if config["connector.class"].startswith("Sink") else "source"

    def version(self, config: Any) -> str | None:
        return None


@dataclass
class Worker:
    id: str
    herder: Herder
    inbox: deque[Any] = field(default_factory=deque)
    read: int = 0
    snapshot: ClusterConfigSnapshot = field(default_factory=lambda: ClusterConfigSnapshot(0))
    runs: Assignment | None = None
    joined: bool = False
    slow: set[TaskId] = field(default_factory=set)
    """Tasks that do not end when they are stopped, until they are told to."""


class Cluster:
    """``trace`` is called with a line for everything worth telling; ``settings`` are those of every worker."""

    def __init__(self, trace: Callable[[str], None], **settings: Any) -> None:
        self.trace, self.settings = trace, settings
        self.workers: dict[str, Worker] = {}
        self.config: list[Any] = []
        self.status: list[StatusTopicRecord] = []
        self.now = 0
        self.generation = 0
        self.memory: dict[str, AssignorMemory] = {}
        self.rebalancing = False
        self.requests = 0
        self.max_delay_ms = 0
        self.replies: list[m.Reply | m.Elsewhere] = []

    # -- what a scenario does

    def start(self, name: str) -> None:
        worker = Worker(name, Herder(HerderSettings(worker_id=name, **self.settings), Facts()))
        self.workers[name] = worker
        worker.inbox += [
            e.ConfigRead(tuple(ConfigRecord(i, record) for i, record in enumerate(self.config))),
            e.StatusRead(tuple(self.status)),
            e.CaughtUp(),
        ]
        worker.read = len(self.config)
        self.settle()

    def kill(self, name: str) -> None:
        del self.workers[name]
        self.rebalance()
        self.settle()

    def cut_off(self, name: str) -> None:
        """The group no longer hears of a worker, and the worker knows it."""
        worker = self.workers[name]
        worker.joined, worker.runs = False, None
        worker.inbox.append(Lost("no heartbeat", (), (), lambda: None))
        self.rebalance()
        self.settle()

    def ask(self, name: str, request: m.Request) -> m.Reply | m.Elsewhere | None:
        """The answer, if it is there once nothing more happens by itself."""
        self.requests += 1
        before = len(self.replies)
        self.workers[name].inbox.append(e.Submitted(self.requests, request))
        self.settle()
        reply = self.replies[-1] if len(self.replies) > before else None
        if isinstance(reply, m.Elsewhere) and reply.url is not None:  # as the HTTP layer passes it on
            return self.ask(reply.url.removeprefix("http://"), request)
        return reply

    def tell(self, name: str, event: Any) -> None:
        self.workers[name].inbox.append(event)
        self.settle()

    def runs_where(self, id: TaskId) -> list[str]:
        return [w.id for w in self.workers.values() if (t := w.herder.work.tasks.get(id)) and not t.ended]

    def fail(self, id: TaskId, why: str) -> None:
        for name in self.runs_where(id):
            run = self.workers[name].herder.work.tasks[id].run
            self.workers[name].inbox += [TaskFailed(id, run, why), TaskEnded(id, run)]
        self.settle()

    def use_topic(self, id: TaskId, topic: str) -> None:
        for name in self.runs_where(id):
            self.workers[name].inbox.append(TopicSeen(id, self.workers[name].herder.work.tasks[id].run, topic))
        self.settle()

    def pass_time(self, milliseconds: int) -> None:
        self.now += milliseconds
        for worker in self.workers.values():
            worker.inbox.append(e.Tick())
        self.settle()

    # -- what happens by itself

    def settle(self) -> None:
        while True:
            worker = next((w for w in self.workers.values() if w.inbox), None)
            if worker is not None:
                for action in worker.herder.handle(worker.inbox.popleft(), self.now):
                    self._carry_out(worker, action)
            elif self.rebalancing:
                self._decide()
            else:
                return

    def rebalance(self) -> None:
        self.rebalancing = True

    def _decide(self) -> None:
        self.rebalancing = False
        members = [w for w in self.workers.values() if w.joined]
        if not members:
            return
        self.generation += 1
        leader = members[0]
        url = {w.id: f"http://{w.id}" for w in members}
        round_ = Rebalance(leader.id, self.generation, self.generation - 1, 2, self.max_delay_ms)
        states = [Member(w.id, url[w.id], w.snapshot.offset, w.runs) for w in members]
        decision = assign(leader.snapshot, states, self.memory.get(leader.id, AssignorMemory()), self.now, round_)
        self.memory = {leader.id: decision.memory}
        for worker in members:
            given = decision.assignments[worker.id]
            if not given.failed:
                worker.runs = _merged(worker.runs, given)
            owners = decision.owners if worker is leader else None
            whole = given if given.failed else worker.runs
            assert whole is not None
            self.trace(f"{worker.id}: assigned {_work(whole)}" + (" (failed)" if given.failed else ""))
            if given.revoked_connectors or given.revoked_tasks:
                self.trace(
                    f"{worker.id}: revoked {', '.join([*given.revoked_connectors, *map(str, given.revoked_tasks)])}"
                )
            worker.inbox.append(Joined(self.generation, worker.id, 2, whole, worker is leader, owners))

    def _carry_out(self, worker: Worker, action: a.Action) -> None:
        inbox = worker.inbox
        match action:
            case a.Answer(_, reply):
                self.replies.append(reply)
                self.trace(f"{worker.id}: {_reply(reply)}")
            case a.AppendConfig(records=records, token=token):
                for record in records:
                    self.trace(f"config: {record}")
                    for each in self.workers.values():
                        each.inbox.append(e.ConfigRead((ConfigRecord(len(self.config), record),)))
                    self.config.append(record)
                inbox.append(e.Completed(token))
            case a.AppendStatus(records):
                for status in records:
                    self.trace(f"status: {_status(status)}")
                    self.status.append(status)
                    for each in self.workers.values():
                        each.inbox.append(e.StatusRead((status,)))
            case a.MakeSessionKey(token=token):
                inbox.append(e.Completed(token, b"k" * 32))
            case a.FenceProducers(connector=name, tasks=tasks, token=token):
                self.trace(f"{worker.id}: fences the producers of {tasks} tasks of {name}")
                inbox.append(e.Completed(token))
            case a.ReadConfigToEnd(token=token) | a.ClaimConfigTopic(token=token) | a.Validate(token=token):
                inbox.append(e.Completed(token))
            case a.CallLeader(path=(_, name, "tasks"), body=body, token=token, url=url):
                self._call(url, m.PutTaskConfigs(name, tuple(body), _signature(worker, body)), inbox, token)
            case a.CallLeader(path=(_, name, "fence"), token=token, url=url):
                self._call(url, m.FenceTasks(name, _signature(worker, None)), inbox, token)
            case a.Publish(snapshot):
                worker.snapshot = snapshot
            case a.JoinGroup() | a.Rejoin():
                worker.joined = True
                self.rebalance()
            case a.Release(done):
                done()
            case a.StartConnector(name, run, _, target):
                inbox.append(_connector_is(name, run, target))
            case a.ChangeConnectorState(name, run, target):
                inbox.append(_connector_is(name, run, target))
            case a.StopConnectorRun(name, run):
                inbox.append(e.ConnectorEnded(name, run))
            case a.MakeTaskConfigs(name=name, max_tasks=n, token=token):
                config = worker.herder.state.connectors[name].config
                inbox.append(e.Completed(token, [{**config, "n": str(i)} for i in range(n)]))
            case a.StartTask(id, run):
                self.trace(f"{worker.id}: starts {id}")
                inbox.append(TaskPaused(id, run) if action.paused else TaskRunning(id, run))
            case a.PauseTask(id):
                inbox.append(TaskPaused(id, worker.herder.work.tasks[id].run))
            case a.ResumeTask(id):
                inbox.append(TaskRunning(id, worker.herder.work.tasks[id].run))
            case a.StopTask(id):
                self.trace(f"{worker.id}: stops {id}")
                if id not in worker.slow:
                    inbox.append(TaskEnded(id, worker.herder.work.tasks[id].run))
            case a.ResetTaskTopics(id):
                self.trace(f"{worker.id}: {id} forgets its topics")

    def _call(self, url: str, request: m.Request, inbox: deque[Any], token: int) -> None:
        """A signed request from one worker to another; answered when that one has."""
        leader = self.workers[url.removeprefix("http://")]
        self.requests += 1
        leader.inbox.append(e.Submitted(self.requests, request))
        inbox.append(e.Completed(token))

    # -- what can be looked at

    def shown_status(self, name: str, connector: str) -> str:
        reply = self.workers[name].herder.handle(e.Submitted(0, m.GetStatus(connector)), self.now)[0]
        assert isinstance(reply, a.Answer)
        return _reply(reply.reply)


def _signature(worker: Worker, body: Any) -> m.Signature:
    from penstock.core.session_keys import sign

    key = worker.herder.state.session_key
    text = repr(body).encode()
    return m.Signature(text, None if key is None else sign(key.key, "HmacSHA256", text), "HmacSHA256")


def _connector_is(name: str, run: int, target: str) -> e.ConnectorEvent:
    kinds: dict[str, Any] = {"STARTED": e.ConnectorRunning, "PAUSED": e.ConnectorPaused, "STOPPED": e.ConnectorStopped}
    return kinds[target](name, run, "1")  # type: ignore[no-any-return]


def _merged(before: Assignment | None, given: Assignment) -> Assignment:
    """Everything a member runs after a rebalance: what it ran, less what was revoked, and what is new."""
    old = before or Assignment()
    connectors = [c for c in old.connectors if c not in given.revoked_connectors]
    tasks = [t for t in old.tasks if t not in given.revoked_tasks]
    return Assignment(
        (*connectors, *(c for c in given.connectors if c not in connectors)),
        (*tasks, *(t for t in given.tasks if t not in tasks)),
        given.revoked_connectors,
        given.revoked_tasks,
        given.delay_ms,
        given.leader,
        given.leader_url,
        given.offset,
    )


def _work(assignment: Assignment) -> str:
    return ", ".join([*assignment.connectors, *map(str, assignment.tasks)]) or "nothing"


def _status(record: StatusTopicRecord) -> str:
    match record:
        case ConnectorStatus(name, state, worker):
            return f"connector {name} " + (f"{state} on {worker}" if state else "gone")
        case TaskStatus(id, state, worker, _, trace):
            return f"task {id} " + (f"{state} on {worker}" + (f": {trace}" if trace else "") if state else "gone")
        case TopicStatus(topic, connector, task):
            return f"topic {topic} of {connector} " + ("no longer active" if task is None else f"active by task {task}")


def _reply(reply: m.Reply | m.Elsewhere) -> str:
    if isinstance(reply, m.Elsewhere):
        return f"elsewhere: {reply.url}"
    body = reply.body
    if isinstance(body, dict) and "connector" in body and "tasks" in body:
        tasks = ", ".join(f"{t['id']} {t['state']} on {t['worker_id']}" for t in body["tasks"])
        return f"{reply.status} connector {body['connector']['state']}; tasks {tasks or 'none'}"
    return f"{reply.status}" + ("" if body is None else f" {body}")
