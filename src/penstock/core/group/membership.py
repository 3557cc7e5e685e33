"""Membership of a worker in its group: members, assignments, the group's events, and the state that a worker keeps.

The group protocol (KIP-415, Java's ``WorkerCoordinator`` and ``WorkerRebalanceListener``) is in ``kafka.group``; the
leader's decisions are made by ``core.group.assignment``. Both exchange these dataclasses with the worker's loop.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core.model.tasks import TaskId

EAGER, COMPATIBLE, SESSIONED = range(3)
"""Versions of the protocol; the group uses the lowest that one of its members speaks."""

NO_ERROR = 0
CONFIG_MISMATCH = 1  # the leader knows less of the config topic than another member: catch up and join again


@dataclass(frozen=True, slots=True)
class ClusterConfigSnapshot:
    """Connectors and tasks that the leader distributes: the config topic's state at ``offset``.

    ``connectors`` maps each connector to the number of its tasks, 0 where their configurations are incomplete.
    """

    offset: int
    connectors: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Connectors and tasks that a member should run (Java: ExtendedAssignment).

    From the leader, ``connectors`` and ``tasks`` are only those that are new to the member (all of them in the eager
    protocol); in a worker's own state, and in ``Joined``, they are all that the member runs. ``delay_ms`` is the time
    until the member should join again, 0 for none. A failed assignment (``error`` is not 0) changes nothing.
    """

    connectors: tuple[str, ...] = ()
    tasks: tuple[TaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[TaskId, ...] = ()
    delay_ms: int = 0
    leader: str = ""
    leader_url: str = ""
    offset: int = -1
    error: int = NO_ERROR
    version: int = 2

    @property
    def failed(self) -> bool:
        return self.error != NO_ERROR


@dataclass(frozen=True, slots=True)
class Member:
    """Worker as the leader sees it at the start of a rebalance; ``assignment`` is None if it was assigned nothing."""

    id: str
    url: str
    offset: int
    assignment: Assignment | None = None


@dataclass(frozen=True, slots=True)
class Owners:
    """REST URLs of the workers that run connectors and tasks, known only to the leader."""

    connectors: Mapping[str, str] = field(default_factory=dict)
    tasks: Mapping[TaskId, str] = field(default_factory=dict)
    workers: tuple[str, ...] = ()
    """URLs of all workers, also of those that run nothing."""
    revoked: tuple[TaskId, ...] = ()
    """Tasks that this rebalance takes from members: they have ended when the next one completes, not before."""


# The group's events. All are delivered from the group's thread, in the order in which they happened.


@dataclass(frozen=True, slots=True)
class Revoked:
    """Stop these connectors and tasks, then call ``done()``, once, from any thread.

    Comes before the ``Joined`` that revokes them (incremental protocols), or before the worker joins a rebalance
    (eager: everything it runs). The member neither joins nor delivers anything else about assignments until ``done``
    is called; it leaves the group if that takes longer than ``rebalance.timeout.ms``.
    """

    leader: str
    connectors: tuple[str, ...]
    tasks: tuple[TaskId, ...]
    done: Callable[[], None] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Lost:
    """Contact with the group is lost: stop everything, since others may soon be assigned it; then call ``done()``.

    The member joins again, with nothing assigned, once ``done`` has been called and the group can be reached.
    """

    reason: str
    connectors: tuple[str, ...]
    tasks: tuple[TaskId, ...]
    done: Callable[[], None] = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Joined:
    """A rebalance has completed; ``assignment`` is everything to run from now on, if it has not failed.

    ``owners`` is there for the leader only; with ``protocol_version`` 2 requests between workers are signed. As in Java
    the worker answers with ``request_rejoin``: after catching up with the config topic if the assignment failed (until
    then no rebalance is joined) or its offset is another than the worker's; after starting its work if anything was
    revoked; and when ``delay_ms`` is over.
    """

    generation: int
    member_id: str
    protocol_version: int
    assignment: Assignment
    leader: bool
    owners: Owners | None = None


@dataclass(frozen=True, slots=True)
class PollTimeoutExpired:
    """The worker has not ticked, or not confirmed a revocation, within ``rebalance.timeout.ms``: it has left the group.

    What it runs stays its own until the leader's delay is over; the member joins again once the worker ticks.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class CoordinatorUnknown:
    """The group's coordinator cannot be found, for this reason; the search is retried. Sent once per outage."""

    reason: str


@dataclass(frozen=True, slots=True)
class CoordinatorFound:
    """The coordinator is known. Sent after the start, and after each ``CoordinatorUnknown``."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Kafka refuses the member (authorization, an unknown protocol, a session timeout out of its range).

    ``reason`` is a sentence. Joining is retried at intervals, since an operator may correct the cause.
    Sent once for each new reason.
    """

    reason: str


GroupEvent = Revoked | Lost | Joined | PollTimeoutExpired | CoordinatorUnknown | CoordinatorFound | Failed


class Stage(enum.Enum):
    """Stage of a worker; the text is part of a sentence of ``GET /health``."""

    CATCHING_UP = "catching up"
    """Reading the internal topics for the first time."""
    JOINING = "joining"
    """Waiting for the group; nothing runs."""
    WORKING = "working"
    STOPPING = "stopping"


@dataclass(slots=True)
class Membership:
    """Membership of this worker, as far as it knows; changed only by ``core.group`` and the herder."""

    stage: Stage = Stage.CATCHING_UP
    member_id: str = ""
    generation: int = -1
    assignment: Assignment | None = None
    """Last assignment taken; None while there is none, or contact with the group is lost."""
    owners: Owners | None = None
    leader_term: int = 0
    """Number of times that this worker has become leader."""
    requests_are_signed: bool = True
    """Whether requests between workers are signed: not while a member speaks an older protocol (KIP-507)."""
    claimed: bool = False
    """Whether this leader has fenced the writes of others to the config topic (exactly once, KIP-618)."""
    awaited: Joined | None = None
    """Completed rebalance that is taken once the config topic has been read as far as it requires."""
    stays_away: bool = False
    """Whether it has left the group until it has read the config topic: rebalances completed before are void."""
    rejoin_requested_at: int = -1
    """Offset of the layout for which a rebalance has been requested."""
    rejoin_due: int | None = None
    published: int = -1
    """Offset of the snapshot that was published last."""

    def leave(self) -> None:
        """Forget the assignment and what belongs to it."""
        self.assignment = self.owners = self.rejoin_due = None
        self.claimed = False

    @property
    def has_read(self) -> bool:
        """Whether the internal topics have been read to their end once."""
        return self.stage is not Stage.CATCHING_UP

    @property
    def is_leader(self) -> bool:
        return self.assignment is not None and self.assignment.leader == self.member_id

    @property
    def leader_url(self) -> str | None:
        return None if self.assignment is None else self.assignment.leader_url

    @property
    def known_workers(self) -> tuple[str, ...]:
        """REST URLs of known workers: the leader knows those of all, others only the leader's."""
        if self.owners is not None:
            return self.owners.workers
        return (self.leader_url,) if self.leader_url else ()


class Reachability:
    """Judge of whether the group's coordinator can be reached; all times in milliseconds of one clock.

    A worker that cannot reach it must stop its tasks before others are given them. Java's ``WorkerCoordinator.poll``
    revokes everything when it has not found the coordinator for one heartbeat interval. This class does the same, and
    also when heartbeats stay unanswered, so that the worker notices within its session timeout: until that has passed
    since the last answer, the broker gives none of its work to others.
    """

    def __init__(self, session_timeout_ms: int, heartbeat_interval_ms: int) -> None:
        self.patience_ms = min(heartbeat_interval_ms, session_timeout_ms // 3)
        self.silence_ms = max(session_timeout_ms - 2 * self.patience_ms, heartbeat_interval_ms)
        self.doubted_since_ms: int | None = None
        self.observed_ms: int | None = None
        self.since_ms = 0

    def observe(self, now_ms: int, *, coordinator_known: bool, unanswered_ms: int) -> bool:
        """Return False once the coordinator has been out of reach for too long; called at short intervals.

        ``unanswered_ms`` is the time since the last answer to a heartbeat, 0 while none are sent. After a pause of the
        whole process (a suspended machine) the count starts again: the next heartbeat shows whether the member is still
        in the group.
        """
        if self.observed_ms is None or now_ms - self.observed_ms > self.patience_ms:
            self.since_ms = now_ms
            self.doubted_since_ms = None
        self.observed_ms = now_ms
        if coordinator_known and min(unanswered_ms, now_ms - self.since_ms) <= self.silence_ms:
            self.doubted_since_ms = None
            return True
        if self.doubted_since_ms is None:
            self.doubted_since_ms = now_ms
        return now_ms - self.doubted_since_ms < self.patience_ms
