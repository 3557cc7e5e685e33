"""The events of a sink's machine, ``SinkEvent``: from the loop, its consumer, the task and the worker."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.batch import FetchedBatch, Partitions

# -- the loop and its consumer


@dataclass(frozen=True, slots=True)
class Ticked:
    """A turn of the loop begins. A turn lasts 0.1 s at most, unless a put or a commit takes longer."""


@dataclass(frozen=True, slots=True)
class TurnContinued:
    """The outcome of ``ContinueTurn``."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """The outcome of ``FetchRecords``; ``batch`` is None if there are no records."""

    batch: FetchedBatch | None
    drained: bool
    """Whether the consumer had no more than these."""


@dataclass(frozen=True, slots=True)
class FailureFound:
    """A fetch, a rebalance, or the preparation of the next put has failed. The task fails once no put runs."""

    error: Exception


@dataclass(frozen=True, slots=True)
class PartitionsAssigned:
    """The group has assigned partitions: with a cooperative assignor the new ones, otherwise all."""

    offsets: Mapping[TopicPartition, int]
    """Per partition the consumer's offset, which may be one of librdkafka's special offsets."""


@dataclass(frozen=True, slots=True)
class StartsFound:
    """The outcome of ``LookUpStarts`` and ``ReopenPartitions``: where reading begins, for those partitions of which it
    is known.
    """

    partitions: tuple[TopicPartition, ...]
    starts: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class TaskOpened:
    """The outcome of ``OpenTask``."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionsRevoked:
    """The group takes partitions away; ``lost``: other members may have them already, so nothing is committed."""

    partitions: tuple[TopicPartition, ...]
    lost: bool = False


@dataclass(frozen=True, slots=True)
class TopicsRecreated:
    """The topics of these partitions were deleted and created again.

    Found before a commit, or when records come from before the position.
    """

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class TaskClosed:
    """The outcome of ``CloseTask``, also if the task's ``close`` has raised an error."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionSought:
    """The outcome of ``SeekPartition``. There is none if the partition is not fetched yet; it is tried again."""

    partition: TopicPartition
    offset: int


# -- conversions and puts


@dataclass(frozen=True, slots=True)
class Converted:
    """The outcome of ``ConvertBatch``."""

    batch: FetchedBatch


@dataclass(frozen=True, slots=True)
class ConversionDelayed:
    """A record waits for its next attempt to be converted or transformed. Sent repeatedly within ``ConvertBatch``."""


@dataclass(frozen=True, slots=True)
class PutTaken:
    """A put has ended: the task has taken the records."""

    clear: bool = False
    """Whether the task has asked for nothing, so that the put begun behind this one runs."""
    quick: bool = False
    """Whether it took so little time that another one may be begun behind the next."""


@dataclass(frozen=True, slots=True)
class PutRefused:
    """A put has ended with a RetriableError: the task wants the same records again."""

    error: Exception
    again: FetchedBatch | None = None
    """The records as the put has converted them; None: they have not changed."""


@dataclass(frozen=True, slots=True)
class PutFailed:
    """A put has ended with another error: the task fails."""

    error: Exception


@dataclass(frozen=True, slots=True)
class PutUnconverted:
    """A put has ended before it began, since it could not convert a record."""


# -- the worker


@dataclass(frozen=True, slots=True)
class PauseWanted:
    """The connector is to be paused."""


@dataclass(frozen=True, slots=True)
class ResumeWanted:
    """The connector is to be resumed."""


@dataclass(frozen=True, slots=True)
class StopWanted:
    """The task is to end."""


@dataclass(frozen=True, slots=True)
class LoopBroken:
    """The loop has failed, or ends without waiting for records that are being converted."""


# -- requests of the task


class Flow(enum.Enum):
    """A request of a task for partitions: to stop fetching from them, or to fetch from them again."""

    PAUSE = "pause"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class FlowRequested:
    """The task has called ``context.pause`` or ``context.resume``."""

    flow: Flow
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class RewindRequested:
    """The task has called ``context.offset``."""

    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class TimeoutRequested:
    """The task has called ``context.timeout``."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CommitRequested:
    """The task has called ``context.request_commit``."""


# -- commits


@dataclass(frozen=True, slots=True)
class LettersArrived:
    """The outcome of ``BeginCommit``: the dead letters so far have arrived. There is none if they have not: then a
    later commit tries again.
    """

    partitions: tuple[TopicPartition, ...]
    closing: bool


@dataclass(frozen=True, slots=True)
class LettersLost:
    """A dead letter reported in ``pre_commit`` will never arrive, or was not tolerated: the task fails, and commits
    nothing of these partitions when it closes them either.
    """

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class OffsetsAgreed:
    """The outcome of ``AskForOffsets``: the offsets that the task's ``pre_commit`` has returned."""

    asked: Mapping[TopicPartition, int]
    agreed: Mapping[TopicPartition, int]
    closing: bool


@dataclass(frozen=True, slots=True)
class PreCommitFailed:
    """The outcome of ``AskForOffsets`` if ``pre_commit`` has raised an error."""

    partitions: tuple[TopicPartition, ...]
    closing: bool


@dataclass(frozen=True, slots=True)
class CommitAnswered:
    """The brokers' answer to ``CommitOffsets``: at once if ``closing``, otherwise within a later fetch."""

    written: Mapping[TopicPartition, int]
    error: str | None = None
    closing: bool = False
    seconds: float = 0.0
    """Duration, if ``closing``."""
    sent: Mapping[TopicPartition, int] | None = None
    """Offsets of the commit that is answered; None: those of the last one."""


PutEnded = PutTaken | PutRefused | PutFailed | PutUnconverted
Rebalance = PartitionsAssigned | PartitionsRevoked
TaskRequest = FlowRequested | RewindRequested | TimeoutRequested | CommitRequested
SinkEvent = (
    Ticked
    | TurnContinued
    | Fetched
    | FailureFound
    | Rebalance
    | StartsFound
    | TopicsRecreated
    | TaskOpened
    | TaskClosed
    | PartitionSought
    | Converted
    | ConversionDelayed
    | PutEnded
    | PauseWanted
    | ResumeWanted
    | StopWanted
    | LoopBroken
    | TaskRequest
    | LettersArrived
    | LettersLost
    | OffsetsAgreed
    | PreCommitFailed
    | CommitAnswered
)
