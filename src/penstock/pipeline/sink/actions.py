"""The actions of a sink's machine, ``SinkAction``, which its loop carries out on the consumer and the task.

The loop carries out the actions of an event in order. If an action has an outcome, the loop gives it to the machine as
an event and carries out what follows from it before it goes on with the next action. After an action that has raised
only ``CloseTask`` is carried out.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink.batch import FetchedBatch, Partitions

# -- the loop and its consumer


@dataclass(frozen=True, slots=True)
class ContinueTurn:
    """Continue the turn after what was due in it: ``TurnContinued``."""


@dataclass(frozen=True, slots=True)
class FetchRecords:
    """Poll the consumer, which also keeps its membership: ``Fetched``. Rebalances and answers to commits come within,
    and ``FailureFound`` before ``Fetched`` if it fails.
    """

    seconds: float
    """Seconds to wait for a first record."""
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
class ReopenPartitions:
    """Begin again with partitions whose topics were deleted and created again, at offset 0: ``StartsFound``."""

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


# -- batches and puts


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
    """End the trace of the records: the task has taken them, or their partitions have been taken away."""


# -- the task, commits, the worker


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
    """Compare the IDs of topics, perhaps ``TopicsRecreated``; then wait for dead letters: ``LettersArrived``, or
    nothing. With ``closing`` nothing is done after an abort.
    """

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
class CommitOffsets:
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
    | ReopenPartitions
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
    | CommitOffsets
    | ReportCommit
    | ReportPaused
    | ReportRunning
    | LogMessage
    | LogRetry
    | FailTask
)
