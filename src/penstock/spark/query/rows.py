"""Records to rows, in Spark's Python processes: the connector's converters and transforms on Arrow batches.

It is the same code as in a hosted sink task, with the same tolerance of errors and the same dead letters; only what
comes after it is Spark's. What it has to say to the driver beside rows goes through an accumulator if it has worked,
and in the message of its exception if not.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark import Accumulator, AccumulatorParam
from pyspark.sql import types as t
from pyspark.sql.pandas.types import to_arrow_schema

from penstock.api.batch import NO_HEADERS, Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import Type
from penstock.core.tasks import TaskId
from penstock.kafka.client_settings import connector_producer
from penstock.kafka.clients import new_producer
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.deadletter import DeadLetterQueue, queue_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, Failure, LogReporter, Reporter, Stage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink import Letters
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import trace
from penstock.spark.query.columns import VALUE, columns_of, fitting, has_moments, merged, text_of, texts
from penstock.spark.query.lag import RECORD_TIME

EXTRAS = t.StructType(
    [
        t.StructField("_topic", t.StringType()),
        t.StructField("_partition", t.IntegerType()),
        t.StructField("_offset", t.LongType()),
        t.StructField("_timestamp", t.TimestampType()),
        t.StructField("_key", t.StringType()),
        t.StructField(
            "_headers",
            t.ArrayType(t.StructType([t.StructField("key", t.StringType()), t.StructField("value", t.StringType())])),
        ),
    ]
)
"""The columns of ``records`` that are not the value's."""

SCHEMA_COLUMN = "columns"
SINK_CLASS = "penstock.connectors.SparkSink"
_SAID = re.compile(r"penstock said (\{.*\})")
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError)


class RowsError(Exception):
    """How a process tells the driver why it has failed: JSON in the message, which Spark wraps many times."""

    def __init__(self, **said: str) -> None:
        super().__init__(f"penstock said {json.dumps(said)}")


def said(message: str) -> dict[str, str]:
    """What a RowsError in Spark's long message says; empty if there is none."""
    found = _SAID.search(message)
    return json.loads(found[1]) if found else {}


@dataclass(frozen=True, slots=True)
class Plan:
    """What rows are made: the columns of the values, and which of EXTRAS."""

    columns: str
    """A StructType as JSON."""
    declared: bool = False
    """The columns are those of the setting ``schema``: values are made to fit them."""
    extras: tuple[str, ...] = ()
    zone: str = "UTC"
    """Spark's time zone, which is part of Arrow's types."""
    tombstones: bool = False
    """Whether records without a value are rows, of nulls."""

    def row_type(self) -> t.StructType:
        return t.StructType([*self.value_type(), *(EXTRAS[name] for name in self.extras)])

    def value_type(self) -> t.StructType:
        return t.StructType.fromJson(json.loads(self.columns))


Counts = dict[str, Any]
"""Numbers by name, and texts."""


class Totals(AccumulatorParam[Counts]):
    """Sums by name; of times the latest; of texts any."""

    def zero(self, value: Counts) -> Counts:
        return {}

    def addInPlace(self, value1: Counts, value2: Counts) -> Counts:
        for name, value in value2.items():
            if isinstance(value, str):
                value1[name] = value
                continue
            known = value1.get(name, 0.0)
            value1[name] = max(known, value) if name.endswith("-timestamp") else known + value
        return value1


TOPIC = "topic "
"""Before the names of topics among the totals: how many of their records could be converted."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The function of ``mapInArrow``. Without a plan it answers with the columns that the first records have."""

    spec: TaskSpec
    plan: Plan | None
    totals: Accumulator[Counts]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            try:
                pipeline = Pipeline.start(self.spec, stack, report=self.plan is not None)
                if self.plan is None:
                    yield from _probe(pipeline, batches)
                else:
                    yield from self._rows(pipeline, RowMaker(self.plan), batches)
            except RowsError:
                raise
            except Exception as error:
                raise RowsError(trace=trace(error)) from error

    def _rows(self, pipeline: Pipeline, maker: RowMaker, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for arrow in batches:
            batch = pipeline.process(raw_batch(arrow))
            if rows := maker.rows(batch, pipeline):
                pipeline.metrics.add("sink-record-send-total", rows.num_rows)
                yield rows
        pipeline.finish()
        self.totals.add(pipeline.totals())


def _probe(pipeline: Pipeline, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for arrow in batches:
        found = columns_in(pipeline.process(raw_batch(arrow)))
        if found is not None:
            yield pa.record_batch({SCHEMA_COLUMN: pa.array([found.json()])})
            return


def columns_in(batch: Batch) -> t.StructType | None:
    """The columns that the values of a batch have; None if it has no values."""
    found = None
    for schema, kind in dict.fromkeys(zip(batch.value_schemas, map(type, batch.values), strict=True)):
        if kind is not type(None):
            columns = columns_of(schema, kind)
            found = columns if found is None else merged(found, columns)
    return found


@dataclass(slots=True)
class Pipeline:
    """Converters, transforms and what ``errors.*`` say, for one Spark task."""

    errors: ErrorHandler
    converters: list[Step]
    transforms: list[Step]
    letters: Letters
    metrics: Metrics
    queue: LazyQueue | None
    topics: dict[str, int] = field(default_factory=dict)
    latest: int = 0
    """The latest timestamp."""

    @classmethod
    def start(cls, spec: TaskSpec, stack: ExitStack, report: bool) -> Pipeline:
        """``report``: whether failures count, are told of and can end the task; otherwise they are passed over."""
        from penstock.spark.task import plugins

        resolve = plugins(spec.plugin_path).resolve
        connector = {**spec.connector_config, "name": spec.connector}
        id = TaskId(spec.connector, spec.task)
        metrics = Metrics(lambda _: None, ())
        conversion = Conversion.build(connector, spec.worker_config, resolve)
        stack.callback(conversion.close)
        chain = Chain.build(connector, resolve)
        stack.callback(chain.close)
        letters = Letters(conversion=conversion)
        settings = ErrorSettings.of(connector) if report else ErrorSettings(tolerate=True)
        queue = None
        reporters: list[Reporter] = [LogReporter(id, settings, metrics)]
        if report and queue_of(connector) is not None:
            queue = LazyQueue(id, connector, spec, metrics, letters)
            reporters.insert(0, queue)
        errors = ErrorHandler(settings, metrics, _wait, tuple(reporters))
        return cls(errors, conversion.to_connect(), chain.steps, letters, metrics, queue)

    def process(self, raw: Batch) -> Batch:
        self.metrics.add("sink-record-read-total", len(raw))
        self.latest = max(self.latest, max(filter(None, raw.timestamps), default=0))
        self.letters.raw = raw
        batch = self.errors.run(self.converters, raw)
        for topic in dict.fromkeys(batch.topics):
            self.topics[topic] = self.topics.get(topic, 0) + batch.topics.count(topic)
        return self.errors.run(self.transforms, batch)

    def finish(self) -> None:
        """All dead letters have to have arrived. Raises ConnectError."""
        if self.queue is not None:
            self.queue.flush()

    def totals(self) -> Counts:
        counts: Counts = {TOPIC + topic: float(n) for topic, n in self.topics.items()}
        counts[RECORD_TIME] = float(self.latest)
        return counts | {name: value for name, value in self.metrics.snapshot(time.monotonic()).items() if value}


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return False


class LazyQueue:
    """The dead letter queue, whose producer is made when there is a first dead letter."""

    def __init__(
        self, id: TaskId, connector: dict[str, str], spec: TaskSpec, metrics: Metrics, letters: Letters
    ) -> None:
        self._id, self._connector, self._spec = id, connector, spec
        self._metrics, self._letters = metrics, letters
        self._queue: DeadLetterQueue | None = None

    def __call__(self, failure: Failure) -> None:
        if self._queue is None:
            java = connector_producer(self._spec.worker_config, self._connector, f"connector-dlq-producer-{self._id}")
            producer = new_producer(java)
            self._queue = DeadLetterQueue(self._id, self._connector, producer, self._metrics, self._letters.original)
        self._queue(failure)

    def flush(self) -> None:
        if self._queue is not None:
            self._queue.flush(30.0)


class RowMaker:
    """Makes Arrow batches of the plan's columns. Raises RowsError for values that have others."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._columns = plan.value_type()
        self._arrow = pa.struct(list(to_arrow_schema(self._columns, timezone=plan.zone)))
        extras = t.StructType([EXTRAS[name] for name in plan.extras])
        self._extras = to_arrow_schema(extras, timezone=plan.zone)
        self._known: set[Any] = set()
        self._fit = fitting(self._columns)
        self._texts = not plan.declared and self._columns == t.StructType([t.StructField(VALUE, t.StringType())])
        self._loose = plan.declared and has_moments(self._columns)
        self._step = Step(Stage.TASK_PUT, SINK_CLASS, self._try)

    def rows(self, batch: Batch, pipeline: Pipeline) -> pa.RecordBatch | None:
        """None if there are none."""
        if not self._plan.tombstones and not isinstance(batch.value_column, Table) and None in batch.values:
            batch = batch.select([i for i, value in enumerate(batch.values) if value is not None])
        if not len(batch):
            return None
        if not self._plan.declared:
            self._check(batch)
        try:
            values = self._array(batch)
        except (*_UNFIT, DataError):
            batch = pipeline.errors.run([self._step], batch)
            if not len(batch):
                return None
            values = self._array(batch)
        columns = values.flatten() + [extra(name, batch, self._extras.field(name).type) for name in self._plan.extras]
        return pa.RecordBatch.from_arrays(columns, names=[*self._columns.names, *self._plan.extras])

    def _check(self, batch: Batch) -> None:
        """New columns have to be known to Spark before the first row is written."""
        if isinstance(batch.value_column, Table):
            kinds: set[Any] = {(schema, dict) for schema in set(batch.value_schemas)}
        else:
            kinds = set(zip(batch.value_schemas, map(type, batch.values), strict=True))
        if kinds <= self._known:
            return
        found = columns_in(batch)
        if found is not None and merged(self._columns, found) != self._columns:
            raise RowsError(columns=found.json())
        self._known |= kinds

    def _try(self, batch: Batch) -> Batch:
        self._array(batch)
        return batch

    def _array(self, batch: Batch) -> pa.StructArray:
        if self._texts and not any(schema is not None and schema.fields for schema in set(batch.value_schemas)):
            # The common case of JSON without a schema.
            return pa.StructArray.from_arrays([pa.array(texts(batch.values), pa.string())], [VALUE])
        if not self._loose:
            try:
                made = self._of_table(batch)
                return pa.array(self._structs(batch), self._arrow) if made is None else made
            except _UNFIT:
                pass
        made = pa.array(list(map(self._fit, self._structs(batch))), self._arrow)
        # There will be more of them.
        self._loose = True
        return made

    def _of_table(self, batch: Batch) -> pa.StructArray | None:
        """None if the values are no table whose fields are the columns."""
        table = batch.value_column
        if not isinstance(table, Table) or (not self._plan.declared and None in batch.value_schemas):
            return None
        given, nulls = table.as_dict(), [None] * len(table)
        arrays = [pa.array(given.get(field.name, nulls), field.type) for field in self._arrow]
        return pa.StructArray.from_arrays(arrays, fields=list(self._arrow))

    def _structs(self, batch: Batch) -> list[Any]:
        """The values as dicts of columns; what is no struct is the column ``value``."""
        if self._plan.declared:
            if VALUE not in self._columns.names:
                return batch.values
            return [value if isinstance(value, dict) else {VALUE: value} for value in batch.values]
        kinds = {id(schema): schema for schema in batch.value_schemas}
        structs = {one for one, schema in kinds.items() if schema is not None and schema.type is Type.STRUCT}
        if len(structs) == len(kinds):
            return batch.values
        return [
            value if value is None or id(schema) in structs else {VALUE: value}
            for value, schema in zip(batch.values, batch.value_schemas, strict=True)
        ]


def extra(name: str, batch: Batch, kind: pa.DataType) -> pa.Array:
    origin = batch.origin
    assert isinstance(origin, SinkOrigin)
    match name:
        case "_topic":
            return pa.array(batch.topics, kind)
        case "_partition":
            return pa.array(origin.partitions, kind)
        case "_offset":
            return pa.array(origin.offsets, kind)
        case "_timestamp":
            return pa.array(batch.timestamps, pa.int64()).cast(pa.timestamp("ms", tz="UTC")).cast(kind)
        case "_key":
            return pa.array(texts(batch.keys), kind)
        case _:
            return pa.array([[{"key": h.key, "value": text_of(h.value)} for h in row] for row in batch.headers], kind)


_TYPES = {-1: "NoTimestampType", 0: "CreateTime", 1: "LogAppendTime"}


def raw_batch(arrow: pa.RecordBatch) -> Batch:
    """What Spark's Kafka source has read, as columns of bytes; headers are pairs of name and bytes."""
    topics = arrow["topic"].to_pylist()
    partitions, offsets = arrow["partition"].to_pylist(), arrow["offset"].to_pylist()
    times = arrow["timestamp"].cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.int64()).to_pylist()
    headers: list[Any] = [
        tuple([(each["key"], each["value"]) for each in row]) if row else NO_HEADERS
        for row in arrow["headers"].to_pylist()
    ]
    return Batch.of(
        topics,
        arrow["value"].to_pylist(),
        keys=arrow["key"].to_pylist(),
        partitions=partitions,
        timestamps=times,
        headers=headers if any(headers) else None,
        origin=SinkOrigin(topics, partitions, offsets, [_TYPES[kind] for kind in arrow["timestampType"].to_pylist()]),
    )
