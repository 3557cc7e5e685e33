"""Control plane of a worker as a pure machine: events in, actions out (Java: DistributedHerder and StandaloneHerder).

The worker's loop calls ``handle(event, now)`` for one event after the other and carries out the actions in order; at
the time ``wake_at()`` it calls with ``Tick``. Nothing here sleeps, reads a clock, opens a socket or starts a thread.

A request never changes state. It appends a record to the config topic, and the record changes the state when it is
read back, here as on every other worker. What runs here follows from that state and the group's assignment
(``work``).

This file connects the subjects and sends each event to its subject. A subject has a file of its own and knows only the
subjects that it uses: rebalances (``group.rebalance``, ``group.catch_up``), the leader's writes (``group.leadership``),
requests that read (``requests.reads``) and change (``requests.changes``), restarts (``restart``, ``restart_policy``),
tasks' configurations (``reconfiguration``), offsets (``offsets``), fencing (``exactly_once``), statuses (``status``).
"""

from __future__ import annotations

from typing import assert_never

from penstock.core.exactly_once import FencingBeforeStart, ZombieFencing
from penstock.core.group.catch_up import Backoff, CatchUp, ConfigReader
from penstock.core.group.leadership import Duties, Leadership
from penstock.core.group.membership import (
    CoordinatorFound,
    CoordinatorUnknown,
    Failed,
    GroupEvent,
    Joined,
    Lost,
    Membership,
    PollTimeoutExpired,
    Revoked,
    Stage,
)
from penstock.core.group.rebalance import Rebalancing
from penstock.core.model import actions
from penstock.core.model import messages as m
from penstock.core.model.actions import Action
from penstock.core.model.events import (
    CaughtUp,
    Completed,
    ConfigRead,
    ConnectorEvent,
    Degraded,
    Event,
    ShutDown,
    StatusNotWritten,
    StatusRead,
    Submitted,
    Tick,
)
from penstock.core.model.flow import Output
from penstock.core.model.records import (
    ConfigRecord,
    ConnectorConfig,
    LoggerLevel,
    PolicyRestart,
    RecordSkip,
    RestartRequest,
    SessionKey,
    StatusTopicRecord,
    TargetState,
    TaskConfig,
    TaskCount,
    TasksCommit,
    TopicStatus,
)
from penstock.core.model.settings import HerderSettings, NoPlugins, PluginFacts
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import SparkDied, SparkReady, TaskEvent
from penstock.core.offsets import OffsetRequests, TaskEnds
from penstock.core.reconfiguration import Reconfigurations
from penstock.core.requests.answers import RequestFlows, Requests
from penstock.core.requests.changes import Changes
from penstock.core.requests.inter_worker import Confirmation, InterWorkerRequests
from penstock.core.requests.reads import Reads
from penstock.core.restart import RestartRequests, Restarts
from penstock.core.restart_policy import FailedInstances, RestartPolicy
from penstock.core.session_keys import SessionKeys
from penstock.core.skips import Skips
from penstock.core.status.cleanup import StatusCleanup
from penstock.core.status.events import ConnectorEvents, TaskEvents
from penstock.core.status.health import WorkerHealth
from penstock.core.status.losses import Losses
from penstock.core.status.statuses import Statuses
from penstock.core.status.writer import Author, StatusWriter
from penstock.core.topic_tracking import TopicTracking
from penstock.core.work import Work


class Herder:
    """Herder of one worker.

    Other parts of the worker read ``state``, ``statuses``, ``membership`` and ``work``; only ``handle`` changes them.
    """

    def __init__(self, settings: HerderSettings, plugins: PluginFacts | None = None) -> None:
        self.settings = settings
        self.plugins = plugins = plugins or NoPlugins()
        self.output = output = Output()
        self.state = state = ClusterState()
        self.statuses = statuses = Statuses()
        self.membership = membership = Membership()
        self.work = work = Work(
            state,
            statuses,
            output.emit,
            prepare=lambda name: fencing.prepare(name),
            must_prepare=lambda name: zombies.is_due(name),
        )
        self._deferred: list[Event] = []
        """Events that wait for the end of the restart that is under way."""

        self.leadership = leadership = Leadership(settings, output, state, membership)
        keys = SessionKeys(settings, leadership)
        self.restart_policy = RestartPolicy(settings, leadership, FailedInstances(statuses))
        self._duties = Duties((keys, self.restart_policy))
        self._rebalance = Rebalancing(output, state, membership, work, self._lead)
        reader = ConfigReader(output, state, settings.sync_timeout_ms)
        backoff = Backoff(settings.unsync_backoff_ms, settings.max_delay_ms)
        self._catch_up = CatchUp(output, membership, reader, self._rebalance, backoff, self._handle_when_free)

        self._topics = TopicTracking(settings, output, state, statuses.topics)
        self._writer = writer = StatusWriter(
            output, Author(settings.worker_id, membership), plugins, state, statuses, work
        )
        self._cleanup = cleanup = StatusCleanup(output, state, statuses, membership)
        self._reconfigurations = Reconfigurations(output, state, work, leadership, keys)
        self._connector_events = ConnectorEvents(work, writer, self._reconfigurations)
        self._losses = Losses(output, work, writer)
        self._skips = skips = Skips(output, state)
        self._task_events = TaskEvents(output, work, writer, self._topics, self._losses, skips)
        self._health = WorkerHealth(leadership, work)

        zombies = ZombieFencing(settings, plugins, state, leadership, reader)
        fencing = FencingBeforeStart(output, work, zombies, keys, writer)
        ends = TaskEnds(state, work, leadership)
        self.restarts = Restarts(output, state, work, writer)
        reads = Reads(plugins, state, statuses, self._topics, self._health)
        self._requests = Requests(
            output,
            membership,
            reads,
            RequestFlows(
                Changes(settings, state, work, leadership, cleanup, reads, ends, zombies),
                RestartRequests(settings, state, work, leadership, self.restarts, reads),
                OffsetRequests(state, ends, leadership, reader, zombies),
                InterWorkerRequests(state, leadership, keys, self._reconfigurations, zombies),
                self._topics,
                Confirmation(work, reader, zombies),
                skips,
            ),
            settings.request_timeout_ms,
        )

    # -- the machine

    def handle(self, event: Event, now: int) -> list[Action]:
        """Handle one event at this time (milliseconds, never decreasing) and return the actions to carry out, in order.

        Raises AssertionError for anything but an ``Event``. The state is undefined after an exception: the worker must
        end.
        """
        self.output.set_time(now)
        self._handle_when_free(event)
        self._settle()
        return self.output.take()

    def wake_at(self) -> int | None:
        """Return the time by which ``handle`` must be called, with ``Tick`` if nothing else happens; None: no limit."""
        times = (self.output.flows.next_deadline(), self.membership.rejoin_due)
        return min((t for t in times if t is not None), default=None)

    @property
    def stopped(self) -> bool:
        """Whether everything has ended after ``ShutDown``."""
        stopping = self.membership.stage is Stage.STOPPING
        return stopping and self.work.idle(self.work.connectors) and self.work.idle(self.work.tasks)

    def _handle_when_free(self, event: Event) -> None:
        """Handle the event, or defer it to the end of the restart that is under way."""
        if self.restarts.lane.busy and _waits_for_restarts(event):
            self._deferred.append(event)
        else:
            self._handle(event)

    def _settle(self) -> None:
        """Carry on with whatever the event has made possible, until nothing more follows."""
        while True:
            self.output.flows.advance()
            if self.work.dirty:
                self.work.reconcile()
            elif self.restarts.lane.busy:
                break
            elif self._deferred:
                self._handle(self._deferred.pop(0))
            elif self.membership.stage is not Stage.WORKING or not self.restarts.carry_out_next():
                break
        if self.membership.stage in (Stage.JOINING, Stage.WORKING):
            self._rebalance.follow_layout()

    def _handle(self, event: Event) -> None:
        match event:
            case Submitted(number, request):
                self._requests.answer(number, request)
            case Completed():
                self.output.flows.completed(event)
            case ConfigRead(entries):
                self._read_config(entries)
            case StatusRead(records):
                self._read_status(records)
            case StatusNotWritten(records):
                self.statuses.topics.not_written(records)
            case TaskEvent():
                self._task_events.handle(event)
            case ConnectorEvent():
                self._connector_events.handle(event)
            case Tick():
                self._rebalance.check_delay()
            case CaughtUp():
                self.membership.stage = Stage.JOINING
                self._skips.caught_up()
                self._rebalance.publish()
                self.output.emit(actions.JoinGroup())
            case Degraded(what, reason):
                self._health.degraded(what, reason)
            case SparkReady(queries=queries):
                self._health.spark(queries, None)
            case SparkDied(reason, queries):
                self._health.spark(queries, reason)
            case ShutDown():
                self._leave(Stage.STOPPING)
                self._rebalance.give_up_all(None)
            case _:
                self._handle_group(event)

    def _handle_group(self, event: GroupEvent) -> None:
        match event:
            case Joined():
                self._health.group(None)
                if self.membership.stage is Stage.STOPPING or self.membership.stays_away:
                    return
                if not self._rebalance.joined(event):
                    self.output.start(self._catch_up.until_read(event), what="Catching up with the config topic")
            case Revoked():
                self._rebalance.revoked(event)
            case Lost():
                self._leave(Stage.JOINING)
                self._rebalance.lost(event)
            case PollTimeoutExpired(reason):
                self.output.log("WARNING", reason)
            case CoordinatorUnknown(reason) | Failed(reason):
                self._health.group(reason)
            case CoordinatorFound():
                self._health.group(None)
            case _:
                assert_never(event)

    def _leave(self, stage: Stage) -> None:
        """Leave the stage of a member: deferred rebalances are out of date, revocations are still confirmed."""
        if self.membership.stage is not Stage.STOPPING:
            self.membership.stage = stage
        deferred, self._deferred = self._deferred, []
        for event in deferred:
            if isinstance(event, Revoked):
                self._rebalance.revoked(event)
            elif not isinstance(event, Joined):
                self._deferred.append(event)

    def _lead(self, newly: bool) -> None:
        """Take up the leader's work after a rebalance; ``newly``: this worker did not lead before."""
        if newly:
            self.output.start(self.leadership.lead(self._duties), what="Leading the cluster")
        self._cleanup.clear_all()
        self._reconfigurations.empty_stopped()

    # -- the topics

    def _read_config(self, entries: tuple[ConfigRecord, ...]) -> None:
        for entry in entries:
            self.state.replay(entry)
        has_read = self.membership.has_read
        for entry in entries:
            match entry.record:
                case RestartRequest() as request if has_read:
                    self.restarts.add(request)
                    self.restart_policy.restart_requested(request.connector)
                case PolicyRestart() as restart if has_read:
                    self.restarts.add_chosen(restart)
                case LoggerLevel(name, level) if has_read:
                    self.output.emit(actions.SetLogLevel(name, level))
                case RecordSkip(name, skip, over=False) if has_read:
                    self._skips.stored(name, skip)
                case TasksCommit(name):
                    self._reconfigurations.committed(name)
                case TargetState(name, "STARTED"):
                    self._reconfigurations.resumed(name)
                case ConnectorConfig(name, None):
                    self._topics.deleted(name)
                    self._reconfigurations.forget(name)
                    self._losses.forget(name)
                    self.restart_policy.forget(name)
                    if has_read:
                        self._skips.deleted(name)
                case ConnectorConfig() | TargetState() | RestartRequest() | PolicyRestart() | LoggerLevel():
                    pass
                case TaskConfig() | TaskCount() | SessionKey() | RecordSkip() | None:
                    pass
                case _:
                    assert_never(entry.record)
        if self.membership.is_leader:
            self._reconfigurations.empty_stopped()
        self.restart_policy.configuration_changed()
        self.work.dirty = True

    def _read_status(self, records: tuple[StatusTopicRecord, ...]) -> None:
        for record in records:
            self.statuses.replay(record)
            self.restart_policy.read(record)
            if not isinstance(record, TopicStatus):
                self._writer.restore(record)
            elif record.task is None:
                self.work.reset_topics(record.connector)
        self._cleanup.clear_late(records)


def _waits_for_restarts(event: Event) -> bool:
    if isinstance(event, Submitted):
        return not isinstance(event.request, m.ReadRequest | m.ConfirmTask)
    return isinstance(event, Joined | Revoked)
