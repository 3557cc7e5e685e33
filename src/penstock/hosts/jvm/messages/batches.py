"""Requests to a JVM about batches of records and the steps that they pass: transforms, predicates and converters."""

from __future__ import annotations

from typing import Any, Literal

from penstock.hosts.jvm.messages.base import JavaRequest, JavaValue, Part, PluginReference


class KeptBatch(JavaValue, tag="kept", frozen=True):
    """A batch in the JVM, or some of its rows, with columns of the payload in place of its own."""

    batch: int
    rows: list[int] | None = None
    set: list[str] | None = None
    """The columns in the payload."""
    schemas: list[Any] | None = None
    """Descriptions of schemas that the JVM has not received yet; see ``SchemaTable``."""


class SentBatch(JavaValue, tag="sent", frozen=True):
    """A batch whose columns are the payload."""

    kind: Literal["source", "sink"]
    n: int
    set: list[str]
    read: bool = False
    """True if a sink's records are as they were read from their topics."""
    schemas: list[Any] | None = None
    source_partitions: list[Any] | None = None
    source_offsets: list[Any] | None = None
    source_partition_rows: list[int] | None = None
    """The index of each record's source partition in ``source_partitions``."""


BatchInput = KeptBatch | SentBatch


class TopicColumn(JavaValue, frozen=True):
    """The distinct topics of a batch, and the index of each record's; without ``rows`` all have the only one."""

    names: list[str | None]
    rows: list[int] | None = None


class BatchInJvm(JavaValue, frozen=True):
    """A batch that the JVM has made. Columns that are the same as those of the batch before are absent."""

    batch: int
    n: int
    absent: list[str]
    """``key`` and ``headers``, if no record has any."""
    topics: TopicColumn | None = None
    partitions: list[int | None] | None = None
    timestamps: list[int | None] | None = None
    dropped: list[int] = []
    """Rows of the batch before that a transform has dropped."""


# -- requests to the JVM: batches and steps; ``free`` are batches that Penstock needs no more


class ColumnsFetched(JavaValue, frozen=True):
    """Descriptions of schemas that are new to the receiver; the columns are the payload."""

    schemas: list[Any]


class BatchNumber(JavaValue, frozen=True):
    """The number of a batch in the JVM."""

    batch: int


class ConvertedToBytes(JavaValue, frozen=True):
    """True if the converter has changed headers, which are then in the payload as well."""

    headers: bool


class KeepBatch(JavaRequest[BatchInJvm], tag="batch.put", frozen=True):
    """Keep the records of a batch in the JVM."""

    input: BatchInput
    free: list[int]


class FetchColumns(JavaRequest[ColumnsFetched], tag="batch.columns", frozen=True):
    """Return columns of a batch in the payload."""

    input: BatchInput
    parts: list[Part]
    free: list[int]


class FetchOffsets(JavaRequest[list[Any]], tag="batch.offsets", frozen=True):
    """Return the source offsets of all records of a batch."""

    input: BatchInput
    free: list[int]


class ConcatBatches(JavaRequest[BatchNumber], tag="batch.concat", frozen=True):
    """Make one batch of several."""

    parts: list[KeptBatch]
    free: list[int]


class CreateStep(JavaRequest[int], tag="step.create", frozen=True):
    """Make a transform, predicate or converter; returns its number.

    ``kind``: transformation, predicate, converter or header_converter; ``is_key`` is for a converter.
    """

    kind: str
    plugin: PluginReference
    config: dict[str, str]
    is_key: bool = False


class GiveStepMetrics(JavaRequest[None], tag="step.metrics", frozen=True):
    """Give the plugin of a step its metrics, with these tags."""

    step: int
    tags: dict[str, str]


class CloseStep(JavaRequest[None], tag="step.close", frozen=True):
    """Close the plugin of a step."""

    step: int


class ApplyStep(JavaRequest[BatchInJvm], tag="step.apply", frozen=True):
    """Transform a batch, with a predicate if one is named.

    ``predicate``: the step whose answer decides on which records are transformed; ``negate`` turns it around.
    """

    step: int
    input: BatchInput
    free: list[int]
    predicate: int | None = None
    negate: bool = False


class AskPredicate(JavaRequest[None], tag="step.test", frozen=True):
    """Return a predicate's answer for each record in the payload, a byte each."""

    step: int
    input: BatchInput
    free: list[int]


class ConvertFromConnect(JavaRequest[ConvertedToBytes], tag="step.from", frozen=True):
    """Convert keys, values or headers to bytes, which are the payload."""

    step: int
    input: BatchInput
    free: list[int]
    part: Part


class ConvertToConnect(JavaRequest[BatchInJvm], tag="step.to", frozen=True):
    """Convert keys, values or headers from bytes."""

    step: int
    input: BatchInput
    free: list[int]
    part: Part


class ConvertToBytes(JavaRequest[None], tag="step.bytes", frozen=True):
    """Convert keys, values and headers to bytes at once.

    ``steps``: the numbers of the converters of ``key``, ``value`` and ``header``.
    """

    steps: dict[str, int]
    input: BatchInput
    free: list[int]
