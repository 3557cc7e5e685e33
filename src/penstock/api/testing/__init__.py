"""A kit for the tests of plugin authors: run tasks and transforms on plain lists, without Kafka and without Spark.

A source task, from nothing but its class and a configuration:

>>> from penstock.api.testing import run_source, run_sink, apply, sink_record
>>> from penstock.api.source import SourceTask
>>> from penstock.api.record import SourceRecord
>>> class Countdown(SourceTask):
...     def start(self, config):
...         before = self.context.offset_reader.offset({"counter": 1})
...         self.left = before["left"] if before else int(config["from"])
...     def poll(self):
...         if self.left == 0:
...             return None
...         self.left -= 1
...         return [SourceRecord(topic="t", value=self.left, source_partition={"counter": 1},
...                              source_offset={"left": self.left})]
>>> [record.value for record in run_source(Countdown, {"from": "3"})]
[2, 1, 0]
>>> [record.value for record in run_source(Countdown, {"from": "3"}, offsets=[({"counter": 1}, {"left": 1})])]
[0]

A sink task, and what it let the runtime commit:

>>> from penstock.api.sink import SinkTask
>>> class Shout(SinkTask):
...     def put(self, records):
...         for record in records:
...             print(record.value.upper())
>>> run_sink(Shout, {}, [sink_record("a"), sink_record("b")]).committed
A
B
{TopicPartition(topic='test', partition=0): 2}

A transform, on a batch and on each record separately, which must give the same:

>>> from penstock.api.transform import Transformation
>>> class Drop(Transformation):
...     def configure(self, config):
...         self.unwanted = config["value"]
...     def apply(self, record):
...         return None if record.value == self.unwanted else record
>>> [record.value for record in apply(Drop, [sink_record("a"), sink_record("b")], {"value": "a"})]
['b']
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from penstock.api.batch import Batch
from penstock.api.errors import RetriableError
from penstock.api.kafka import KafkaClients, NoKafkaClients
from penstock.api.plugin_metrics import NO_TAGS
from penstock.api.record import Record, SinkRecord, SourceRecord
from penstock.api.returned import polled_batch, ran
from penstock.api.sink import SinkTask, TopicPartition
from penstock.api.source import SourceTask, TransactionContext
from penstock.api.transform import Transformation

R = TypeVar("R", bound=Record)
Offsets = Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]

MAX_POLLS = 10_000
MAX_RETRIES = 10
NO_KAFKA = NoKafkaClients("This test has no Kafka clients: give some to the context")
"""``kafka`` of the contexts, unless a test gives other clients."""


@dataclass(slots=True)
class MemoryOffsets:
    """An ``OffsetReader`` of pairs in memory."""

    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = field(default_factory=list)

    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Return the last offset of this source partition; None if there is none."""
        return next((offset for known, offset in reversed(self.pairs) if known == partition), None)

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        """Return the last offset of each source partition, in their order."""
        return [self.offset(partition) for partition in partitions]


@dataclass(frozen=True, slots=True)
class MemoryPluginMetrics:
    """``PluginMetrics`` that are read by their names, without tags."""

    metrics: dict[str, Callable[[], float]] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)

    def add(self, name: str, description: str, value: Callable[[], float], tags: Mapping[str, str] = NO_TAGS) -> None:
        """Add a metric, which is read as ``metrics[name]()``."""
        self.metrics[name] = value

    def remove(self, name: str, tags: Mapping[str, str] = NO_TAGS) -> None:
        """Remove a metric; raises KeyError if there is none."""
        del self.metrics[name]


@dataclass(frozen=True, slots=True)
class MemorySourceContext:
    """A ``SourceTaskContext`` whose offsets and metrics are in memory."""

    configs: Mapping[str, str]
    offset_reader: MemoryOffsets
    transaction: TransactionContext | None = None
    plugin_metrics: MemoryPluginMetrics = field(default_factory=MemoryPluginMetrics)
    kafka: KafkaClients = NO_KAFKA


def run_source(
    task_class: type[SourceTask],
    config: Mapping[str, str],
    offsets: Offsets = (),
    polls: int | None = None,
    transaction: TransactionContext | None = None,
    kafka: KafkaClients = NO_KAFKA,
) -> list[SourceRecord]:
    """Return all records that a task returns, from ``start`` to ``stop``.

    ``offsets`` are pairs of source partition and source offset as an earlier run left them. It is polled ``polls``
    times, or until a poll gives nothing. A RetriableError counts as an empty poll; any other error is raised here.
    ``kafka``: the Kafka clients of the context.
    """
    committed = MemoryOffsets([(dict(partition), dict(offset)) for partition, offset in offsets])
    task = task_class()
    task.context = MemorySourceContext(dict(config), committed, transaction, kafka=kafka)
    records: list[SourceRecord] = []
    try:
        task.start(dict(config))
        for _ in range(MAX_POLLS if polls is None else polls):
            found = _polled(task)
            records += found
            committed.pairs += [(record.source_partition, record.source_offset) for record in found[-1:]]
            if not found and polls is None:
                break
        else:
            if polls is None:
                raise AssertionError(f"{task_class.__name__} gave records at each of {MAX_POLLS} polls; say how many")
        task.commit()
    finally:
        task.stop()
    return records


def _polled(task: SourceTask) -> list[SourceRecord]:
    try:
        found = task.poll()
    except RetriableError:
        return []
    if found is None or polled_batch(found) is None:
        return []
    return list(found.rows()) if isinstance(found, Batch) else list(found)  # type: ignore[arg-type]


@dataclass(slots=True)
class MemorySinkContext:
    """A ``SinkTaskContext`` that records the calls."""

    configs: Mapping[str, str]
    assignment: frozenset[TopicPartition]
    reported: list[tuple[SinkRecord, BaseException]] = field(default_factory=list)
    rewound: dict[TopicPartition, int] = field(default_factory=dict)
    paused: set[TopicPartition] = field(default_factory=set)
    retry_after: int | None = None
    commit_requested: bool = False
    plugin_metrics: MemoryPluginMetrics = field(default_factory=MemoryPluginMetrics)

    @property
    def errant_record_reporter(self) -> MemorySinkContext:
        """The reporter: this object itself."""
        return self

    def report(self, record: SinkRecord, error: BaseException) -> None:
        """Note a reported record in ``reported``."""
        self.reported.append((record, error))

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Note the offsets in ``rewound``."""
        self.rewound.update(offsets)

    def timeout(self, milliseconds: int) -> None:
        """Note the milliseconds in ``retry_after``."""
        self.retry_after = milliseconds

    def pause(self, *partitions: TopicPartition) -> None:
        """Note the partitions in ``paused``."""
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Remove the partitions from ``paused``."""
        self.paused.difference_update(partitions)

    def request_commit(self) -> None:
        """Note the request in ``commit_requested``."""
        self.commit_requested = True


@dataclass(frozen=True, slots=True)
class SinkRun:
    """The result of ``run_sink``: the offsets that ``pre_commit`` returned, and the records reported as errant."""

    committed: dict[TopicPartition, int]
    reported: list[tuple[SinkRecord, BaseException]]
    context: MemorySinkContext


def run_sink(
    task_class: type[SinkTask], config: Mapping[str, str], records: Iterable[SinkRecord], batch: int = 500
) -> SinkRun:
    """Put these records, ``batch`` at a time, through the whole life of a task.

    Its methods are called in the order start, open, put, pre_commit, close, stop. Records without an offset get the
    next one of their partition. A put that raises RetriableError is retried a few times.
    """
    rows = numbered(records)
    ends = {TopicPartition(r.topic, r.partition or 0): r.offset + 1 for r in rows}
    task = task_class()
    context = MemorySinkContext(dict(config), frozenset(ends))
    task.context = context
    try:
        task.start(dict(config))
        task.open(sorted(ends))
        for start in range(0, len(rows), batch):
            _put(task, Batch.of_sink_records(rows[start : start + batch]))
        committed = dict(task.pre_commit(dict(ends)))
        task.close(sorted(ends))
    finally:
        task.stop()
    return SinkRun(committed, context.reported, context)


def _put(task: SinkTask, batch: Batch) -> None:
    for attempt in range(1, MAX_RETRIES + 1):
        try:
            return ran("put_batch", task.put_batch(batch))  # type: ignore[func-returns-value]
        except RetriableError:
            if attempt == MAX_RETRIES:
                raise
    return None


def numbered(records: Iterable[SinkRecord]) -> list[SinkRecord]:
    """Return the records as they would come from Kafka: those without an offset get the next one of their partition."""
    following: dict[tuple[str, int], int] = {}
    rows = []
    for record in records:
        partition = record.partition or 0
        offset = record.offset if record.offset >= 0 else following.get((record.topic, partition), 0)
        following[record.topic, partition] = offset + 1
        origin: dict[str, Any] = {
            "original_topic": record.topic,
            "original_partition": partition,
            "original_offset": offset,
        }
        rows.append(replace(record, partition=partition, offset=offset, **origin))
    return rows


def sink_record(value: Any, topic: str = "test", **attributes: Any) -> SinkRecord:
    """Make a record of partition 0, unless ``attributes`` (those of SinkRecord) say otherwise."""
    return SinkRecord(**{"topic": topic, "value": value, "partition": 0, **attributes})


def apply(
    transform: Transformation | type[Transformation], records: Iterable[R], config: Mapping[str, str] | None = None
) -> list[R]:
    """Return the records that a transform returns. A class is instantiated and configured first.

    Raises AssertionError if the transform returns something else for a whole batch than for the records one by one.
    """
    if isinstance(transform, type):
        transform = transform()
        transform.configure(dict(config or {}))
    rows = list(records)
    together = list(transform.apply_batch(Batch.of_rows(rows)).rows()) if rows else []  # type: ignore[arg-type]
    alone = [
        changed
        for row in rows
        for changed in transform.apply_batch(Batch.of_rows([row])).rows()  # type: ignore[list-item]
    ]
    assert together == alone, f"{transform} gives {together} for a batch, but {alone} for its records one by one"
    return together  # type: ignore[return-value]
