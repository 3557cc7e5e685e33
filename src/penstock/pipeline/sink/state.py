"""The state of a sink task's machine: its phase, and what is known of each partition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.batch import NO_PARTITIONS, FetchedBatch, Partitions
from penstock.pipeline.sink.events import Rebalance


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing is being put, and nothing waits to be put again."""


@dataclass(frozen=True, slots=True)
class Putting:
    """A put runs: in this process until ``PutBatch`` has been carried out, elsewhere until ``AwaitPut`` has."""

    batch: FetchedBatch | None
    """None: a put without records."""
    retrying: bool = False
    """Whether the task has asked for these records again; all partitions are paused until it takes them."""
    paused: bool = False
    """Whether the connector is paused."""
    converting: bool = False
    """Whether the records are still being converted and transformed; the task's ``put`` has not begun."""
    behind: FetchedBatch | None = None
    """The records of the put that has begun behind this one."""


@dataclass(frozen=True, slots=True)
class Retrying:
    """The task has asked for the same records again; all partitions are paused until it takes them."""

    batch: FetchedBatch
    at: float
    """When to put them."""


@dataclass(frozen=True, slots=True)
class Paused:
    """The connector is paused, and all partitions are. The task still gets the records that it asked for again."""

    batch: FetchedBatch | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Closing:
    """The task has ended, or the loop has failed: partitions are closed, and nothing else happens."""


SinkPhase = Idle | Putting | Retrying | Paused | Closing


@dataclass(frozen=True, slots=True)
class SinkLoopSettings:
    """Settings of the machine. Times are in seconds."""

    commit_interval: float
    """``offset.flush.interval.ms``."""
    commit_timeout: float
    """``offset.flush.timeout.ms``."""
    cooperative: bool = False
    """Whether partitions are assigned and revoked a few at a time (cooperative assignors)."""
    puts_convert: bool = False
    """Whether a put takes records as they were fetched and converts them (in a JVM)."""
    look_interval: float = 5.0
    """Interval in seconds at which partitions are checked that may stand still."""


@dataclass(slots=True)
class SinkState:
    """The state of a sink task. Others read it; it changes by ``SinkMachine.step`` alone."""

    phase: SinkPhase = field(default_factory=Idle)
    assigned: Partitions = NO_PARTITIONS
    opening: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Partitions that are being opened, so that the consumer does not have them yet, with the offsets of the group."""
    closing: Partitions = NO_PARTITIONS
    """Partitions that are being closed."""
    recreated: Partitions = NO_PARTITIONS
    """Partitions whose topics were deleted and created again, until the task has closed them. Their positions are in
    the old topic and are not committed.
    """
    reopening: Partitions = NO_PARTITIONS
    """The partitions among them that are being opened again."""

    taken: dict[TopicPartition, int] = field(default_factory=dict)
    """Per partition the next offset after what the task has taken."""
    committed: dict[TopicPartition, int] = field(default_factory=dict)
    """Per partition the offset that the group has, or at which the task has begun."""
    unwritten: set[TopicPartition] = field(default_factory=set)
    """Partitions of which the group may have another offset: one in a topic that is gone."""
    rewinds: dict[TopicPartition, int] = field(default_factory=dict)
    """The offsets from which the task wants to read again, until the consumer has sought them."""
    paused: Partitions = NO_PARTITIONS
    """The partitions that the task has paused; without a cooperative assignor also those that a rebalance took."""

    ahead: tuple[FetchedBatch, ...] = ()
    """Records that were fetched while others were put or waited to be put again, or whose partition the task has paused
    meanwhile; in order.
    """
    pause_wanted: bool = False
    """Whether the connector is to be paused."""
    stop_wanted: bool = False
    rebalance: Rebalance | None = None
    """The rebalance that waits for the end of the put."""
    failure: Exception | None = None
    """The error with which the task fails as soon as no put runs."""

    timeout: float | None = None
    """Seconds to wait at most before the next put, or before the next attempt, if the task said so."""
    next_put: float = 0.0
    """When a put without records is due."""
    refused: bool = False
    """Whether the last put had no records and the task asked for a retry."""
    quick: bool = False
    """Whether the last put was quick enough for another one to be begun behind the next."""
    drained: bool = False
    """Whether the last fetch has taken all that the consumer had."""
    next_look: float = 0.0

    next_commit: float | None = None
    """None before the first turn."""
    commit_requested: bool = False
    commit_sent_at: float | None = None
    """When the commit was sent that the brokers have not answered yet."""
    commit_sent: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Offsets of the last commit that was sent without waiting for its answer."""
    moved: set[TopicPartition] = field(default_factory=set)
    """Partitions that were rewound, or closed, since the last commit was sent: its answer is not about them."""

    @property
    def batch(self) -> FetchedBatch | None:
        """The records that are being put or wait to be put again."""
        match self.phase:
            case Putting(batch) | Retrying(batch) | Paused(batch):
                return batch
        return None

    @property
    def retrying(self) -> bool:
        """Whether the task has asked for the same records again and has not taken them yet."""
        match self.phase:
            case Retrying():
                return True
            case Putting(retrying=retrying):
                return retrying
            case Paused(batch):
                return batch is not None
        return False

    @property
    def connector_paused(self) -> bool:
        match self.phase:
            case Paused():
                return True
            case Putting(paused=paused):
                return paused
        return False

    @property
    def held(self) -> bool:
        """Whether all partitions are paused."""
        return self.retrying or self.connector_paused

    @property
    def fetchable(self) -> Partitions:
        """The partitions that the task has not paused."""
        return self.assigned - self.paused

    @property
    def positions(self) -> Mapping[TopicPartition, int]:
        """The offset of the next record after those that the task has or is about to get. Any thread may ask."""
        taken, batch = self.taken, self.batch
        return taken if batch is None else taken | dict(batch.ends)

    @property
    def lag(self) -> int:
        """The number of records that the task has taken and that are not committed."""
        committed = self.committed
        return sum(max(offset - committed.get(partition, offset), 0) for partition, offset in self.taken.items())
