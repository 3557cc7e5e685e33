"""The dead letter queue of a source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.record import Header, SourceRecord
from penstock.api.schema import INT32, STRING
from penstock.connectors.file_source import FileStreamSourceTask
from penstock.core.model.tasks import TaskId
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.dead_letters import context_headers
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, PipelineStage, RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.commit import tracked
from penstock.pipeline.source.failed_records import SourceDeadLetters
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually, new_name, resolve
from support.tasks.runs import STRING as STRINGS
from support.tasks.scripted_source import AcknowledgedSource, ScriptedSource, record, scripted

OWN = "penstock.errors.deadletterqueue."
CAST = {
    "transforms": "c",
    "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value",
    "transforms.c.spec": "int32",
}


def queueing(queue: str, **more: str) -> dict[str, str]:
    own = {f"{OWN}topic.name": queue, f"{OWN}topic.replication.factor": "1", "errors.tolerance": "all"}
    return {**own, **CAST, **more}


def letters_of(*records: SourceRecord, **config: str) -> list[SourceRecord]:
    """Convert the records with JsonConverter; return the converted ones and the dead letters of the others, in
    order.
    """
    metrics = Metrics(lambda values: None, ())
    letters = SourceDeadLetters(TaskId("c", 0), {f"{OWN}topic.name": "dead", **config}, metrics)
    conversion = Conversion.build({}, {"key.converter": JSON, "value.converter": JSON}, resolve)
    polled = tracked(Batch.of_source_records(records))
    handler = ErrorHandler(ErrorSettings(tolerate=True), metrics, lambda seconds: False, (letters,))
    ready, error = handler.run_until(conversion.from_connect(), polled)
    return list(letters.among(polled, ready, error is None).rows())  # type: ignore[arg-type]


def test_dead_letters_take_the_places_of_the_records() -> None:
    given = [
        SourceRecord(topic="t", value=i if i % 2 else "odd one", value_schema=INT32, source_offset={"o": i})
        for i in range(6)
    ]
    found = letters_of(*given)
    assert [r.topic for r in found] == ["dead", "t"] * 3
    assert [r.source_offset for r in found] == [{"o": i} for i in range(6)]


class Wordless(Exception):
    def __str__(self) -> str:
        return None  # type: ignore[return-value]


def test_half_a_surrogate_pair_is_a_question_mark() -> None:
    """JSON's escapes may contain half a pair; Java writes a question mark."""
    given = SourceRecord(
        topic="t", value="\ud800", value_schema=INT32, source_partition={"file": "\udcff"}, source_offset={"o": 1}
    )
    [letter] = letters_of(given, **{f"{OWN}context.headers.enable": "true"})
    assert letter.value == b'{"schema":null,"payload":"?"}'
    assert [h.value for h in letter.headers if h.key.endswith("source.partition")] == [b'{"file":"?"}']


@pytest.mark.parametrize(
    ("error", "said"), [(Wordless(1), b"(no message: its __str__ has raised TypeError)"), (DataError("\ud800"), b"?")]
)
def test_whatever_the_error_says_there_is_a_letter(error: Exception, said: bytes) -> None:
    record = Batch.of_source_records([SourceRecord(topic="t")])
    headers = dict(
        context_headers(TaskId("c", 0), RecordFailure(PipelineStage.VALUE_CONVERTER, "x", error, record), ())
    )
    assert headers["__connect.errors.exception.message"] == said


def test_a_record_that_is_not_of_its_schema_is_shown_as_it_is() -> None:
    bad = SourceRecord(topic="t", key="k", key_schema=STRING, value={"n": b"\xff", 2: {1}}, value_schema=INT32)
    (letter,) = letters_of(bad)
    assert letter.key == b'{"schema":{"type":"string","optional":false},"payload":"k"}'
    assert json.loads(letter.value) == {"schema": None, "payload": {"n": "\ufffd", "2": "{1}"}}


def test_headers_tell_where_it_came_from() -> None:
    bad = SourceRecord(
        topic="t",
        value="x",
        value_schema=INT32,
        headers=(Header("mine", STRING, "1"),),
        source_partition={"file": "f"},
        source_offset={"position": 7},
    )
    (letter,) = letters_of(bad, **{f"{OWN}context.headers.enable": "true"})
    told = {header.key.removeprefix("__connect.errors."): header.value for header in letter.headers}
    trace = told.pop("exception.stacktrace")
    assert told == {
        "mine": b"1",
        "topic": b"t",
        "source.partition": b'{"file":"f"}',
        "source.offset": b'{"position":7}',
        "connector.name": b"c",
        "task.id": b"0",
        "stage": b"VALUE_CONVERTER",
        "class.name": JSON.encode(),
        "exception.class.name": b"org.apache.kafka.connect.errors.DataException",
        "exception.message": told["exception.message"],
    }
    assert trace.startswith(b"org.apache.kafka.connect.errors.DataException: " + told["exception.message"])
    (plain,) = letters_of(bad)
    assert [header.key for header in plain.headers] == ["mine"]


# -- against a broker


@pytest.mark.integration
@pytest.mark.parametrize("base", [ScriptedSource, AcknowledgedSource])
def test_dead_letters_are_acknowledged_before_offsets_are_stored(
    kafka: Kafka, bootstrap: str, topic: str, base: Any
) -> None:
    queue = new_name("dead")
    task = scripted([record(topic, "a", i, text) for i, text in enumerate(["1", "bad", "3", "worse"], 1)], base=base)
    with TaskRun(task, bootstrap, queueing(queue)) as run:
        eventually(lambda: run.host.stored[-1:] == [({"p": "a"}, {"o": 4})])
        eventually(lambda: run.host.topics == [topic])
    assert kafka.values(topic) == [b"1", b"3"]
    shown = [json.loads(value)["payload"] for value in kafka.values(queue) if value]
    assert shown == ["bad", "worse"]
    if base is AcknowledgedSource:
        assert sorted(value for value, _ in task.acknowledged) == ["1", "3", "bad", "worse"]


@pytest.mark.integration
def test_dead_letters_are_in_the_transaction_of_their_batch(kafka: Kafka, bootstrap: str, topic: str) -> None:
    queue, offsets = new_name("dead"), kafka.create_topic()
    bad = [record(topic, "a", 1, "bad")]
    config = queueing(queue, **{"transaction.boundary": "interval", "transaction.boundary.interval.ms": "600000"})
    spec: dict[str, Any] = {"exactly_once": True, "offsets_topic": offsets, "group_id": new_name("g")}
    with TaskRun(scripted(bad), bootstrap, config, **spec):
        eventually(lambda: queue in kafka.topics() and kafka.values(queue, "read_uncommitted"))
        assert kafka.values(queue) == []
    eventually(lambda: len(kafka.values(queue)) == 1)
    eventually(lambda: kafka.values(offsets) == [b'{"o":1}'])
    broken = scripted([record(topic, "a", 2, "worse")], ValueError("the end"))
    assert "the end" in TaskRun(broken, bootstrap, config, **spec).failure()
    assert len(kafka.values(queue)) == 1


@pytest.mark.integration
def test_a_dead_letter_of_a_source_that_cannot_be_produced_fails_the_task(
    kafka: Kafka, bootstrap: str, topic: str
) -> None:
    queue = kafka.create_topic(config={"max.message.bytes": "300"})
    task = scripted([record(topic, "a", 1, "1")], [record(topic, "a", 2, "bad" * 1000)], base=AcknowledgedSource)
    run = TaskRun(task, bootstrap, queueing(queue))
    assert "Unrecoverable exception from producer send callback" in run.failure()
    assert run.host.stored in ([({"p": "a"}, {"o": 1})], [])


@pytest.mark.integration
def test_lines_of_a_file(kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path) -> None:
    """The source returns columns."""
    queue, file = new_name("dead"), tmp_path / "in"
    file.write_text("".join(f"{i if i % 3 else 'none'}\n" for i in range(1, 10)))
    config = queueing(queue, file=str(file), topic=topic, **{"value.converter": STRINGS})
    with TaskRun(FileStreamSourceTask, bootstrap, config) as run:
        eventually(lambda: run.host.stored[-1:] == [({"filename": str(file)}, {"position": file.stat().st_size})])
    assert kafka.values(topic) == [b"1", b"2", b"4", b"5", b"7", b"8"]
    assert len(kafka.values(queue)) == 3
