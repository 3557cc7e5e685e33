"""The control plane of a worker as a pure machine: events in, actions out (Java: DistributedHerder and
StandaloneHerder).

The worker's loop calls ``handle(event, now)`` for one event after the other and carries out the actions in order; it
calls with ``Tick`` when ``wake_at()`` says so. Nothing here sleeps, reads a clock, opens a socket or starts a thread.

A request never changes state. It appends a record to the config topic, and the record changes the state when it is
read back, here as on every other worker. What runs here follows from that state and the group's assignment
(``work``). Each subject has a file: reading requests (``reads``), changes (``changes``), restarts (``restarting``),
offsets (``offsets``), fencing (``exactly_once``).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core import actions, reconfiguration, requests, restarting
from penstock.core.actions import Action
from penstock.core.events import CaughtUp, Completed, ConfigRead, ConnectorEvent, ShutDown, StatusRead, Submitted, Tick
from penstock.core.exactly_once import Fencing, fence_before_start
from penstock.core.flow import Done, Flow, Flows, Until
from penstock.core.group.membership import Assignment, Joined, Lost, Owners, PollTimeoutExpired, Revoked
from penstock.core.happenings import on_connector, on_task
from penstock.core.messages import Elsewhere, ReadRequest, Reply
from penstock.core.records import LoggerLevel, RestartRequest, TopicStatus
from penstock.core.restart import PendingRestarts
from penstock.core.rotation import keep_session_key
from penstock.core.state import ClusterState
from penstock.core.statuses import Statuses
from penstock.core.tasks import SparkDied, SparkReady, TaskEvent, TaskId
from penstock.core.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class HerderSettings:
    """What the herder must know of the worker's configuration; times in milliseconds."""

    worker_id: str
    topic_tracking: bool = True
    allow_topics_reset: bool = True
    exactly_once: bool = False
    distributed: bool = True
    sync_timeout_ms: int = 3_000
    patience_ms: int = 10_000
    """How long a request waits for a rebalance to end before it is answered 409."""
    request_timeout_ms: int = 90_000
    key_ttl_ms: int = 3_600_000
    key_algorithm: str = "HmacSHA256"
    key_size: int | None = None
    signature_algorithm: str = "HmacSHA256"
    verification_algorithms: tuple[str, ...] = ("HmacSHA256",)


class PluginFacts:
    """What the herder asks about the classes that configurations name; the worker gives a real one."""

    def kind(self, config: Mapping[str, str] | None) -> str:
        """``source``, ``sink``, or ``unknown`` for a class that is not there."""
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
    plugins: PluginFacts = field(default_factory=PluginFacts)
    now: int = 0
    phase: Phase = Phase.CATCHING_UP
    state: ClusterState = field(default_factory=ClusterState)
    statuses: Statuses = field(default_factory=Statuses)
    restarts: PendingRestarts = field(default_factory=lambda: PendingRestarts({}))
    member_id: str = ""
    generation: int = -1
    assignment: Assignment | None = None
    """The last good one; None while there is none, or contact with the group is lost."""
    owners: Owners | None = None
    claimed: bool = False
    """Exactly once: this leader's writes to the config topic fence all others' (KIP-618)."""
    fencing: Fencing = field(default_factory=Fencing)
    exclusive: bool = False
    """A restart is being carried out: changes and assignments wait (KIP-745)."""
    work: Work = field(init=False)
    flows: Flows = field(init=False)
    _out: list[Action] = field(default_factory=list)
    _deferred: list[object] = field(default_factory=list)
    _rejoin_asked_at: int = -1
    _rejoin_due: int | None = None
    _published: int = -1

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
        self._handle(event)
        self._settle()
        actions_now, self._out = self._out, []
        return actions_now

    def wake_at(self) -> int | None:
        """When ``handle`` must be called at the latest, with ``Tick`` if nothing else happens; None: whenever."""
        return min((t for t in (self.flows.next_deadline(), self._rejoin_due) if t is not None), default=None)

    def emit(self, action: Action) -> None:
        self._out.append(action)

    def log(self, level: str, text: str) -> None:
        self.emit(actions.Log(level, text))

    def start(self, flow: Flow, done: Done | None = None, what: str = "") -> None:
        """Begin a flow. Without ``done`` its failure is logged as that of ``what``."""

        def log_failure(_: object, error: BaseException | None) -> None:
            if error is not None:
                self.log("ERROR", f"{what} failed: {error}")

        self.flows.start(flow, done or log_failure)

    def _settle(self) -> None:
        """Follow up what the event has changed, until nothing more follows."""
        while True:
            self.flows.advance()
            self.work.reconcile()
            if not self.work.dirty and (self.exclusive or not self._deferred):
                break
            if not self.exclusive and self._deferred:
                self._handle(self._deferred.pop(0))
        self._follow_layout()
        if not self.exclusive and self.phase is Phase.WORKING and (request := self.restarts.take()) is not None:
            restarting.carry_out(self, request)
            self._settle()

    def _handle(self, event: object) -> None:
        if self.exclusive and self._must_wait(event):
            self._deferred.append(event)
            return
        match event:
            case Submitted(number, request):
                requests.answer(self, number, request)
            case Completed():
                self.flows.completed(event)
            case ConfigRead(entries):
                self._read_config(entries)
            case StatusRead(records):
                for record in records:
                    self.statuses.replay(record)
                    if isinstance(record, TopicStatus) and record.task is None:
                        self._topics_were_reset(record.connector)
            case TaskEvent():
                on_task(self, event)
            case ConnectorEvent():
                on_connector(self, event)
            case SparkDied() | SparkReady() | Tick():
                self._look_at_time()
            case CaughtUp():
                self.phase = Phase.JOINING
                self._publish()
                self.emit(actions.JoinGroup())
            case Joined():
                self._joined(event)
            case Revoked(_, connectors, tasks, done):
                self._give_up(connectors, tasks, done)
            case Lost(reason, _, _, done):
                self.log("WARNING", f"Contact with the worker group is lost: {reason}; everything that runs here stops")
                self.assignment, self.owners, self.claimed = None, None, False
                self.phase = Phase.JOINING if self.phase is Phase.WORKING else self.phase
                self._give_up(tuple(self.work.assigned_connectors), tuple(self.work.assigned_tasks), done)
            case PollTimeoutExpired(reason):
                self.log("WARNING", reason)
            case ShutDown():
                self.phase = Phase.STOPPING
                self._give_up(tuple(self.work.assigned_connectors), tuple(self.work.assigned_tasks), None)

    def _must_wait(self, event: object) -> bool:
        match event:
            case Submitted(_, request):
                return not isinstance(request, ReadRequest)
            case Joined() | Revoked():
                return True
        return False

    # -- the config topic

    def _read_config(self, entries: tuple[object, ...]) -> None:
        for entry in entries:
            self.state.replay(entry)  # type: ignore[arg-type]
            match entry.record:  # type: ignore[attr-defined]
                case RestartRequest() as request if self.phase is not Phase.CATCHING_UP:
                    self.restarts.add(request)
                case LoggerLevel(name, level):
                    self.emit(actions.SetLogLevel(name, level))
        self.work.dirty = True

    def _follow_layout(self) -> None:
        """Tell the group of what there is to distribute; ask for a rebalance if that has changed since the last one."""
        if self.phase in (Phase.CATCHING_UP, Phase.STOPPING):
            return
        if self.state.position != self._published:
            self._publish()
        layout = self.state.layout_position
        if self.assignment is not None and layout > max(self.assignment.offset, self._rejoin_asked_at):
            self._rejoin_asked_at = layout
            self.emit(actions.Rejoin("the connectors or their tasks have changed"))

    def _publish(self) -> None:
        self._published = self.state.position
        self.emit(actions.Publish(self.state.snapshot()))

    # -- the group

    @property
    def is_leader(self) -> bool:
        return self.assignment is not None and self.assignment.leader == self.member_id

    @property
    def leader_url(self) -> str | None:
        return None if self.assignment is None else self.assignment.leader_url

    def _joined(self, event: Joined) -> None:
        if self.phase is Phase.STOPPING:
            return
        was_leader = self.is_leader
        self.member_id, self.generation = event.member_id, event.generation
        assignment = event.assignment
        if assignment.failed or assignment.offset > self.state.position:
            self.start(self._catch_up(event), what="Catching up with the config topic")
            return
        self.assignment, self.owners = assignment, event.owners
        self.phase = Phase.WORKING
        self._rejoin_asked_at = -1
        self._rejoin_due = self.now + assignment.delay_ms if assignment.delay_ms > 0 else None
        self.work.assign(assignment)
        if assignment.revoked_connectors or assignment.revoked_tasks:
            self.emit(actions.Rejoin("what was revoked is free to be assigned elsewhere"))
        self.log("INFO", _summary(event))
        self._forget_deleted()
        if self.is_leader and not was_leader:
            self.start(keep_session_key(self), what="Keeping a session key")

    def _catch_up(self, event: Joined) -> Flow:
        """Read what the leader has read already; then take the assignment, or join again."""
        target = event.assignment.offset
        try:
            yield actions.ReadConfigToEnd()
            yield Until(lambda: self.state.position >= target, self.settings.sync_timeout_ms, "")
        except Exception as error:
            self.log("WARNING", f"The config topic could not be read up to its end: {error}; joining the group again")
        self._publish()
        if event.assignment.failed or self.state.position < target:
            self.emit(actions.Rejoin("this worker has caught up with the config topic"))
        elif event.generation == self.generation:
            self._joined(event)

    def _give_up(self, connectors: tuple[str, ...], tasks: tuple[TaskId, ...], done: Callable[[], None] | None) -> None:
        """Stop these, then let the group go on."""
        self.work.revoke(connectors, tasks)

        def flow() -> Flow:
            yield Until(lambda: self.work.idle(connectors) and self.work.idle(tasks), 2**53, "")
            if done is not None:
                self.emit(actions.Release(done))

        self.start(flow(), what="Stopping what was revoked")

    def _look_at_time(self) -> None:
        if self._rejoin_due is not None and self.now >= self._rejoin_due:
            self._rejoin_due = None
            self.emit(actions.Rejoin("the delay of the scheduled rebalance is over"))

    @property
    def has_read(self) -> bool:
        """Whether the state is that of the topics, and not of a part of them."""
        return self.phase is not Phase.CATCHING_UP

    def ready_to_lead(self) -> bool:
        """Whether requests can be decided on, here or at a leader that is known."""
        if self.assignment is None or self.phase is not Phase.WORKING:
            return False
        return not self.is_leader or self.claimed or not self.settings.exactly_once

    def _topics_were_reset(self, connector: str) -> None:
        """Its tasks here are to report their topics anew."""
        for id in self.work.tasks:
            if id.connector == connector:
                self.emit(actions.ResetTaskTopics(id))

    def _forget_deleted(self) -> None:
        """The leader clears what is left in the status topic of connectors and tasks that are gone."""
        if self.is_leader:
            requests.forget_gone(self)

    def reply(self, number: int, reply: Reply | Elsewhere) -> None:
        self.emit(actions.Answer(number, reply))

    @property
    def stopped(self) -> bool:
        """After ``ShutDown``: everything has ended."""
        return self.phase is Phase.STOPPING and self.work.idle(self.work.connectors) and self.work.idle(self.work.tasks)

    def reconfigure(self, name: str) -> None:
        reconfiguration.request(self, name)


def _summary(event: Joined) -> str:
    a = event.assignment
    return (
        f"Joined the group in generation {event.generation} as {'leader' if event.leader else 'follower'} of "
        f"{a.leader_url or 'itself'}: {len(a.connectors)} connectors, {len(a.tasks)} tasks"
    )
