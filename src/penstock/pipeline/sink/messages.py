"""The events that a sink's machine takes (``SinkEvent``) and the actions that its loop carries out (``SinkAction``).

The loop carries out the actions of an event in order. If an action has an outcome, the loop gives it to the machine as
an event and carries out what follows from it before it goes on with the next action. After an action that has raised
only ``CloseTask`` is carried out.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.batch import FetchedBatch

Partitions = frozenset[TopicPartition]
NO_PARTITIONS: Partitions = frozenset()

# -- events: the loop and its consumer


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
    """The outcome of ``LookUpStarts``: where reading begins, for those partitions of which it is known."""

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
class TaskClosed:
    """The outcome of ``CloseTask``, also if the task's ``close`` has raised an error."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class PartitionSought:
    """The outcome of ``SeekPartition``. There is none if the partition is not fetched yet; it is tried again."""

    partition: TopicPartition
    offset: int


# -- events: conversions and puts


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


# -- events: the worker


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


# -- events: requests of the task


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


# -- events: commits


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
    """The brokers' answer to ``WriteOffsets``: at once if ``closing``, otherwise within a later fetch."""

    written: Mapping[TopicPartition, int]
    error: str | None = None
    closing: bool = False
    seconds: float = 0.0
    """How long it took, if ``closing``."""


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

# -- actions: the loop and its consumer


@dataclass(frozen=True, slots=True)
class ContinueTurn:
    """Go on with the turn after what was due in it: ``TurnContinued``."""


@dataclass(frozen=True, slots=True)
class FetchRecords:
    """Poll the consumer, which also keeps its membership: ``Fetched``. Rebalances and answers to commits come within,
    and ``FailureFound`` before ``Fetched`` if it fails.
    """

    seconds: float
    """How long to wait for a first record."""
    ahead: bool = False
    """Whether a put runs."""


@dataclass(frozen=True, slots=True)
class PausePartitions:
    """Fetch nothing from these partitions."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class ResumePartitions:
    """Fetch from these partitions again."""

    partitions: Partitions


@dataclass(frozen=True, slots=True)
class SeekPartition:
    """Let the consumer read this partition from this offset on: ``PartitionSought``."""

    partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class LookUpStarts:
    """Look up where reading begins: the group's offsets, or as ``auto.offset.reset`` says: ``StartsFound``."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class AssignPartitions:
    """Let the consumer fetch from these partitions, at these offsets; then resume and pause partitions.

    In librdkafka a pause outlives the assignment in which it was made.
    """

    offsets: Mapping[TopicPartition, int]
    resumed: Partitions
    paused: Partitions


@dataclass(frozen=True, slots=True)
class LookForStandstill:
    """Check that the consumer has not stopped with one of these partitions; their positions."""

    positions: Mapping[TopicPartition, int]


# -- actions: batches and puts


@dataclass(frozen=True, slots=True)
class StartBatch:
    """Count these records, which are now on their way to the task, and begin their trace."""

    batch: FetchedBatch


@dataclass(frozen=True, slots=True)
class ConvertBatch:
    """Convert and transform these records: ``Converted``. Raises the error of a record that is not tolerated."""

    batch: FetchedBatch


@dataclass(frozen=True, slots=True)
class PutBatch:
    """Begin to put these records, or none: an event of ``PutEnded``, at once if the task is in this process, otherwise
    by ``AwaitPut``.
    """

    batch: FetchedBatch | None


@dataclass(frozen=True, slots=True)
class PutBehind:
    """Begin to put these records behind the put that runs elsewhere. It does nothing unless that one ends clear; then
    it is the put that runs.
    """

    batch: FetchedBatch


@dataclass(frozen=True, slots=True)
class PrepareBatch:
    """Prepare what will be sent of these records, while a put runs elsewhere."""

    batch: FetchedBatch


@dataclass(frozen=True, slots=True)
class AwaitPut:
    """Wait for the end of the put, if one runs elsewhere: an event of ``PutEnded``."""


@dataclass(frozen=True, slots=True)
class AbandonPuts:
    """Wait for the end of the puts that run elsewhere, with whatever result. None of their records counts."""


@dataclass(frozen=True, slots=True)
class FinishBatch:
    """End the trace of the records: the task has taken them, or their partitions are gone."""


# -- actions: the task, commits, the worker


@dataclass(frozen=True, slots=True)
class OpenTask:
    """Call the task's ``open``: ``TaskOpened``."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class CloseTask:
    """Call the task's ``close``: ``TaskClosed``."""

    partitions: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class BeginCommit:
    """Wait for dead letters: ``LettersArrived``, or nothing. With ``closing`` nothing is done after an abort."""

    partitions: tuple[TopicPartition, ...]
    closing: bool = False


@dataclass(frozen=True, slots=True)
class AskForOffsets:
    """Call the task's ``pre_commit``, and wait for dead letters again: ``OffsetsAgreed`` or ``PreCommitFailed``.

    Nothing follows if the letters have not arrived; ``LettersLost`` and an error if they never will.
    """

    offsets: Mapping[TopicPartition, int]
    closing: bool


@dataclass(frozen=True, slots=True)
class WriteOffsets:
    """Commit these offsets to the group: ``CommitAnswered``. Waits for the answer if ``closing``."""

    offsets: Mapping[TopicPartition, int]
    closing: bool


class CommitResult(enum.Enum):
    DONE = enum.auto()
    FAILED = enum.auto()
    TIMED_OUT = enum.auto()
    """The brokers have not answered within ``offset.flush.timeout.ms``."""
    LATE = enum.auto()
    """The brokers have answered after that."""


@dataclass(frozen=True, slots=True)
class ReportCommit:
    """Count a commit that has ended, and log why it has failed."""

    result: CommitResult
    seconds: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class ReportPaused:
    """Report to the worker that the connector's task is paused."""


@dataclass(frozen=True, slots=True)
class ReportRunning:
    """Report to the worker that the connector's task runs again."""


@dataclass(frozen=True, slots=True)
class LogMessage:
    """Log this text."""

    level: int
    """A level of ``logging``."""
    text: str


@dataclass(frozen=True, slots=True)
class LogRetry:
    """Log and report that the task has asked for a retry; ``again``: as it did the time before."""

    error: Exception
    again: bool


@dataclass(frozen=True, slots=True)
class FailTask:
    """Raise this error from the loop."""

    error: Exception


SinkAction = (
    ContinueTurn
    | FetchRecords
    | PausePartitions
    | ResumePartitions
    | SeekPartition
    | LookUpStarts
    | AssignPartitions
    | LookForStandstill
    | StartBatch
    | ConvertBatch
    | PutBatch
    | PutBehind
    | PrepareBatch
    | AwaitPut
    | AbandonPuts
    | FinishBatch
    | OpenTask
    | CloseTask
    | BeginCommit
    | AskForOffsets
    | WriteOffsets
    | ReportCommit
    | ReportPaused
    | ReportRunning
    | LogMessage
    | LogRetry
    | FailTask
)
