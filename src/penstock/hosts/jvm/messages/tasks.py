"""Requests to a JVM about the tasks of its connectors."""

from __future__ import annotations

from typing import Any, Literal

from penstock.hosts.jvm.messages.base import JavaFailure, JavaRequest, JavaValue, OffsetRow, PartitionName
from penstock.hosts.jvm.messages.batches import BatchInJvm, BatchInput


class JavaTaskReference(JavaValue, frozen=True):
    """The class of a task, and the connector, with a range of versions or None, whose loader has it."""

    connector: str
    connector_version: str | None
    task: str


class SourceOverrides(JavaValue, frozen=True):
    """The optional methods that a source task overrides with a body that is not empty."""

    commit: bool
    commit_record: bool


class PolledInJvm(JavaValue, frozen=True):
    """The outcome of a ``poll``: a batch unless there were no records, and where transactions end."""

    batch: BatchInJvm | None = None
    source_partitions: list[Any] = []
    """The distinct source partitions."""
    source_partition_rows: list[int] | None = None
    """The index of each record's source partition; None if there is one."""
    last: list[int] = []
    """The last row of each source partition."""
    last_offsets: list[Any] = []
    """The source offset of each of those rows."""
    ends: list[tuple[int, Literal["commit", "abort"]]] = []
    """Rows after which a transaction ends, and how."""
    commit: bool = False
    """True if the transaction ends with this batch."""
    abort: bool = False


class CreateJavaSourceTask(JavaRequest[SourceOverrides], tag="source.create", frozen=True):
    """Make the task; returns which optional methods it overrides."""

    task: JavaTaskReference


class StartJavaSourceTask(JavaRequest[None], tag="source.start", frozen=True):
    """Initialize and start the task.

    ``transactions``: whether the task may define the boundaries of transactions.
    """

    config: dict[str, str]
    transactions: bool


class PollJavaTask(JavaRequest[PolledInJvm], tag="source.poll", frozen=True):
    """Call ``poll``; the records stay in the JVM."""

    free: list[int]


class CommitJavaTask(JavaRequest[None], tag="source.commit", frozen=True):
    """Call ``commit`` unless the task has returned more batches than were taken.

    ``taken``: how many batches of the task have been taken.
    """

    taken: int


class CommitJavaRecords(JavaRequest[list[JavaFailure]], tag="source.commitRecords", frozen=True):
    """Call ``commitRecord`` for each record of a batch; returns what failed.

    Where each record was written. Without ``timestamps`` a record at offset -1 was not sent.
    """

    input: BatchInput
    free: list[int]
    sent: bool
    topics: list[str]
    partitions: list[int]
    offsets: list[int]
    timestamps: list[int]


class StopJavaSourceTask(JavaRequest[None], tag="source.stop", frozen=True):
    """Stop the task."""


class FlowChange(JavaValue, frozen=True):
    """Partitions that a sink task wants paused or resumed."""

    action: Literal["pause", "resume"]
    partitions: list[PartitionName]


class TaskRequests(JavaValue, frozen=True):
    """Requests of a sink task to its context during a call, and the exception that it raised."""

    rewinds: list[OffsetRow]
    timeout: int | None
    """Milliseconds until the next ``put``."""
    commit: bool
    flow: list[FlowChange]
    failure: JavaFailure | None = None


class PreCommitted(TaskRequests, frozen=True):
    """The offsets that a sink task agrees to commit: offset, metadata and leader epoch of each partition.

    None, for the map or an offset, is what the task has returned; it fails the task, as in Java.
    """

    returned: list[tuple[PartitionName, tuple[int, str | None, int | None] | None]] | None = None


class PutDone(TaskRequests, tag="done", frozen=True, kw_only=True):
    """A ``put`` that was called."""

    clear: bool
    """True if the task has taken the records and asked for nothing, so that a put begun behind this one runs."""
    converting: float
    """Seconds."""
    putting: float
    """Seconds."""
    records: BatchInJvm | None = None
    """The records as they were converted, after a put of records as they were read has failed."""


class PutNotConverted(JavaValue, tag="unconverted", frozen=True):
    """A record could not be converted; ``put`` was not called."""


class PutSkipped(JavaValue, tag="skipped", frozen=True):
    """The put before this one was not clear; ``put`` was not called."""


PutOutcome = PutDone | PutNotConverted | PutSkipped


class CreateJavaSinkTask(JavaRequest[None], tag="sink.create", frozen=True):
    """Make the task.

    ``name`` and ``number`` of the connector's task; ``reporter``: whether it may report errant records.
    """

    task: JavaTaskReference
    name: str
    number: int
    config: dict[str, str]
    reporter: bool


class StartJavaSinkTask(JavaRequest[TaskRequests], tag="sink.start", frozen=True):
    """Initialize and start the task."""


class OpenJavaPartitions(JavaRequest[TaskRequests], tag="sink.open", frozen=True):
    """Call ``open``."""

    partitions: list[PartitionName]


class CloseJavaPartitions(JavaRequest[TaskRequests], tag="sink.close", frozen=True):
    """Call ``close``."""

    partitions: list[PartitionName]


class PutJavaRecords(JavaRequest[PutOutcome], tag="sink.put", frozen=True):
    """Convert if asked to, then call ``put``.

    Without ``input`` there are no records.

    ``convert``: the steps of ``key``, ``value`` and ``header`` that convert records as they were read. ``behind``: put
    nothing unless the put before was clear.
    """

    free: list[int]
    input: BatchInput | None = None
    convert: dict[str, int] | None = None
    behind: bool = False


class PreCommitJavaTask(JavaRequest[PreCommitted], tag="sink.commit", frozen=True):
    """Call ``preCommit``."""

    offsets: list[OffsetRow]


class StopJavaSinkTask(JavaRequest[TaskRequests], tag="sink.stop", frozen=True):
    """Stop the task."""
