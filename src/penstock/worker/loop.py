"""The worker's one loop: take an event, let the herder decide, carry out its actions in order.

Everything that happens to a worker (a client's request, a record of an internal topic, a rebalance, a task's report) is
put on one queue and handled on one thread; nothing that may block is done there. Long operations are handed to
``background`` and come back as events.

An exception here is a fault of Penstock's. The herder's state may then be half changed and its actions half carried
out, so the loop ends, and with it the worker.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, assert_never

from penstock.core.group.membership import ClusterConfigSnapshot
from penstock.core.herder import Herder
from penstock.core.model import actions as a
from penstock.core.model.events import Completed, LoopEvent, ShutDown, Submitted, Tick
from penstock.core.model.local_requests import LocalRequest
from penstock.core.model.messages import Elsewhere, HerderRequest, Refused, Reply
from penstock.core.model.records import ConfigTopicRecord, StatusTopicRecord
from penstock.core.model.tasks import OffsetsReported, SparkFigures, TaskMetrics
from penstock.worker.background import Background
from penstock.worker.connectors.connectors import Connectors
from penstock.worker.local import LocalAnswers
from penstock.worker.task_launcher import TaskLauncher

log = logging.getLogger(__name__)

IDLE_S = 1.0
"""Maximum wait for an event; the group's heartbeats depend on it."""

Done = Callable[[BaseException | None], None]


class Foundation(Protocol):
    """Internal topics and group: ``distributed.KafkaFoundation`` or ``standalone.MemoryFoundation``. Never blocks."""

    def append_config(self, records: tuple[ConfigTopicRecord, ...], as_leader: bool, done: Done) -> None: ...
    def read_config_to_end(self, done: Done) -> None: ...
    def claim(self, done: Done) -> None: ...
    def append_status(self, records: Sequence[StatusTopicRecord]) -> None: ...
    def join(self) -> None: ...
    def publish(self, snapshot: ClusterConfigSnapshot) -> None: ...
    def rejoin(self, reason: str) -> None: ...
    def leave_for_now(self, reason: str, keeps_work: bool) -> None: ...
    def confirm(self, done: Callable[[bool], None]) -> None: ...
    def tick(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts that carry out actions."""

    foundation: Foundation
    connectors: Connectors
    tasks: TaskLauncher
    background: Background
    local: LocalAnswers
    set_log_level: Callable[[str, str], None]
    store_offsets: Callable[[OffsetsReported], None]
    observe: Callable[[LoopEvent], None]


class Loop:
    """``deliver`` and ``submit`` may be called from any thread; all else happens on the loop's own."""

    def __init__(self, herder: Herder, failed: Callable[[Exception], None]) -> None:
        """``failed`` is called once, by the loop, if it ends with an exception."""
        self._herder, self._failed = herder, failed
        self._events: queue.SimpleQueue[LoopEvent] = queue.SimpleQueue()
        self._answers: dict[int, Future[Reply | Elsewhere]] = {}
        self._numbers = 0
        self._lock = threading.Lock()
        self._started = time.time() - time.monotonic()
        self._ended = threading.Event()
        self._error: Exception | None = None
        self._parts: Parts | None = None
        self._thread = threading.Thread(target=self._run, name="worker", daemon=True)

    def start(self, parts: Parts) -> None:
        self._parts = parts
        self._thread.start()

    def deliver(self, event: LoopEvent) -> None:
        self._events.put(event)

    def submit(self, request: LocalRequest | HerderRequest) -> Future[Reply | Elsewhere]:
        """Return the future of the reply to a request."""
        future: Future[Reply | Elsewhere] = Future()
        if isinstance(request, LocalRequest):
            assert self._parts is not None
            self._parts.local.answer(request, future)
            return future
        with self._lock:
            self._numbers += 1
            number = self._numbers
            self._answers[number] = future
            failed = self._error is not None
        if failed:
            self._refuse_all()
        else:
            self._events.put(Submitted(number, request))
        return future

    def shut_down(self, timeout: float) -> bool:
        """Stop everything that runs here; True if all of it ended within the time (seconds)."""
        self._events.put(ShutDown())
        return self._ended.wait(timeout) and self._error is None

    def _now(self) -> int:
        return int((self._started + time.monotonic()) * 1000)

    def _run(self) -> None:
        try:
            self._handle_events()
        except Exception as error:
            log.critical("The worker's loop has failed; the worker is stopping", exc_info=error)
            with self._lock:
                self._error = error
            self._refuse_all()
            self._ended.set()
            self._failed(error)

    def _refuse_all(self) -> None:
        with self._lock:
            answers, self._answers = self._answers, {}
        for future in answers.values():
            future.set_result(Refused(500, "The worker has failed and is stopping").reply())

    def _handle_events(self) -> None:
        assert self._parts is not None
        while True:
            wake = self._herder.wake_at()
            wait = IDLE_S if wake is None else min(max((wake - self._now()) / 1000, 0), IDLE_S)
            try:
                event: LoopEvent = self._events.get(timeout=wait) if wait else self._events.get_nowait()
            except queue.Empty:
                event = Tick()
            self._parts.foundation.tick()
            self._turn(event)
            if self._herder.stopped:
                self._ended.set()

    def _turn(self, event: LoopEvent) -> None:
        assert self._parts is not None
        if isinstance(event, OffsetsReported):
            self._parts.store_offsets(event)
            return
        if isinstance(event, (TaskMetrics, SparkFigures)):
            self._parts.observe(event)
            return
        self._parts.observe(event)
        for action in self._herder.handle(event, self._now()):
            try:
                self._carry_out(action, self._parts)
            except Exception as error:
                if not isinstance(action, a.Ask):
                    raise
                log.exception("The worker could not carry out %s", type(action).__name__)  # it may hold passwords
                self.deliver(Completed(action.token, error=error))

    def _carry_out(self, action: a.Action, parts: Parts) -> None:
        match action:
            case a.Answer(number, reply):
                with self._lock:
                    future = self._answers.pop(number)
                future.set_result(reply)
            case a.AppendConfig(records=records, as_leader=as_leader, token=token):
                parts.foundation.append_config(records, as_leader, self._completes(token))
            case a.ReadConfigToEnd(token=token):
                parts.foundation.read_config_to_end(self._completes(token))
            case a.ClaimConfigTopic(token=token):
                parts.foundation.claim(self._completes(token))
            case a.AppendStatus(records):
                parts.foundation.append_status(records)
            case a.JoinGroup():
                parts.foundation.join()
            case a.Publish(snapshot):
                parts.foundation.publish(snapshot)
            case a.Rejoin(reason):
                parts.foundation.rejoin(reason)
            case a.LeaveGroup(reason, keeps_work):
                parts.foundation.leave_for_now(reason, keeps_work)
            case a.ConfirmMembership(token=token):
                parts.foundation.confirm(lambda member: self.deliver(Completed(token, member)))
            case a.Release(done):
                done()
            case a.StartConnector(name, run, config, target):
                parts.connectors.start(name, run, config, target)
            case a.ChangeConnectorState(_, run, target):
                parts.connectors.change_state(run, target)
            case a.StopConnectorRun(_, run):
                parts.connectors.stop(run)
            case a.MakeTaskConfigs(run=run, max_tasks=max_tasks, token=token):
                parts.connectors.make_task_configs(token, run, max_tasks)
            case a.StartTask():
                parts.tasks.start(action)
            case a.PauseTask(id):
                parts.tasks.pause(id)
            case a.ResumeTask(id):
                parts.tasks.resume(id)
            case a.StopTask(id):
                parts.tasks.stop(id)
            case a.ResetTaskTopics(id):
                parts.tasks.reset_topics(id)
            case a.SetLogLevel(name, level):
                parts.set_log_level(name, level)
            case a.Log(level, text):
                log.log(getattr(logging, level), "%s", text)
            case (
                a.Validate()
                | a.FenceProducers()
                | a.ReadOffsets()
                | a.WriteOffsets()
                | a.ExamineSkip()
                | a.CallLeader()
                | a.MakeSessionKey()
            ):
                parts.background.do(action)
            case _:
                assert_never(action)

    def _completes(self, token: int) -> Done:
        def done(error: BaseException | None) -> None:
            self.deliver(Completed(token, error=error))

        return done
