"""One query task: from the start of its connector's only task to its stop, as ``pipeline.sink`` is it for a hosted one.

Spark's query calls ``_batch`` for each batch, one after the other. Whenever there is a reason (a pause, a stop, other
partitions) the query is ended between two batches, and another one begins where the group stands.
"""

from __future__ import annotations

import contextlib
import logging
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConnectError, KafkaError, RetriableError
from penstock.core.model.tasks import TaskId
from penstock.kafka.client_settings import connector_consumer, transactional_producer
from penstock.kafka.clients import consumer_config, make_admin, new_consumer, new_producer
from penstock.pipeline.chain import Chain, Resolve
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.dead_letters import make_queue, queue_of
from penstock.pipeline.errors import ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.task import TOTALS
from penstock.pipeline.task import TaskControl, TaskHost, TaskSpec, await_start
from penstock.pipeline.topics import ActiveTopics
from penstock.spark.query.dataframes import full_text
from penstock.spark.query.sink.lag import RECORD_TIME, measure
from penstock.spark.query.sink.offsets import Group, Place, Span, Version
from penstock.spark.query.sink.retries import Retries
from penstock.spark.query.sink.rows import TOPIC
from penstock.spark.query.sink.settings import SinkSettings
from penstock.spark.query.sink.target import target_of
from penstock.spark.query.sink.topics import Topics, as_json, assignment, from_json, kafka_options
from penstock.spark.query.sink.writer import BatchWriter, FailedRecords, NotWrittenError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.25
"""How often the loop looks after the query."""
NO_TOPIC_SECONDS = 1.0
MOST_PATIENCE = 30.0
_PASSING = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|LeaderNotAvailable|NotLeaderOrFollower|"
    r"CoordinatorNotAvailable|CoordinatorLoadInProgress|NotCoordinator|BrokerNotAvailable|UnknownTopicOrPartition)"
)


def run_query(
    spec: TaskSpec,
    session: SparkSession,
    control: TaskControl,
    host: TaskHost,
    resolve: Resolve,
    entered: Callable[[], None] = lambda: None,
) -> None:
    """Run the task until it is stopped; as ``run_sink_task``. ``session`` is the task's own.

    ``entered`` is called at the beginning of each batch, in the thread that works on it.
    """
    id = TaskId(spec.connector, spec.task)
    connector = {**spec.connector_config, "name": spec.connector}
    settings = SinkSettings.of(connector)
    with contextlib.ExitStack() as stack:
        if queue_of(connector) is not None:
            make_queue(
                make_admin(spec.worker_config, connector, client_id=f"connector-dlq-adminclient-{id}"), connector
            )
        # What they complain about is to be heard before the first record is read.
        stack.callback(Conversion.build(connector, spec.worker_config, resolve).close)
        stack.callback(Chain.build(connector, resolve).close)
        if not await_start(control, host):
            return
        java = connector_consumer(spec.worker_config, connector, f"connector-consumer-{id}")
        consumer = new_consumer(java)
        stack.callback(consumer.close)
        producer = new_producer(
            transactional_producer(
                spec.worker_config,
                connector,
                f"connector-producer-{id}",
                f"{spec.group_id or 'connect'}-{spec.connector}-{spec.task}",
            )
        )
        scratch = Path(tempfile.mkdtemp(prefix="penstock-query-"))
        stack.callback(shutil.rmtree, scratch, ignore_errors=True)
        metrics = Metrics(host.metrics, TOTALS)
        retries = Retries(ErrorSettings.of(connector))

        def written() -> None:
            if retries.over():
                host.running()

        query = _Query(
            settings,
            session,
            control,
            BatchWriter(spec, settings, session, target_of(settings, spec.connector, session)),
            Group(consumer, producer),
            Topics(consumer, connector, java["auto.offset.reset"]),
            ActiveTopics(spec, control, host),
            metrics,
            kafka_options(spec.worker_config, connector),
            consumer_config(java)["metadata.max.age.ms"] / 1000,
            str(id),
            scratch,
            entered,
            written,
        )

        def measure() -> None:
            metrics.put("penstock-retrying", float(retries.since is not None))
            query.measure()

        metrics.before_report = measure
        log.info("%s Sink task finished initialization and start", id)
        host.running()
        patience = 1.0
        while not control.stopping:
            if control.pausing:
                await_start(control, host)
                if not control.stopping:
                    host.running()
                continue
            try:
                query.run()
                patience = 1.0
            except Exception as error:
                if passes(error):
                    log.warning("The query of %s has ended and is started again in %g s: %s", id, patience, error)
                    metrics.survived(error)
                    _wait(control, metrics, patience)
                    patience = min(patience * 2, MOST_PATIENCE)
                elif isinstance(error, NotWrittenError) and (delay := retries.after(time.monotonic())) is not None:
                    log.warning("%s: %s. It is tried again in %g s.", id, error, delay)
                    metrics.add("total-retries")
                    metrics.survived(error)
                    host.running(f"{error}. It is tried again, as errors.retry.timeout says")
                    _wait(control, metrics, delay)
                else:
                    raise


def _wait(control: TaskControl, metrics: Metrics, seconds: float) -> None:
    """Until then, or until the task is to do something else."""
    now = time.monotonic()
    until = now + seconds
    while not (control.stopping or control.pausing) and now < until:
        metrics.tick(now)
        control.wait(min(until - now, LOOK_SECONDS))
        now = time.monotonic()


def passes(error: Exception) -> bool:
    """Whether it is about brokers that may come back, as a consumer waits for them without a word."""
    if isinstance(error, FailedRecords):
        return False
    told = error.text if isinstance(error, NotWrittenError) else full_text(error)
    return isinstance(error, RetriableError) or _PASSING.search(told) is not None


@dataclass(slots=True)
class _Query:
    settings: SinkSettings
    session: SparkSession
    control: TaskControl
    frames: BatchWriter
    group: Group
    topics: Topics
    active: ActiveTopics
    metrics: Metrics
    options: Mapping[str, str]
    max_age: float
    """Seconds after which partitions are looked for again."""
    name: str
    scratch: Path
    entered: Callable[[], None]
    written: Callable[[], None]
    """Called after each batch, by whoever has written it."""
    version: Version | None = None
    """Of the last batch that was written."""
    unfinished: Span | None = None
    """The batch after it, if it has been begun."""
    position: dict[Place, int] = field(default_factory=dict)
    """Where the next batch starts."""
    checkpoint: Path = field(default_factory=Path)
    latest: float = 0.0
    """The latest timestamp of a record that was read."""
    working: threading.Lock = field(default_factory=threading.Lock)
    """Held while a batch is written."""
    ending: bool = False
    failure: BaseException | None = None

    def run(self) -> None:
        """One query of Spark's, until there is a reason to end it. Raises what ended it otherwise."""
        self.group.claim()
        places = self.topics.partitions()
        self.metrics.put("partition-count", len(places))
        if not places:
            self.control.wait(NO_TOPIC_SECONDS)
            return
        if new := [place for place in places if place not in self.group.offsets]:
            progress = self.group.read(new)
            if self.version is None:
                self.version, self.unfinished = progress.version, progress.unfinished
        if self.unfinished is not None:
            self.entered()
            self._repeat(self.unfinished)
        self.position = self.topics.starts(places, self.group.offsets)
        query = self._start()
        try:
            self._attend(query, places)
        finally:
            self._end(query)
        if self.failure is not None:
            raise self.failure

    def measure(self) -> None:
        """Called before figures are reported."""
        position = dict(self.position)
        ends = self.topics.ends(position)
        if len(ends) == len(position):
            measure(self.metrics, position, ends, self.latest)

    def _start(self) -> StreamingQuery:
        self.ending, self.failure = False, None
        self.checkpoint = Path(tempfile.mkdtemp(dir=self.scratch))
        stream = (
            self.session.readStream.format("kafka")
            .options(**self.options)
            .option("assign", assignment(self.position))
            .option("startingOffsets", as_json(self.position))
            .option("maxOffsetsPerTrigger", self.settings.most)
            .load()
        )
        return (
            stream.writeStream.queryName(self.name)
            .option("checkpointLocation", self.checkpoint.as_uri())
            .trigger(processingTime=f"{int(self.settings.interval * 1000)} milliseconds")
            .foreachBatch(self._batch)
            .start()
        )

    def _attend(self, query: StreamingQuery, places: list[Place]) -> None:
        look = time.monotonic() + self.max_age
        while not (self.control.stopping or self.control.pausing):
            now = time.monotonic()
            self.metrics.tick(now)
            if self.failure is not None:
                return
            if not query.isActive:
                if not self.ending:
                    self.failure = ConnectError("The query has ended: " + full_text(query.exception() or Exception("")))
                return
            if now >= look:
                if self.topics.partitions() != places:
                    return
                look = now + self.max_age
            self.control.wait(LOOK_SECONDS)

    def _end(self, query: StreamingQuery) -> None:
        """Ends it between two batches, or, if the task is aborted, at once."""
        self.ending = True
        while not self.working.acquire(timeout=LOOK_SECONDS):
            if self.control.aborted:
                break
        else:
            self.working.release()
        query.stop()
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def _batch(self, records: DataFrame, number: int) -> None:
        """Called by Spark. Never raises, which Spark would tell at length; after a failure batches are passed by."""
        with self.working:
            if self.ending:
                return
            self.entered()
            try:
                end = self._end_of(number)
                span = Span({place: self.position[place] for place in end}, end)
                self._write(records, span)
                self.position |= end
            except BaseException as error:
                self.failure = None if self.ending else error
                self.ending = True
                self.control.changed.set()

    def _write(self, records: DataFrame, span: Span) -> None:
        assert self.version is not None
        started = time.monotonic()
        version = self.version.next()
        self.group.begin(version, span)
        self.unfinished = span
        self._count(self.frames.write(records, version), time.monotonic() - started)
        self.group.done(version, span)
        self.version, self.unfinished = version, None
        self.metrics.add("offset-commit-completion-total")
        self.written()

    def _repeat(self, span: Span) -> None:
        """Write the batch in which a run before this one ended."""
        log.info("The last batch of %s was not finished and is written again", self.name)
        records = (
            self.session.read.format("kafka")
            .options(**self.options)
            .option("assign", assignment(span.end))
            .option("startingOffsets", as_json(span.start))
            .option("endingOffsets", as_json(span.end))
            .load()
        )
        self._write(records, span)

    def _count(self, totals: Mapping[str, Any], seconds: float) -> None:
        for name, value in totals.items():
            if name == RECORD_TIME:
                self.latest = max(self.latest, value)
            elif isinstance(value, str):
                self.metrics.say(name, value)
            elif name.endswith("-timestamp"):
                self.metrics.put(name, value)
            elif not name.startswith(TOPIC):
                self.metrics.add(name, value)
        self.metrics.observe("put-batch", seconds * 1000, "-time-ms")
        self.active.used({name.removeprefix(TOPIC) for name in totals if name.startswith(TOPIC)})

    def _end_of(self, number: int) -> dict[Place, int]:
        """The end of a batch, which Spark has written down before it began."""
        try:
            text = (self.checkpoint / "offsets" / str(number)).read_text("utf-8")
            return from_json(text.strip().splitlines()[-1])
        except (OSError, ValueError, IndexError) as error:
            raise KafkaError(f"Spark's notes on batch {number} of {self.name} can't be read") from error
