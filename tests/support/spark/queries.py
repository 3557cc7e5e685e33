"""Runs of Spark sinks and sources on a real Spark, and their output."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, cast

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from confluent_kafka import Consumer, TopicPartition

from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskEnded, TaskEvent, TaskFailed, TaskId, TaskMetrics, TaskRunning
from penstock.kafka.offsets.entries import OffsetEntries
from penstock.pipeline.task import CommittedOffset, TaskSpec
from support.kafka.client import READ_SECONDS, Kafka, Record, answered
from support.spark.host import Hosted, make_spec
from support.tasks.runs import JSON, STRING, eventually, new_name

PLAIN_JSON = {"value.converter": JSON, "value.converter.schemas.enable": "false", "key.converter": STRING}
SECONDS = 900
COLUMNS = "id BIGINT, name STRING"
"""Columns of the rows that ``make`` makes."""


def make(first: int, last: int) -> list[dict[str, Any]]:
    return [{"id": i, "name": f"n{i % 3}"} for i in range(first, last)]


def ids(rows: list[dict[str, Any]]) -> list[int]:
    return sorted(row["id"] for row in rows)


def sample_spec(task_class: str, config: dict[str, str], **worker: str) -> TaskSpec:
    """Return the specification of a source's task for a preview."""
    return TaskSpec(
        connector="previewed",
        task=0,
        run=0,
        kind="query",
        task_class=task_class,
        config=config,
        connector_config=config,
        worker_config=worker,
        is_source=True,
    )


class Query:
    """A connector whose task is a query; as a context manager it leaves nothing running."""

    task_class = ""

    def __init__(self, hosted: Hosted, kafka: Kafka, topic: str, config: dict[str, str]) -> None:
        self.hosted, self.kafka, self.topic = hosted, kafka, topic
        self.name = new_name("query")
        self.id = TaskId(self.name, 0)
        self.config = {"name": self.name, **PLAIN_JSON} | {k.replace("_", "."): v for k, v in config.items()}
        self.worker: dict[str, str] = {}
        """Additional settings of the worker."""
        self.plugin_path: tuple[str, ...] = ()
        self.skips: tuple[Skip, ...] = ()
        self.number = 0
        self.running = False

    def start(self, paused: bool = False, until: type[TaskEvent] = TaskRunning, **config: str) -> list[TaskEvent]:
        """Begin the next run, and return its events up to this one."""
        self.number += 1
        self.config |= {key.replace("_", "."): value for key, value in config.items()}
        spec = TaskSpec(
            connector=self.name,
            task=0,
            run=self.number,
            kind="query",
            task_class=self.task_class,
            config=self.config,
            connector_config=self.config,
            worker_config={"bootstrap.servers": self.kafka.bootstrap, **self.worker},
            paused=paused,
            group_id="query-tests",
            plugin_path=self.plugin_path,
            skips=self.skips,
            **self.more(),
        )
        self.running = True
        self.hosted.run(spec)
        return self.until(until)

    def until(self, event: type[TaskEvent]) -> list[TaskEvent]:
        """Take the events up to the first of this kind. Fails with the task's trace if it ends before."""
        events = self.hosted.events.until((event, TaskEnded), self.id, timeout=SECONDS)
        if not isinstance(events[-1], event):
            self.running = False
            traces = [event.trace for event in events if isinstance(event, TaskFailed)]
            pytest.fail(
                f"The task has ended, and {event.__name__} has not been reported.\n{''.join(traces)}", pytrace=False
            )
        return events

    def stop(self, patience: float | None = None) -> list[TaskEvent]:
        """Stop the task. ``patience``: seconds to end by itself, instead of ``task.shutdown.graceful.timeout.ms``."""
        self.hosted.stop(self.id, patience)
        return self.ended()

    def ended(self) -> list[TaskEvent]:
        self.running = False
        return self.until(TaskEnded)

    def failure(self) -> str:
        """Wait until the task has failed, and return its trace."""
        (failed,) = [event for event in self.ended() if isinstance(event, TaskFailed)]
        return failed.trace

    def refusal(self) -> str:
        """Begin a run that fails before it is running, and return its trace."""
        events = self.start(until=TaskEnded)
        self.running = False
        return next(event.trace for event in events if isinstance(event, TaskFailed))

    def figures(self, fit: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        """Wait for the first metrics of the task for which ``fit`` is true, and return them."""

        def reported() -> dict[str, Any] | None:
            values: dict[str, Any] = self.until(TaskMetrics)[-1].values
            return values if fit(values) else None

        return cast("dict[str, Any]", eventually(reported, SECONDS))

    def more(self) -> dict[str, Any]:
        """Return additional fields of the task's specification."""
        return {}

    def while_another_runs(self) -> None:
        """Run a task of another connector on the same Spark from start to end. By then this query has done whatever it
        would do: events that have not happened will not happen.
        """
        other = make_spec(fail="yes")
        self.hosted.run(other)
        self.hosted.events.until(TaskEnded, TaskId(other.connector, 0))

    def fine(self) -> bool:
        """Return True, or fail with the trace if the task has failed."""
        failed = [event.trace for event in self.hosted.events.so_far(self.id) if isinstance(event, TaskFailed)]
        assert not failed, failed[0]
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.running:
            self.stop()


class Sink(Query):
    """Writes ``topic`` to ``folder``."""

    task_class = "penstock.connectors.spark:SparkSinkTask"

    def __init__(self, hosted: Hosted, kafka: Kafka, topic: str, folder: Path, **config: str) -> None:
        self.folder = folder
        super().__init__(hosted, kafka, topic, {"topics": topic, "format": "parquet", "path": str(folder), **config})

    def produce(self, *values: Any) -> None:
        self.kafka.produce(self.topic, [json.dumps(value) for value in values])

    def rows(self, format: str = "parquet") -> list[dict[str, Any]]:
        """Return the rows that a reader of the folder finds, in no particular order."""
        files = ds.dataset(self.folder, format=format, partitioning="hive")
        if not files.files:
            return []
        schemas = [files.schema, *(fragment.physical_schema for fragment in files.get_fragments())]
        wide = pa.unify_schemas(schemas, promote_options="permissive")
        # Only the files just listed: one added since then may have more columns.
        return ds.dataset(files.files, wide, format=format, partitioning="hive").to_table().to_pylist()

    def wait(self, count: int) -> list[dict[str, Any]]:
        """Wait for ``count`` rows and return them."""

        def look() -> list[dict[str, Any]] | None:
            self.fine()
            try:
                rows = self.rows() if self.folder.exists() else []
            except OSError:
                return None  # files are being moved
            return rows if len(rows) >= count else None

        rows = eventually(look, SECONDS)
        assert rows is not None
        assert len(rows) == count
        return rows

    def written(self, count: int) -> None:
        """Wait until the group has committed this many records. Rows are visible a moment before their offsets are
        committed; a run that is stopped in between leaves the last batch's commit to the next run.
        """
        eventually(lambda: self.fine() and sum(offset for offset, _ in self.committed().values()) == count, SECONDS)

    def begun(self, count: int) -> int:
        """Wait until a batch has begun, and return the number of records. The batch may be over before the test has
        looked, so more records are produced whenever all of the ``count`` records have been written.
        """

        def look() -> bool:
            nonlocal count
            self.fine()
            known = self.committed().values()
            if any("end" in metadata for _, metadata in known):
                return True
            if sum(offset for offset, _ in known) == count:
                self.produce(*make(count, count + 50))
                count += 50
            return False

        eventually(look, SECONDS)
        return count

    def committed(self) -> dict[int, tuple[int, dict[str, Any]]]:
        """Return the group's offset and metadata by partition."""
        consumer = self._consumer()
        try:
            known = answered(lambda: consumer.list_topics(self.topic, timeout=READ_SECONDS))
            partitions = known.topics[self.topic].partitions
            wanted = [TopicPartition(self.topic, number) for number in partitions]
            answers = answered(lambda: consumer.committed(wanted, timeout=READ_SECONDS))
            return {a.partition: (a.offset, json.loads(a.metadata or "{}")) for a in answers if a.offset >= 0}
        finally:
            consumer.close()

    def commit(self, offsets: dict[int, tuple[int, dict[str, Any]]]) -> None:
        """Set the group's offsets and metadata, as a run may have left them."""
        consumer = self._consumer()
        try:
            wanted = [TopicPartition(self.topic, p, offset, json.dumps(m)) for p, (offset, m) in offsets.items()]
            answered(lambda: consumer.commit(offsets=wanted, asynchronous=False))
        finally:
            consumer.close()

    def left_in_batch(self, start: int, end: int, *, next: bool = False) -> dict[str, Any]:
        """Set partition 0's offset as a run leaves it that is killed within a batch of these records: the last batch,
        or the next one. Return the metadata before that.
        """
        _, metadata = self.committed()[0]
        self.commit({0: (start, {**metadata, "version": metadata["version"] + next, "end": end})})
        return metadata

    def _consumer(self) -> Consumer:
        settings = {
            "bootstrap.servers": self.kafka.bootstrap,
            "group.id": f"connect-{self.name}",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
        }
        return Consumer(settings)


def named_gap(one: Query, sentence: str) -> None:
    """Wait until the status of a sink names a gap."""
    while True:
        event = one.until(TaskRunning)[-1]
        assert isinstance(event, TaskRunning)
        if sentence in (event.degraded_reason or ""):
            return


class SourceQuery(Query):
    """A source, whose offsets are in a topic of its own."""

    offsets: str
    exactly_once: bool

    def more(self) -> dict[str, Any]:
        return {
            "exactly_once": self.exactly_once,
            "offsets_topic": self.offsets,
            "offsets": stored_offsets(self),
        }


def stored_offsets(query: SourceQuery) -> tuple[CommittedOffset, ...]:
    """Return the connector's offsets as a worker reads them."""
    entries = OffsetEntries()
    entries.put([(record.key, record.value, record.headers) for record in query.kafka.read_all(query.offsets)])
    return tuple(
        CommittedOffset(each.partition, each.offset, None, each.identity) for each in entries.snapshot(query.name)
    )


class Source(SourceQuery):
    """Reads ``folder`` into ``topic``; its offsets are in a separate topic."""

    task_class = "penstock.connectors.spark:SparkSourceTask"

    def __init__(self, hosted: Hosted, kafka: Kafka, place: Path, exactly_once: bool = True, **config: str) -> None:
        self.folder, self.checkpoint, self.exactly_once = place / "in", place / "checkpoint", exactly_once
        self.folder.mkdir(exist_ok=True)
        self.offsets = kafka.create_topic()
        topic = kafka.create_topic(partitions=2)
        reads = {
            "topic": topic,
            "format": "json",
            "path": str(self.folder),
            "checkpoint.location": str(self.checkpoint),
        }
        super().__init__(hosted, kafka, topic, {**reads, **config})

    def add(self, file: str, *rows: dict[str, Any]) -> None:
        """Add a file of these rows atomically."""
        (self.folder / f".{file}").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (self.folder / f".{file}").rename(self.folder / file)

    def values(self) -> list[Any]:
        return [json.loads(value or b"null") for value in self.kafka.values(self.topic)]

    def wait(self, count: int) -> list[Any]:
        """Wait for ``count`` values and return them."""
        values: list[Any] = eventually(lambda: self.fine() and len(found := self.values()) >= count and found, SECONDS)
        assert len(values) == count
        return values

    def committed(self) -> dict[str, Any] | None:
        """Return the last source offset."""
        stored = self.kafka.values(self.offsets)
        return json.loads(stored[-1]) if stored and stored[-1] is not None else None

    def batch(self, number: int) -> None:
        """Wait until this batch is committed."""
        eventually(lambda: self.fine() and (self.committed() or {}).get("batch", -1) >= number, SECONDS)

    def reset(self, offset: dict[str, Any] | None = None) -> None:
        """Set or delete the offset, as the REST API does."""
        key = json.dumps([self.name, {"query": self.name}], separators=(",", ":"))
        self.kafka.produce(self.offsets, [Record(None if offset is None else json.dumps(offset), key)])
