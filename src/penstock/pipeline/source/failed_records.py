"""Records of a source that fail: its error log, which shows them as they were polled, and its dead letter queue.

The queue (``penstock.errors.deadletterqueue.*``; Java has none for sources) gets records that the source's transforms
or converters could not process. A dead letter is sent like any record of its task, in place of the failed one and with
its source offset: in the same transaction, or acknowledged before the offset is stored. It is the record as the task
returned it; key and value are written by JsonConverter with their schemas, or as plain JSON if they don't match their
schemas. Java: ``LogReporter.Source``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import SelectedRows
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.core.model.tasks import TaskId
from penstock.pipeline.converters import JsonConverter, SimpleHeaderConverter
from penstock.pipeline.dead_letters import context_headers, has_context, queue_of
from penstock.pipeline.errors import LogReporter, PipelineStage, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.sending.delivery_tracking import tracked
from penstock.pipeline.transforms.record_text import record_text

_STAGES = (
    PipelineStage.TASK_POLL,  # of records that a task has checked, see ``RuntimeHooks.checked``
    PipelineStage.TRANSFORMATION,
    PipelineStage.KEY_CONVERTER,
    PipelineStage.VALUE_CONVERTER,
    PipelineStage.HEADER_CONVERTER,
)


class SourceDeadLetters:
    """A reporter of failures, which are kept until ``among`` puts letters in the places of the records."""

    def __init__(self, task: TaskId, config: Mapping[str, str], metrics: Metrics) -> None:
        self._task, self._metrics = task, metrics
        self.topic = queue_of(config, "source") or ""
        self._context = has_context(config, "source")
        self._key, self._value = JsonConverter(), JsonConverter()
        self._key.configure({}, True)
        self._value.configure({}, False)
        self._header = SimpleHeaderConverter()
        self._failures: list[RecordFailure] = []

    def __call__(self, failure: RecordFailure) -> None:
        if failure.stage in _STAGES:
            self._failures.append(failure)

    def among(self, polled: Batch, ready: Batch, complete: bool) -> Batch:
        """The ready records of a tracked batch and the letters for failed ones, in the order they were polled.

        If the batch is not ``complete`` there are no letters after the last ready record: those will be polled again.
        """
        failures, self._failures = self._failures, []
        if not failures:
            return ready
        assert isinstance(polled.origin, SourceOrigin)
        assert isinstance(ready.origin, SourceOrigin)
        places = {id(offset): i for i, offset in enumerate(polled.origin.offsets)}
        order = [places[id(offset)] for offset in ready.origin.offsets]
        limit = len(polled) if complete else max(order, default=-1)
        letters = [self._letter(polled.select((i,)), f) for f in failures if (i := _place(f, places)) <= limit]
        self._metrics.add("deadletterqueue-produce-requests", len(letters))
        merged = Batch.concat([ready, *letters])
        assert isinstance(merged.origin, SourceOrigin)
        order += [places[id(offset)] for offset in merged.origin.offsets[len(ready) :]]
        return merged.select(sorted(range(len(merged)), key=order.__getitem__))

    def _letter(self, record: Batch, failure: RecordFailure) -> Batch:
        topic, headers = record.topics[0], record.headers[0]
        own = [(h.key, self._header_bytes(topic, h)) for h in headers]
        context = context_headers(self._task, failure, _origin(record)) if self._context else []
        return record.with_(
            topics=[self.topic],
            partitions=[None],
            keys=[_bytes(self._key, topic, record.key_schemas[0], record.keys[0])],
            values=[_bytes(self._value, topic, record.value_schemas[0], record.values[0])],
            headers=[tuple(Header(key, None, data) for key, data in (*own, *context))],
        )

    def _header_bytes(self, topic: str, header: Header) -> bytes | None:
        try:
            return self._header.from_connect_header(topic, header.key, header.schema, header.value)
        except Exception:
            return str(header.value).encode(errors="replace")


def _place(failure: RecordFailure, places: Mapping[int, int]) -> int:
    assert isinstance(failure.record.origin, SourceOrigin)
    return places[id(failure.record.origin.offsets[0])]


def _origin(record: Batch) -> list[tuple[str, str]]:
    assert isinstance(record.origin, SourceOrigin)
    found = [("topic", record.topics[0])]
    if record.partitions[0] is not None:
        found.append(("partition", str(record.partitions[0])))
    return [
        *found,
        ("source.partition", _json(record.origin.partitions[0])),
        ("source.offset", _json(record.origin.offsets[0])),
    ]


def _bytes(converter: JsonConverter, topic: str, schema: Schema | None, value: Any) -> bytes | None:
    try:
        return converter.from_connect_batch([topic], [()], [schema], [value])[0]
    except Exception:
        return _json({"schema": None, "payload": value}).encode(errors="replace")


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_text, skipkeys=True)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes | bytearray) else str(value)


class SourceLogReporter(LogReporter):
    """A reporter of failures. It gets each batch before its steps, if its messages include records."""

    _polled: Batch | None = None

    def processed(self, polled: Batch) -> Batch:
        """Take a batch before its steps; return it as ``tracked`` does if its records must be told apart."""
        if not (self.settings.log and self.settings.log_messages):
            return polled
        self._polled = tracked(polled)
        return self._polled

    def record_text(self, record: Batch) -> str:
        return f", where source record is = {record_text(self._as_polled(record).row(0))}"

    def _as_polled(self, record: Batch) -> Batch:
        """Return a record as it was polled; one that the brokers refuse much later is returned as it was sent."""
        polled = self._polled
        if polled is None or not isinstance(record.origin, SourceOrigin):
            return record
        assert isinstance(polled.origin, SourceOrigin)
        row = _row(record.origin.offsets, polled.origin.offsets)
        return record if row is None else polled.select((row,))


def _row(one: Sequence[Any], all: Sequence[Any]) -> int | None:
    """Return the row of one offset among all of them; both are of tracked batches."""
    if isinstance(one, SelectedRows) and isinstance(all, SelectedRows):
        return all.rows.index(one.rows[0]) if one.rows[0] in all.rows else None
    return next((row for row, offset in enumerate(all) if offset is one[0]), None)
