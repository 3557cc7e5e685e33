"""The control plane of a worker as a pure machine: events in, actions out (Java: DistributedHerder and
StandaloneHerder).

The worker's loop calls ``handle(event, now)`` for one event after the other and carries out the actions in order; it
calls with ``Tick`` when ``wake_at()`` says so. Nothing here sleeps, reads a clock, opens a socket or starts a thread.

A request never changes state. It appends a record to the config topic, and the record changes the state when it is
read back, here as on every other worker. What runs here follows from that state and the group's assignment
(``work``). Each subject has a file: rebalances (``rebalance``), requests that read (``reads``) and change
(``changes``), restarts (``restarting``), tasks' configurations (``reconfiguration``), offsets (``offsets``), fencing
(``exactly_once``), what is told of connectors and tasks (``happenings``).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from penstock.core import reconfiguration, restarting
from penstock.core.exactly_once import Fencing, fence_before_start
from penstock.core.group import rebalance
from penstock.core.group.membership import Assignment, Joined, Lost, PollTimeoutExpired, Revoked
from penstock.core.group.rebalance import Place
from penstock.core.model import actions
from penstock.core.model.actions import Action
from penstock.core.model.events import (
    CaughtUp,
    Completed,
    ConfigRead,
    ConnectorEvent,
    ShutDown,
    StatusRead,
    Submitted,
    Tick,
)
from penstock.core.model.flow import Done, Flow, Flows, Lane
from penstock.core.model.messages import Elsewhere, ReadRequest, Reply
from penstock.core.model.records import (
    ConfigRecord,
    ConnectorConfig,
    LoggerLevel,
    RestartRequest,
    StatusTopicRecord,
    TasksCommit,
    TopicStatus,
)
from penstock.core.model.state import ClusterState
from penstock.core.model.tasks import TaskEvent
from penstock.core.requests import answers
from penstock.core.restart import PendingRestarts
from penstock.core.status import cleanup
from penstock.core.status.events import on_connector, on_status, on_task
from penstock.core.status.health import Health
from penstock.core.status.statuses import Statuses
from penstock.core.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class HerderSettings:
    """What the herder must know of the worker's configuration; times in milliseconds."""

    worker_id: str
    topic_tracking: bool = True
    allow_topics_reset: bool = True
    exactly_once: bool = False
    """``exactly.once.source.support`` is ``enabled``."""
    fenced_writes: bool = False
    """It is ``enabled`` or ``preparing``: only a leader that has claimed the config topic can write there."""
    distributed: bool = True
    sync_timeout_ms: int = 3_000
    unsync_backoff_ms: int = 300_000
    max_delay_ms: int = 300_000
    """``scheduled.rebalance.max.delay.ms``."""
    patience_ms: int = 10_000
    """How long a request waits for a rebalance to end before it is answered 409."""
    request_timeout_ms: int = 90_000
    key_ttl_ms: int = 3_600_000
    key_algorithm: str = "HmacSHA256"
    key_size: int | None = None
    signature_algorithm: str = "HmacSHA256"
    verification_algorithms: tuple[str, ...] = ("HmacSHA256",)


class PluginFacts(Protocol):
    """What the herder asks about the classes that configurations name."""

    def kind(self, config: Mapping[str, str] | None) -> str:
        """``source``, ``sink``, or ``unknown`` for a class that is not there."""

    def version(self, config: Mapping[str, str]) -> str | None: ...


class NoPlugins:
    """None of the classes is there."""

    def kind(self, config: Mapping[str, str] | None) -> str:
        return "unknown"

    def version(self, config: Mapping[str, str]) -> str | None:
        return None


class Phase(enum.Enum):
    CATCHING_UP = "catching up"
    """Reading the internal topics for the first time."""
    JOINING = "joining"
    """Waiting for the group; nothing runs."""
    WORKING = "working"
    STOPPING = "stopping"


@dataclass(slots=True)
class Herder:
    settings: HerderSettings
    plugins: PluginFacts = field(default_factory=NoPlugins)
    now: int = 0
    phase: Phase = Phase.CATCHING_UP
    state: ClusterState = field(default_factory=ClusterState)
    statuses: Statuses = field(default_factory=Statuses)
    place: Place = field(default_factory=Place)
    work: Work = field(init=False)
    restarts: PendingRestarts = field(default_factory=lambda: PendingRestarts({}))
    restarting: Lane = field(default_factory=Lane)
    """While a restart is being carried out, changes and assignments wait (KIP-745)."""
    changing: Lane = field(default_factory=Lane)
    """The leader decides on a change and writes it before it decides on the next one."""
    fencing: Fencing = field(default_factory=Fencing)
    health: Health = field(default_factory=Health)
    flows: Flows = field(init=False)
    _out: list[Action] = field(default_factory=list)
    _deferred: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.flows = Flows(self.emit)
        self.work = Work(
            self.state,
            self.statuses,
            self.emit,
            prepare=lambda name: fence_before_start(self, name),
            must_prepare=lambda name: (
                self.settings.exactly_once
                and name in self.state.pending_fencing
                and self.plugins.kind(self.state.connectors[name].config) == "source"
            ),
        )

    # -- the machine

    def handle(self, event: object, now: int) -> list[Action]:
        """Take one event at this time (milliseconds, never going back) and say what is to be done now, in order."""
        self.now = self.flows.now = now
        self.handle_when_free(event)
        self._settle()
        actions_now, self._out = self._out, []
        return actions_now

    def wake_at(self) -> int | None:
        """When ``handle`` must be called at the latest, with ``Tick`` if nothing else happens; None: whenever."""
        return min((t for t in (self.flows.next_deadline(), self.place.rejoin_due) if t is not None), default=None)

    @property
    def stopped(self) -> bool:
        """After ``ShutDown``: everything has ended."""
        return self.phase is Phase.STOPPING and self.work.idle(self.work.connectors) and self.work.idle(self.work.tasks)

    def handle_when_free(self, event: object) -> None:
        """Handle it, or keep it until the restart that is under way is over."""
        if self.restarting.busy and _waits_for_restarts(event):
            self._deferred.append(event)
        else:
            self._handle(event)

    def _settle(self) -> None:
        """Follow up what the event has changed, until nothing more follows."""
        while True:
            self.flows.advance()
            if self.work.dirty:
                self.work.reconcile()
            elif self.restarting.busy:
                break
            elif self._deferred:
                self._handle(self._deferred.pop(0))
            elif self.phase is Phase.WORKING and (request := self.restarts.take()) is not None:
                restarting.carry_out(self, request)
            else:
                break
        if self.phase in (Phase.JOINING, Phase.WORKING):
            rebalance.follow_layout(self)

    def _handle(self, event: object) -> None:
        self.health.follow(event)
        match event:
            case Submitted(number, request):
                answers.answer(self, number, request)
            case Completed():
                self.flows.completed(event)
            case ConfigRead(entries):
                self._read_config(entries)
            case StatusRead(records):
                self._read_status(records)
            case TaskEvent():
                on_task(self, event)
            case ConnectorEvent():
                on_connector(self, event)
            case Tick():
                rebalance.look_at_time(self)
            case CaughtUp():
                self.phase = Phase.JOINING
                rebalance.publish(self)
                self.emit(actions.JoinGroup())
            case Joined() if self.phase is not Phase.STOPPING:
                rebalance.joined(self, event)
            case Revoked():
                rebalance.revoked(self, event)
            case Lost():
                self._leave(Phase.JOINING)
                rebalance.lost(self, event)
            case PollTimeoutExpired(reason):
                self.log("WARNING", reason)
            case ShutDown():
                self._leave(Phase.STOPPING)
                rebalance.give_up_all(self, None)

    def _leave(self, phase: Phase) -> None:
        """What the group has told and was kept until a restart is over is out of date; it only waits to be released."""
        if self.phase is not Phase.STOPPING:
            self.phase = phase
        kept, self._deferred = self._deferred, []
        for event in kept:
            if isinstance(event, Revoked):
                rebalance.revoked(self, event)
            elif not isinstance(event, Joined):
                self._deferred.append(event)

    # -- the topics

    def _read_config(self, entries: tuple[ConfigRecord, ...]) -> None:
        for entry in entries:
            self.state.replay(entry)
        for entry in entries:
            match entry.record:
                case RestartRequest() as request if self.has_read:
                    self.restarts.add(request)
                case LoggerLevel(name, level) if self.has_read:
                    self.emit(actions.SetLogLevel(name, level))
                case TasksCommit(name):
                    reconfiguration.committed(self, name)
                case ConnectorConfig(name, None):
                    if in_vain := self.statuses.topics.written_in_vain(name):
                        self.emit(actions.AppendStatus(tuple(in_vain)))
        if self.is_leader:
            reconfiguration.empty_stopped(self)
        self.work.dirty = True

    def _read_status(self, records: tuple[StatusTopicRecord, ...]) -> None:
        for record in records:
            self.statuses.replay(record)
            if isinstance(record, TopicStatus):
                if record.task is None:
                    self._topics_were_reset(record.connector)
            else:
                on_status(self, record)
        cleanup.clear_late(self, records)

    def _topics_were_reset(self, connector: str) -> None:
        """Its tasks here are to report their topics anew."""
        for id in self.work.tasks:
            if id.connector == connector:
                self.emit(actions.ResetTaskTopics(id))

    # -- what the subjects use

    def emit(self, action: Action) -> None:
        self._out.append(action)

    def log(self, level: str, text: str) -> None:
        self.emit(actions.Log(level, text))

    def reply(self, number: int, reply: Reply | Elsewhere) -> None:
        self.emit(actions.Answer(number, reply))

    def start(self, flow: Flow, done: Done | None = None, what: str = "") -> None:
        """Begin a flow. Without ``done`` its failure is logged as that of ``what``."""

        def log_failure(_: object, error: BaseException | None) -> None:
            if error is not None:
                self.log("ERROR", f"{what} failed: {error}")

        self.flows.start(flow, done or log_failure)

    def joined(self) -> None:
        """There is a good assignment."""
        self.phase = Phase.WORKING

    @property
    def has_read(self) -> bool:
        """Whether the state is that of the topics, and not of a part of them."""
        return self.phase is not Phase.CATCHING_UP

    @property
    def assignment(self) -> Assignment | None:
        return self.place.assignment

    @property
    def generation(self) -> int:
        return self.place.generation

    @property
    def is_leader(self) -> bool:
        assignment = self.place.assignment
        return assignment is not None and assignment.leader == self.place.member_id

    @property
    def leader_url(self) -> str | None:
        return None if self.place.assignment is None else self.place.assignment.leader_url

    def ready_to_lead(self) -> bool:
        """Whether requests can be decided on, here or at a leader that is known."""
        if self.place.assignment is None or self.phase is not Phase.WORKING:
            return False
        return not self.is_leader or self.place.claimed or not self.settings.fenced_writes

    def restart_is_due(self, connector: str) -> bool:
        return self.restarting.busy or connector in self.restarts.requests

    def settled(self) -> bool:
        """Whether everything that is to be distributed has been: no rebalance is due for that."""
        assignment = self.place.assignment
        if self.phase is not Phase.WORKING or assignment is None:
            return False
        return self.state.layout_position <= assignment.offset


def _waits_for_restarts(event: object) -> bool:
    match event:
        case Submitted(_, request):
            return not isinstance(request, ReadRequest)
        case Joined() | Revoked():
            return True
    return False
