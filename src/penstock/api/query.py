"""Connectors whose one task is a query of Spark. Provisional.

The runtime runs the query in a thread of Spark's driver, where the methods of the task's class are called. Spark's
executors read or write the rows.

- A sink derives its task from QuerySinkTask. The runtime reads the topics by Spark and makes rows of the records: with
  the connector's converters, transforms, error handling and dead letters, in Spark's Python processes. The class makes
  a SinkTarget, which writes the rows of each batch.
- A source derives its task from QuerySourceTask. The class makes a streaming DataFrame. The runtime sends its rows to
  the topic, and commits the number of each batch as the source offset, with the rows in one transaction if the source
  is exactly once.

Objects of PySpark have the type ``Any``, since this module does not import PySpark; the docstrings name their types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from penstock.api.connector import ConnectorTransactionBoundaries, SinkConnector, SourceConnector
from penstock.api.errors import ConnectError
from penstock.api.simple_connector import SimpleConnector
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask

BATCH = "batch"
"""The one field of a source offset: the number of the last batch of the query that is in the topic."""


class QueryContext(Protocol):
    """The runtime, as the class of a query's task sees it."""

    @property
    def session(self) -> Any:
        """The ``pyspark.sql.SparkSession`` of this task alone; its views and settings are not shared."""

    @property
    def connector(self) -> str:
        """The connector's name."""

    @property
    def cluster(self) -> str | None:
        """The id of the Kafka cluster; None if it is not known."""

    @property
    def group(self) -> str:
        """The consumer group of a sink; of a source, the group of its workers."""

    def columns(self, schema: str) -> Any:
        """Return the columns of a text as in CREATE TABLE, ``id BIGINT, name STRING``: a ``StructType``.

        Raises ConfigError, for a setting named ``schema``.
        """


class QueryTask:
    """First base of the class of a task that stands for a query of Spark.

    The class is never instantiated: the runtime runs the query.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchShape:
    """The shape of a sink's batches."""

    schema: str | None = None
    """The columns of values without a schema, as in CREATE TABLE. Without it they are JSON in one column, ``value``."""
    sql: str | None = None
    """A SELECT from ``records`` whose result is written. Raises ConfigError if it is anything else."""
    interval: float = 0.0
    """Seconds from one batch to the next; 0: as soon as there are records and the previous batch is written."""
    max_records: int = 1_000_000
    """Maximum of records in a batch."""


@dataclass(frozen=True, slots=True)
class BatchVersion:
    """The name of a batch of a sink: the same whenever it is written, by whichever run.

    Numbers count up within an epoch. A new one begins when offsets are reset or altered, or partitions disappear.
    """

    epoch: str
    number: int

    def next(self) -> BatchVersion:
        """Return the version of the next batch of the epoch."""
        return BatchVersion(self.epoch, self.number + 1)


class SinkTarget(Protocol):
    """The target of a sink's batches; called by one thread at a time."""

    def add(self, frame: Any, version: BatchVersion, confirm: Callable[[], None]) -> None:
        """Write a batch, the rows of a ``pyspark.sql.DataFrame``; all of them or, if it raises, perhaps some.

        Called again with the same version and the same records if it was not known to be written. A target that keeps
        the version with the rows can then leave the batch out, which makes the sink exactly once. ``confirm`` raises if
        another run of the task has been started meanwhile: call it before what can't be undone. Raises what Spark
        raises, which is retried as ``errors.retry.timeout`` says, or ConnectError, which ends the task as FAILED.
        """

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Return the last batch that the target knows, or None if it knows ``version`` or keeps no versions.

        Called before a run's first batch, which will be ``version``. Return only a batch that is later, or of another
        epoch with the same number or a greater one: the offsets have then been set back, or reset.
        """


@runtime_checkable
class OffsetKeeper(Protocol):
    """Optional interface of a SinkTarget that keeps the offsets of a batch with its rows, in one transaction.

    What the target has written is then known without the offsets of the connector's group, and no earlier run of the
    connector can write once a later one has begun.
    """

    def committed_offsets(self) -> Mapping[tuple[str, int], int]:
        """Return the offset after the last row of each topic and partition.

        Called before ``begin``. Raises as ``SinkTarget.add``.
        """

    def begin(self, version: BatchVersion, offsets: Mapping[tuple[str, int], int]) -> None:
        """Fence earlier runs, and replace the stored offsets of batches up to ``version`` by these.

        Called before each query of a run, whose next batch is ``version.next()``. ``offsets``: those that differ from
        the stored ones, since the connector's offsets were altered or reset, or records without rows follow. The
        stored version stays, so that ``later`` returns the same if the run ends before its next batch. A batch of an
        earlier run that was not finished is written before, and has to fence, too: before it calls ``confirm``. Raises
        as ``SinkTarget.add``.
        """


@runtime_checkable
class OffsetRecorder(Protocol):
    """Optional interface of a SinkTarget that stores the offsets of each batch as the runtime knows them."""

    def covers(self, ends: Mapping[tuple[str, int], int], topics: Mapping[str, str]) -> None:
        """Take the offsets after the records of the batch that is written next, and the IDs of topics.

        Called before each batch. IDs that are not known are missing.
        """

    def skip(self, version: BatchVersion) -> None:
        """Store the offsets of a batch that is not written, since the topics of its records are gone.

        Raises as ``SinkTarget.add``.
        """


class QuerySinkTask(QueryTask, SinkTask):
    """Base of the task of a sink whose rows Spark writes."""

    writes: ClassVar[str] = "target"
    """The writer of the batches: ``target``, that of the method; ``spark`` and ``jdbc`` are the runtime's own."""

    @classmethod
    def shape(cls, config: Mapping[str, str]) -> BatchShape:
        """Return the shape of the batches. Called once for each run, before ``target``; raises ConfigError."""
        return BatchShape()

    @classmethod
    def target(cls, config: Mapping[str, str], context: QueryContext) -> SinkTarget:
        """Return the target of a run's batches. Called once for each run; raises ConfigError."""
        raise NotImplementedError(f"{cls.__qualname__} has no method target")


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamShape:
    """The shape of what a source reads and sends."""

    topic: str
    checkpoint: str
    """A durable folder for Spark's checkpoints, as Spark names it; each connector has a subfolder in it."""
    name: str
    """The name of what is read, in messages."""
    sql: str | None = None
    """A SELECT from ``records``, the rows of a batch, whose result is sent; ConfigError if it is anything else."""
    key: tuple[str, ...] = ()
    """The columns of the record's key: the value of one, or a struct of several."""
    interval: float = 0.0
    """Seconds from one look for rows to the next; 0: as soon as the previous batch is committed."""


class QuerySourceTask(QueryTask, SourceTask):
    """Base of the task of a source whose rows Spark reads."""

    reads: ClassVar[str] = "stream"
    """The reader of the rows: ``stream``, that of the method; ``jdbc`` is the runtime's own."""

    @classmethod
    def shape(cls, config: Mapping[str, str]) -> StreamShape:
        """Return the shape of the stream. Called once for each run, before ``stream``; raises ConfigError."""
        raise NotImplementedError(f"{cls.__qualname__} has no method shape")

    @classmethod
    def stream(cls, config: Mapping[str, str], context: QueryContext) -> Any:
        """Return what is read: a streaming ``pyspark.sql.DataFrame``, not started. Called once for each run.

        It must give the same rows for a batch that it is asked for again. What Spark raises ends the task as FAILED.
        """
        raise NotImplementedError(f"{cls.__qualname__} has no method stream")

    @classmethod
    def for_preview(cls, config: Mapping[str, str]) -> dict[str, str]:
        """Return a configuration that reads the same and changes nothing. Called for previews only."""
        return dict(config)


class QueryConnector(SimpleConnector):
    """Base of connectors with one task, a query, which is configured as its connector is.

    Derive from QuerySinkConnector or QuerySourceConnector.
    """


class QuerySinkConnector(QueryConnector, SinkConnector):
    """Base of sinks whose task is a query. It reads all partitions; its position is that of its consumer group."""

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """Accept all offsets: those of the group are all there are."""
        return True


class QuerySourceConnector(QueryConnector, SourceConnector):
    """Base of sources whose task is a query. Its batches are transactions if the source is exactly once."""

    def can_define_transaction_boundaries(self, config: Mapping[str, str]) -> ConnectorTransactionBoundaries:
        """Return SUPPORTED: the query ends a transaction with each batch."""
        return ConnectorTransactionBoundaries.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        """Accept numbers of batches, as ``{"batch": 7}``, and resets."""
        own = query_partition(config["name"])
        for partition, offset in offsets:
            if offset is None:
                continue
            if partition != own:
                raise ConnectError(f"The source partition of this connector is {own}, not {partition}")
            batch_of(offset)
        return True


def query_partition(connector: str) -> dict[str, Any]:
    """Return the one source partition of a query."""
    return {"query": connector}


def batch_of(offset: Mapping[str, Any] | None) -> int | None:
    """Return the number in a source offset, -1 before the first batch. Raises ConnectError for a malformed one."""
    if offset is None:
        return None
    batch = offset.get(BATCH)
    if set(offset) != {BATCH} or type(batch) is not int or batch < -1:
        raise ConnectError(f"A source offset of this connector is the number of a batch, as {{'{BATCH}': 7}}")
    return batch
