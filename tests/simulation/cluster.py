"""Cluster of real herders over two logs in memory, for scenarios and properties of whole clusters.

Nothing here makes decisions: appended records are read back by every worker, the real assignor decides rebalances,
connectors and tasks do what they are asked for, and time passes only when a test says so.

Everything that takes time in a real cluster is *under way* here for a while: an event for a worker, or an effect such
as a write to a log. Each channel keeps its order. Without ``pick`` everything happens in a fixed order as soon as it
can (scenarios); with it, ``pick`` chooses each time the channel that advances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.api.errors import ConnectError
from penstock.core.herder import Herder
from penstock.core.model import actions as a
from penstock.core.model import events as e
from penstock.core.model import messages as m
from penstock.core.model.settings import HerderSettings
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import (
    SkipOver,
    SparkDied,
    SparkReady,
    TaskEnded,
    TaskEvent,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskPaused,
    TaskRunning,
    TaskStalled,
    TopicSeen,
)
from penstock.core.session_keys import key_bytes, sign
from simulation import descriptions
from simulation.group import Group
from simulation.progress import Progress
from simulation.topics import Topics
from simulation.worker import Facts, Task, Worker


class Cluster(Progress):
    """Simulated cluster, whose workers all have the same ``settings``.

    ``trace`` is called with a line for everything worth showing. ``pick`` is given the channels on which something is
    under way, and returns the index of the one that advances.
    """

    plugins: Any = Facts()
    """Source of the kinds and versions of connectors for every herder."""

    def __init__(
        self, trace: Callable[[str], None], pick: Callable[[list[str]], int] | None = None, **settings: Any
    ) -> None:
        self.trace, self.pick, self.settings = trace, pick, settings
        self.workers: dict[str, Worker] = {}
        self.group = Group(self.workers, self.post, trace)
        self.topics = Topics(self.workers, self.post, trace, bool(settings.get("fenced_writes")))
        self.now = 0
        self.requests = 0
        self.replies: list[m.Reply | m.Elsewhere] = []
        self.answered: dict[int, m.Reply | m.Elsewhere] = {}
        self.calls: dict[int, tuple[Worker, str, int]] = {}
        """Requests from worker to worker: the caller, the called worker, and the token of the ``Ask``."""
        self.confirmations: dict[int, tuple[Worker, Task]] = {}
        """Requests of runs of tasks that are ready to begin."""
        self.sent: dict[int, Worker] = {}
        """Worker to which each request was sent."""
        self.broken: set[str] = set()
        """Connectors that fail when they start."""
        self.without_tasks: set[str] = set()
        """Connectors that fail when they are asked for configurations of tasks."""
        self.secrets: dict[str, str] = {}
        """Values of config providers by connector."""

    # -- commands of a test

    def start(self, name: str) -> None:
        worker = Worker(name, Herder(HerderSettings(worker_id=name, **self.settings), self.plugins))
        self.workers[name] = worker
        for event in self.topics.of_a_start():
            self._tell(worker, event)
        self._settle_unless_picked()

    def kill(self, name: str) -> None:
        del self.workers[name]
        for number, (caller, called, token) in list(self.calls.items()):
            if called == name:
                del self.calls[number]
                self.post(caller, f"ask {token}", e.Completed(token, error=ConnectionError(f"{name} is gone")))
        self.group.wanted = True
        self._settle_unless_picked()

    def cut_off(self, name: str, joins_again: bool = False) -> None:
        """End the contact between a worker and the group, and notify the worker."""
        self.group.lose(self.workers[name], joins_again)
        self._settle_unless_picked()

    def lose_answer(self, number: int) -> None:
        """Lose the answer to a request from worker to worker: the caller gives up, the other may carry it out later."""
        caller, called, token = self.calls.pop(number)
        self.post(caller, f"ask {token}", e.Completed(token, error=TimeoutError(f"{called} has not answered")))
        self._settle_unless_picked()

    def shut_down(self, name: str) -> None:
        """Shut a worker down: it stops everything, and has not left the group yet."""
        self.post(self.workers[name], "group", e.ShutDown())
        self._settle_unless_picked()

    def send_quietly(self, worker: Worker, request: m.Request) -> int:
        """Send a request from the worker itself."""
        self.requests += 1
        self.post(worker, f"request {self.requests}", e.Submitted(self.requests, request))
        return self.requests

    def send(self, name: str, request: m.Request) -> int:
        self.requests += 1
        self.sent[self.requests] = self.workers[name]
        self.post(self.workers[name], f"client {self.requests}", e.Submitted(self.requests, request))
        return self.requests

    def ask(self, name: str, request: m.Request) -> m.Reply | m.Elsewhere | None:
        """Return the answer, if there is one once nothing is under way."""
        number = self.send(name, request)
        self.settle()
        reply = self.answered.get(number)
        if isinstance(reply, m.Elsewhere) and reply.url is not None:  # as the HTTP layer passes it on
            return self.ask(reply.url.removeprefix("http://"), request)
        return reply

    def fail(self, id: TaskId, why: str) -> None:
        self._ends_with(id, lambda run: TaskFailed(id, run, why))

    def lose(self, id: TaskId, why: str, died: bool = False) -> None:
        """Let a task lose its process or Spark, or let its process die by itself."""
        self._ends_with(id, lambda run: TaskLost(id, run, why, died))

    def spark_ended(self, name: str, queries: Iterable[TaskId]) -> None:
        """End the worker's application for queries, which starts again at once."""
        worker, why = self.workers[name], "Spark has ended: it was killed"
        self.post(worker, "spark", SparkDied(why, queries=True))
        for id in queries:
            self.lose(id, why)
        self.post(worker, "spark", SparkReady(4, queries=True))
        self._settle_unless_picked()

    def _ends_with(self, id: TaskId, last: Callable[[int], TaskEvent]) -> None:
        for worker in self.workers.values():
            task = worker.tasks.get(id)
            if task is not None and not task.stopping:
                task.stopping = True
                self.post(worker, f"task {id}", last(task.run))
                self._task_ends(worker, task)
        self._settle_unless_picked()

    def delayed(self, name: str, connector: str, why: str | None) -> None:
        """Report that a call of a method of the connector takes long or, with None, has returned."""
        worker = self.workers[name]
        run = worker.herder.work.connectors[connector].run
        self.post(worker, f"connector {connector}", e.ConnectorDelayed(connector, run, why))
        self._settle_unless_picked()

    def degrade(self, id: TaskId, why: str | None) -> None:
        """Report that a task retries or, with None, has succeeded."""
        self._tells(id, lambda run: TaskRunning(id, run, why))

    def stall(self, id: TaskId, why: str | None) -> None:
        """Report that a method of its plugin does not return or, with None, has returned."""
        self._tells(id, lambda run: TaskStalled(id, run, why))

    def _tells(self, id: TaskId, event: Callable[[int], TaskEvent]) -> None:
        for worker in self.workers.values():
            task = worker.tasks.get(id)
            if task is not None and not task.stopping:
                self.post(worker, f"task {id}", event(task.run))
        self._settle_unless_picked()

    def use_topic(self, id: TaskId, topic: str) -> None:
        """Let every run of the task use the topic; only a run to which the topic is new reports it."""
        for worker in self.workers.values():
            task = worker.tasks.get(id)
            if task is not None and not task.stopping and topic not in task.known_topics:
                task.known_topics.add(topic)
                self.post(worker, f"task {id}", TopicSeen(id, task.run, topic))
        self._settle_unless_picked()

    def pass_skip(self, id: TaskId, skip: Skip) -> None:
        """Let the task commit offsets beyond these records."""
        self._tells(id, lambda run: SkipOver(id, run, skip))

    def end(self, name: str, id: TaskId) -> None:
        """End a slow task."""
        worker = self.workers[name]
        if id in worker.tasks:
            self._task_ends(worker, worker.tasks[id])
        self._settle_unless_picked()

    def unblock_reading(self, name: str) -> None:
        self.topics.unblock_reading(name)
        self._settle_unless_picked()

    def pass_time(self, milliseconds: int) -> None:
        self.now += milliseconds
        for worker in self.workers.values():
            self.post(worker, "time", e.Tick())
        self._settle_unless_picked()

    # -- actions of herders

    def _tell(self, worker: Worker, event: Any) -> None:
        if isinstance(event, e.ConfigRead) and event.entries:
            worker.read = event.entries[-1].offset + 1
        for action in worker.herder.handle(event, self.now):
            self._carry_out(worker, action)

    def _carry_out(self, worker: Worker, action: a.Action) -> None:
        match action:
            case a.Answer(number, reply):
                self._answer(worker, number, reply)
            case a.AppendConfig():
                self._later(worker, "writes config", lambda: self.topics.append_config(worker, action))
            case a.AppendStatus(records):
                self._later(worker, "writes status", lambda: self.topics.append_status(records, self.now))
            case a.ReadConfigToEnd(token=token):
                self.topics.read_config_to_end(worker, token)
            case a.ClaimConfigTopic(token=token):
                self.topics.claim_config(worker, token)
            case a.FenceProducers(connector=name, tasks=tasks, token=token):
                self.trace(f"{worker.id}: fences the producers of {tasks} tasks of {name}")
                self.post(worker, f"ask {token}", e.Completed(token))
            case a.WriteOffsets(connector=name, token=token):
                self.trace(f"{worker.id}: writes offsets of {name}")
                self.post(worker, f"ask {token}", e.Completed(token, "written"))
            case a.ExamineSkip(topic=topic, partition=partition, spans=spans, to=to, token=token):
                skips = tuple(Skip(topic, partition, *span, "id", to or "dead-letters") for span in spans)
                self.post(worker, f"ask {token}", e.Completed(token, skips))
            case a.MakeSessionKey(algorithm, size, token=token):
                self.post(worker, f"ask {token}", e.Completed(token, b"k" * key_bytes(algorithm, size)))
            case a.Validate(token=token):
                self.post(worker, f"ask {token}", e.Completed(token))
            case a.CallLeader():
                self._later(worker, f"ask {action.token}", lambda: self._call(worker, action))
            case a.ConfirmMembership(token=token):
                self.post(worker, "group", e.Completed(token, worker.joined))
            case a.Publish(snapshot):
                worker.snapshot = snapshot
            case a.JoinGroup() | a.Rejoin():
                self.group.join(worker)
            case a.LeaveGroup(_, keeps_work):
                self.trace(f"{worker.id}: leaves the group for now")
                self.group.leave(worker, keeps_work)
            case a.Release(done):
                done()
            case a.StartConnector(name, run, _, target) | a.ChangeConnectorState(name, run, target):
                event = worker.connector_is(name, run, target, name in self.broken)
                if event is not None:
                    self.post(worker, f"connector {name}", event)
            case a.StopConnectorRun(name, run):
                self.post(worker, f"connector {name}", e.ConnectorEnded(name, run))
            case a.MakeTaskConfigs(name=name, max_tasks=n, token=token):
                known = worker.herder.work.connectors[name]
                tasks = [{**known.config, "n": str(i)} for i in range(n)]
                made = a.GeneratedTasks(tasks, self.secrets.get(name, "").encode())
                answer = e.Completed(token, made)
                if name in self.without_tasks:
                    self.trace(f"{worker.id}: cannot make tasks of {name}")
                    answer = e.Completed(token, error=ConnectError("the source can't be reached"))
                self.post(worker, f"connector {name}", answer)
            case _:
                self._steer_task(worker, action)

    def _steer_task(self, worker: Worker, action: a.Action) -> None:
        match action:
            case a.StartTask(id, run):
                self.trace(f"{worker.id}: starts {id}")
                assert id not in worker.tasks, f"{worker.id} starts {id}, which still runs there"
                worker.tasks[id] = Task(id, run, set(action.known_topics), skips=action.skips)
                worker.paused.discard(id)
                worker.paused |= {id} if action.paused else set()
                self.confirmations[self.send_quietly(worker, m.ConfirmTask(id, run))] = (worker, worker.tasks[id])
            case a.PauseTask(id):
                worker.paused.add(id)
                if worker.tasks[id].confirmed:
                    self.post(worker, f"task {id}", TaskPaused(id, worker.herder.work.tasks[id].run))
            case a.ResumeTask(id):
                worker.paused.discard(id)
                if worker.tasks[id].confirmed:
                    self.post(worker, f"task {id}", TaskRunning(id, worker.herder.work.tasks[id].run))
            case a.StopTask(id):
                self.trace(f"{worker.id}: stops {id}")
                task = worker.tasks.get(id)  # it may have just ended by itself
                if task is not None and not task.stopping:
                    task.stopping = True
                    if id not in worker.slow:
                        self._task_ends(worker, task)
            case a.SetLogLevel(name, level):
                self.trace(f"{worker.id}: logger {name} {level}")
            case a.ResetTaskTopics(id):
                self.trace(f"{worker.id}: {id} forgets its topics")
                if id in worker.tasks:
                    worker.tasks[id].known_topics.clear()
            case a.Log() | a.ReadOffsets():
                pass
            case _:
                raise AssertionError(f"no worker carries out {action!r}")

    def _task_ends(self, worker: Worker, task: Task) -> None:
        def end() -> None:
            del worker.tasks[task.id]
            worker.under_way.insert(0, (f"task {task.id}", TaskEnded(task.id, task.run)))

        if self.pick is None:
            del worker.tasks[task.id]
            self.post(worker, f"task {task.id}", TaskEnded(task.id, task.run))
        else:
            worker.under_way.append((f"task {task.id}", end))

    def _answer(self, worker: Worker, number: int, reply: m.Reply | m.Elsewhere) -> None:
        assert number not in self.answered, f"request {number} was answered twice"
        self.answered[number] = reply
        if number in self.confirmations:
            self._confirmed(*self.confirmations.pop(number), reply)
            return
        self.replies.append(reply)
        self.trace(f"{worker.id}: {descriptions.reply(reply)}")
        if number in self.calls:
            caller, _, token = self.calls.pop(number)
            refused = isinstance(reply, m.Elsewhere) or reply.status >= 400
            error = ConnectionError(f"the leader answered {descriptions.reply(reply)}") if refused else None
            self.post(caller, f"ask {token}", e.Completed(token, error=error))

    def _confirmed(self, worker: Worker, task: Task, reply: m.Reply | m.Elsewhere) -> None:
        """Let a run begin its work, or end it because it is no longer wanted."""
        if task.stopping:
            return
        if isinstance(reply, m.Reply) and reply.status == 204:
            task.confirmed = True
            event = TaskPaused if task.id in worker.paused else TaskRunning
            self.post(worker, f"task {task.id}", event(task.id, task.run))
        else:
            task.stopping = True
            self.post(worker, f"task {task.id}", TaskLost(task.id, task.run, "It was not confirmed"))
            self._task_ends(worker, task)

    def _call(self, worker: Worker, call: a.CallLeader) -> None:
        """Send a signed request from one worker to another, which is answered when that one has answered."""
        leader = self.workers.get(call.url.removeprefix("http://"))
        if leader is None:
            self.post(worker, f"ask {call.token}", e.Completed(call.token, error=ConnectionError("nobody is there")))
            return
        text = repr(call.body).encode()
        signature = None if call.key is None else sign(call.key, call.algorithm, text)
        signed = m.Signature(text, signature, call.algorithm)
        _, name, what = call.path
        request = m.PutTaskConfigs(name, tuple(call.body), signed) if what == "tasks" else m.FenceTasks(name, signed)
        self.requests += 1
        self.calls[self.requests] = (worker, leader.id, call.token)
        self.post(leader, f"client {self.requests}", e.Submitted(self.requests, request))
