"""Messages from a JVM: log lines, and requests of connectors and tasks to Penstock."""

from __future__ import annotations

from typing import Any

from penstock.hosts.jvm.messages.base import (
    CommittedRow,
    JavaFailure,
    JavaNotice,
    JavaRequest,
    JavaValue,
    OffsetRow,
    PartitionName,
    SinkRequest,
)
from penstock.hosts.jvm.messages.batches import BatchInJvm


class JavaLogLine(JavaValue, frozen=True):
    """A line that a plugin has logged or printed.

    ``level`` is log4j's number, ``time`` milliseconds since 1970.
    """

    logger: str
    level: int
    thread: str
    time: int
    text: str
    trace: str | None


class JavaLogLines(JavaNotice, tag="log", frozen=True):
    """Lines, and how many were dropped after them. The reply, if one is expected, lets more follow."""

    lines: list[JavaLogLine]
    dropped: int = 0


class RequestReconfiguration(JavaNotice, tag="connector.reconfigure", frozen=True):
    """A connector wants its task configurations made again."""


class RaiseConnectorError(JavaNotice, tag="connector.raise", frozen=True):
    """A connector has failed."""

    error: JavaFailure


class ReadSourceOffsets(JavaRequest[list[Any]], tag="offsets", frozen=True):
    """Return the committed offset of each source partition, or None."""

    partitions: list[Any]


class GroupMembership(JavaValue, frozen=True):
    """Java: ``ConsumerGroupMetadata``."""

    group: str
    generation: int
    member: str
    instance: str | None


class DescribeGroupMember(SinkRequest[GroupMembership], tag="sink.group", frozen=True):
    """Return group, generation and member of the consumer."""


class ReadCommittedOffsets(SinkRequest[list[CommittedRow]], tag="sink.committed", frozen=True):
    """Return the group's committed offsets."""

    partitions: list[PartitionName]


class ReadPosition(SinkRequest[int], tag="sink.position", frozen=True):
    """Return the offset of the next record of a partition."""

    partition: PartitionName


class ReadEndOffsets(SinkRequest[list[OffsetRow]], tag="sink.ends", frozen=True):
    """Return the first or the end offset of each partition.

    ``last``: the offset after the last record, else that of the first.
    """

    partitions: list[PartitionName]
    last: bool


class DescribeTopic(SinkRequest[list[Any]], tag="sink.described", frozen=True):
    """Return the partitions of a topic with their brokers."""

    topic: str


class ReportRecord(SinkRequest[None], tag="sink.report", frozen=True):
    """Report an errant record that is a batch in the JVM.

    ``place``: topic, partition and offset from which the record was read.
    """

    error: JavaFailure
    record: BatchInJvm
    place: tuple[str, int, int]
    timestamp_type: str


class ReportOriginalRecord(SinkRequest[None], tag="sink.report_original", frozen=True):
    """Report an errant record by its bytes, which are the payload.

    ``key``, ``value`` and ``headers``: lengths of the bytes in the payload, -1 for None.
    """

    error: JavaFailure
    place: tuple[str, int, int]
    timestamp: int | None
    timestamp_type: str
    key: int
    value: int
    headers: list[tuple[str, int]]


ConnectorMessage = RequestReconfiguration | RaiseConnectorError | ReadSourceOffsets
SinkMessage = (
    DescribeGroupMember
    | ReadCommittedOffsets
    | ReadPosition
    | ReadEndOffsets
    | DescribeTopic
    | ReportRecord
    | ReportOriginalRecord
)
PluginMessage = ConnectorMessage | SinkMessage
FromJvm = JavaLogLines | PluginMessage
