"""Records to rows, in Spark's Python processes: the connector's converters and transforms on Arrow batches.

It is the same code as in a hosted sink task, with the same tolerance of errors and the same dead letters; only the
writing of the rows is left to Spark.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark import Accumulator, TaskContext

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.errors import ConnectError
from penstock.core.model.tasks import TaskId
from penstock.hosts.errors import HostLost
from penstock.kafka.client_settings import connector_producer
from penstock.kafka.clients import new_producer
from penstock.pipeline.conversion import conversion_and_chain
from penstock.pipeline.dead_letters import DeadLetterQueue, queue_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, FailureReporter, LogReporter, RecordFailure, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.original_records import OriginalRecords
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.telemetry.stages import timed
from penstock.pipeline.telemetry.traces import MAX_TRACES, TRACES, is_on, traceparents
from penstock.pipeline.trace import trace
from penstock.spark.query.safe import SafeSpec, plugins_for
from penstock.spark.query.sink.progress import Partition
from penstock.spark.query.sink.rows.held_letters import HeldFailures, HeldProducer
from penstock.spark.query.sink.rows.keys import Keying, Keys
from penstock.spark.query.sink.rows.plan import SCHEMA_COLUMN, RowPlan, RowsError, lost_host
from penstock.spark.query.sink.rows.row_maker import (
    COLUMNS_STEP,
    SINK_CLASS,
    Finish,
    RowMaker,
    columns_in,
    raw_batch,
)
from penstock.spark.query.sink.rows.table_keys import TableKeys
from penstock.spark.query.sink.totals import BatchTotals, TotalsOfParts


@dataclass(frozen=True, slots=True)
class Rows:
    """The function of ``mapInArrow``. Without a plan it returns the columns of the first records."""

    spec: SafeSpec
    plan: RowPlan | None
    totals: Accumulator[TotalsOfParts]
    keys: Keys | None = None
    """By what rows are found that are to be changed."""
    report: bool = True
    """Whether failures of records are reported; otherwise these are left out silently."""
    exact: bool = False
    """RowPlan's setting of this name, for rows without a plan."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.made(batches)

    def made(self, batches: Iterable[pa.RecordBatch], finish: Finish | None = None) -> Generator[pa.RecordBatch]:
        """Yield the rows of records, in this process; ``finish`` as for RowMaker."""
        with ExitStack() as stack:
            try:
                pipeline = Pipeline.start(self.spec, stack, report=self.report and self.plan is not None)
                if self.keys is not None:
                    pipeline.transforms.append(Keying(self.keys, SINK_CLASS).step)
                if self.plan is not None and self.plan.keys:
                    pipeline.transforms.append(_table_keys(self.plan).step)
                if self.plan is None:
                    yield from _probe(pipeline, batches, self.exact)
                else:
                    yield from self._rows(pipeline, RowMaker(self.plan, finish), batches)
            except RowsError:
                raise
            except HostLost as lost:
                raise lost_host(lost) from lost
            except Exception as error:
                raise RowsError(trace=trace(error)) from error

    def _rows(self, pipeline: Pipeline, maker: RowMaker, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with pipeline.one_try():
            for arrow in batches:
                batch = _without(pipeline.process(raw_batch(arrow)), maker.plan.refused)
                if rows := maker.rows(batch, pipeline.errors):
                    pipeline.metrics.add("sink-record-send-total", rows.num_rows)
                    yield rows
        if pipeline.first is not None:
            self.totals.add(TotalsOfParts({pipeline.first: pipeline.totals()}))


def _table_keys(plan: RowPlan) -> TableKeys:
    drops = plan.keys == "drop"
    names = plan.value_type().names
    return TableKeys(names, plan.target, SINK_CLASS, ignores_case=plan.ignores_case, drops=drops)


def _without(batch: Batch, refused: Mapping[Partition, Collection[int]]) -> Batch:
    """Return the batch without records whose rows the table refuses."""
    if not refused:
        return batch
    origin = batch.origin
    assert isinstance(origin, SinkOrigin)
    places = zip(zip(origin.topics, origin.partitions, strict=True), origin.offsets, strict=True)
    return batch.select([i for i, (place, offset) in enumerate(places) if offset not in refused.get(place, ())])


def _probe(pipeline: Pipeline, batches: Iterable[pa.RecordBatch], exact: bool) -> Iterator[pa.RecordBatch]:
    for arrow in batches:
        batch = pipeline.process(raw_batch(arrow))
        found = columns_in(pipeline.errors.run([COLUMNS_STEP], batch), exact) if len(batch) else None
        if found is not None:
            yield pa.record_batch({SCHEMA_COLUMN: pa.array([found.json()])})
            return


@dataclass(slots=True)
class Pipeline:
    """Converters, transforms and what ``errors.*`` say, for one Spark task."""

    errors: ErrorHandler
    converters: list[Step]
    transforms: list[Step]
    letters: OriginalRecords
    metrics: Metrics
    queue: LazyQueue | None
    traced: bool = False
    """Whether the headers ``traceparent`` of records are wanted."""
    topics: set[str] = field(default_factory=set)
    """Topics of the records that were converted."""
    parents: set[str] = field(default_factory=set)
    """These headers, at most ``MAX_TRACES``."""
    first: tuple[str, int, int] | None = None
    """Topic, partition and offset of the first record."""
    latest: int = 0
    """The latest timestamp."""
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def start(cls, safe: SafeSpec, stack: ExitStack, report: bool, held: HeldFailures | None = None) -> Pipeline:
        """``report``: whether failures are counted and reported and can fail the task; otherwise they are ignored.
        ``held`` gets them in place of those to whom they are reported.
        """
        spec, resolve = stack.enter_context(plugins_for(safe, safe.spec()))
        connector = {**spec.connector_config, "name": spec.connector}
        id = TaskId(spec.connector, spec.task)
        metrics = Metrics(lambda _: None, ())
        conversion, chain = stack.enter_context(conversion_and_chain(connector, spec.worker_config, resolve))
        letters = OriginalRecords(conversion=conversion)
        settings = ErrorSettings.of(connector) if report else ErrorSettings(tolerate=True)
        queue = None
        reporters: list[FailureReporter] = [LogReporter(id, settings, metrics)]
        if report and queue_of(connector) is not None:
            queue = LazyQueue(id, connector, spec, metrics, letters)
            reporters.insert(0, queue)
        if held is not None:
            held.reporters, reporters = reporters, [held]
        errors = ErrorHandler(settings, metrics, _wait, tuple(reporters))
        steps = timed(conversion.to_connect(), metrics), timed(chain.steps, metrics)
        return cls(errors, *steps, letters, metrics, queue, report and is_on(spec.worker_config, TRACES))

    def process(self, raw: Batch) -> Batch:
        self.metrics.add("sink-record-read-total", len(raw))
        self.latest = max(self.latest, max(filter(None, raw.timestamps), default=0))
        if self.first is None and isinstance(raw.origin, SinkOrigin):
            self.first = raw.origin.topics[0], raw.origin.partitions[0], raw.origin.offsets[0]
        self.letters.raw = raw
        if self.traced and len(self.parents) < MAX_TRACES:
            self.parents.update(islice(traceparents(raw.headers), MAX_TRACES - len(self.parents)))
        batch = self.errors.run(self.converters, raw)
        self.topics.update(batch.topics)
        return self.errors.run(self.transforms, batch)

    def finish(self) -> None:
        """Returns when all dead letters are in their queue. Raises ConnectError."""
        if self.queue is not None:
            self.queue.flush()

    @contextmanager
    def one_try(self) -> Iterator[None]:
        """Dead letters are in their queue when it is over. Raises ConnectError."""
        try:
            yield
        except RowsError:
            raise
        except Exception:
            # Spark tries three times more, and finds the same.
            if is_first_try():
                with suppress(ConnectError):
                    self.finish()
            raise
        self.finish()

    def totals(self) -> BatchTotals:
        now = time.monotonic()
        totals = BatchTotals.of_metrics(self.metrics.snapshot(now))
        totals.busy, totals.latest = now - self.began, float(self.latest)
        totals.topics, totals.traceparents = self.topics, self.parents
        return totals


def is_first_try() -> bool:
    context = TaskContext.get()
    return context is None or context.attemptNumber() == 0


def _wait(seconds: float) -> bool:
    time.sleep(seconds)
    return False


class LazyQueue:
    """The dead letter queue, which is created with the first dead letter, and gets all of a try at its end."""

    def __init__(
        self, id: TaskId, connector: dict[str, str], spec: TaskSpec, metrics: Metrics, letters: OriginalRecords
    ) -> None:
        self._id, self._connector, self._spec = id, connector, spec
        self._metrics, self._letters = metrics, letters
        self._queue: DeadLetterQueue | None = None

    def __call__(self, failure: RecordFailure) -> None:
        if self._queue is None:
            java = connector_producer(self._spec.worker_config, self._connector, f"connector-dlq-producer-{self._id}")
            producer: Any = HeldProducer(lambda: new_producer(java))
            self._queue = DeadLetterQueue(self._id, self._connector, producer, self._metrics, self._letters.original)
        self._queue(failure)

    def flush(self) -> None:
        if self._queue is not None:
            self._queue.flush(30.0)
