"""The error log of a source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.columns import SelectedRows
from penstock.api.record import Header, SourceRecord
from penstock.api.schema import INT32, STRING
from penstock.core.model.tasks import TaskId
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, PipelineStage, RecordFailure, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.failed_records import SourceLogReporter
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually
from support.tasks.scripted_source import record, scripted

WORDS = "Error encountered in task c-0. Executing stage 'TRANSFORMATION' with class 'x.Refuse'"


def changed(batch: Batch) -> Batch:
    return batch.with_(topics=["other"] * len(batch), values=[f"changed {value}" for value in batch.values])


def refuse(batch: Batch) -> Batch:
    if any("bad" in value for value in batch.values):
        raise ValueError("no")
    return batch


def failing(records: list[SourceRecord], **config: str) -> list[str]:
    """Return the messages about the records whose values contain "bad"."""
    settings = ErrorSettings.of({name.replace("_", "."): value for name, value in config.items()})
    metrics = Metrics(lambda values: None, ())
    reporter = SourceLogReporter(TaskId("c", 0), settings, metrics)
    messages: list[str] = []
    handler = ErrorHandler(settings, metrics, lambda _: False, (lambda f: messages.append(reporter.message(f)),))
    steps = [
        Step(PipelineStage.TRANSFORMATION, "x.Change", changed),
        Step(PipelineStage.TRANSFORMATION, "x.Refuse", refuse),
    ]
    handler.run(steps, reporter.processed(Batch.of_source_records(records)))
    return messages


WHOLE = {"errors_tolerance": "all", "errors_log_enable": "true", "errors_log_include_messages": "true"}


def test_records_are_shown_as_they_were_polled_in_javas_form() -> None:
    one = SourceRecord(
        topic="t",
        value="bad",
        value_schema=STRING,
        timestamp=5,
        source_partition={"filename": "f"},
        source_offset={"position": 4},
    )
    [message] = failing([one], **WHOLE)
    assert message == (
        f"{WORDS}, where source record is = "
        "SourceRecord{sourcePartition={filename=f}, sourceOffset={position=4}} "
        "ConnectRecord{topic='t', kafkaPartition=null, key=null, keySchema=null, value=bad, "
        "valueSchema=Schema{STRING}, timestamp=5, headers=ConnectHeaders(headers=)}."
    )


def test_records_of_one_offset_are_told_apart() -> None:
    offset: dict[str, Any] = {"o": 1}
    texts = ["1", "bad 2", "3", "bad 4"]
    headers = (Header("h", INT32, 7),)
    records = [SourceRecord(topic="t", value=text, source_offset=offset, headers=headers) for text in texts]
    messages = failing(records, **WHOLE)
    assert [text for message in messages for text in texts if f" value={text}, " in message] == ["bad 2", "bad 4"]
    assert "headers=ConnectHeaders(headers=[ConnectHeader(key=h, value=7, schema=Schema{INT32})])" in messages[0]


class Elsewhere(SelectedRows[dict[str, Any]]):
    """Offsets that are elsewhere, as those of a batch in a JVM."""

    def __init__(self, rows: Sequence[int]) -> None:
        self.rows = rows

    def select(self, rows: Sequence[int]) -> Elsewhere:
        return Elsewhere([self.rows[row] for row in rows])

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: Any) -> Any:
        return {"row": self.rows[row]}


def test_records_whose_offsets_are_elsewhere_are_told_apart() -> None:
    settings = ErrorSettings(tolerate=True, log=True, log_messages=True)
    reporter = SourceLogReporter(TaskId("c", 0), settings, Metrics(lambda _: None, ()))
    origin = SourceOrigin([{}] * 3, Elsewhere([5, 6, 7]))
    polled = reporter.processed(Batch.of("t", ["a", "b", "c"], origin=origin))
    changed = polled.with_(values=["x"] * 3).select((2, 1)).select((0,))
    message = reporter.message(RecordFailure(PipelineStage.TRANSFORMATION, "x.Refuse", ValueError(), changed))
    assert "sourceOffset={row=7}} " in message
    assert " value=c, " in message


@pytest.mark.parametrize(
    ("settings", "logged"), [(ErrorSettings(log=True), [f"{WORDS}."]), (ErrorSettings(log_messages=True), [])]
)
def test_without_both_settings_no_record_is_shown_and_batches_stay_as_they_are(
    settings: ErrorSettings, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    reporter = SourceLogReporter(TaskId("c", 0), settings, Metrics(lambda _: None, ()))
    batch = Batch.of_source_records([SourceRecord(topic="t", value="bad")])
    assert reporter.processed(batch) is batch
    reporter(RecordFailure(PipelineStage.TRANSFORMATION, "x.Refuse", ValueError(), batch))
    assert caplog.messages == logged


def test_of_a_record_that_the_brokers_refused_what_was_sent_is_shown() -> None:
    settings = ErrorSettings(log=True, log_messages=True)
    reporter = SourceLogReporter(TaskId("c", 0), settings, Metrics(lambda _: None, ()))
    reporter.processed(Batch.of_source_records([SourceRecord(topic="t", value="x")]))
    sent = Batch.of("t", [b"x"])
    message = reporter.message(RecordFailure(PipelineStage.KAFKA_PRODUCE, "x.Task", ValueError(), sent))
    assert "ConnectRecord{topic='t', kafkaPartition=null, key=null, " in message


@pytest.mark.integration
def test_a_task_logs_what_it_polled(kafka: Kafka, bootstrap: str, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    task = scripted([record(topic, "a", i, text) for i, text in enumerate(["1", "2", "bad"], 1)])
    config = {
        "transforms": "h,c",
        "transforms.h.type": "org.apache.kafka.connect.transforms.HoistField$Key",
        "transforms.h.field": "k",
        "transforms.c.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.c.spec": "int32",
        "value.converter": JSON,
        **{name.replace("_", "."): value for name, value in WHOLE.items()},
    }
    with TaskRun(task, bootstrap, config):
        [message] = eventually(lambda: [m for m in caplog.messages if "where source record is" in m])
    assert f"sourceOffset={{o=3}}}} ConnectRecord{{topic='{topic}', kafkaPartition=null, key=null, " in message
    assert ", value=bad, " in message
