from __future__ import annotations

import pytest

from penstock.core.model.records import ConnectorStatus, TaskStatus, TopicStatus
from penstock.core.model.tasks import TaskId
from penstock.kafka.storage.status_records import decode, encode
from support.kafka.golden import Golden, golden


@pytest.mark.parametrize("record", golden("status"), ids=lambda r: r.key.decode())
def test_status_records_of_java_survive_a_round_trip(record: Golden):
    decoded = decode(0, 0, record.key, record.value)
    assert decoded is not None
    assert encode(decoded) == (record.key, record.value)


def test_a_trace_is_read_as_it_was_raised():
    failed = [r for r in golden("status") if b'"FAILED"' in (r.value or b"")]
    status = decode(0, 0, failed[0].key, failed[0].value)
    assert isinstance(status, TaskStatus)
    assert status.trace is not None
    assert status.trace.startswith("org.apache.kafka.connect.errors.ConnectException: Couldn't find or create file")
    assert "\n\tat " in status.trace


def test_a_trace_with_half_a_surrogate_pair_is_read_back():
    """A file whose name is not UTF-8 leaves one in a trace."""
    failed = TaskStatus(TaskId("a", 0), "FAILED", "w:1", 4, "FileNotFoundError: '/data/\udcff'", "1.0")
    assert decode(0, 0, *encode(failed)) == failed


@pytest.mark.parametrize(
    ("key", "value", "record"),
    [
        (
            "status-connector-a",
            '{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":4}',
            ConnectorStatus("a", "RUNNING", "w:1", 4),
        ),
        (
            "status-task-a-b-1",
            '{"state":"FAILED","trace":"t","worker_id":"w:1","generation":4,"version":"1.0"}',
            TaskStatus(TaskId("a-b", 1), "FAILED", "w:1", 4, "t", "1.0"),
        ),
        ("status-task-a-1", None, TaskStatus(TaskId("a", 1), None)),
        ("status-connector-a", None, ConnectorStatus("a", None)),
        (
            "status-topic-t-1:connector-a:connector-b",
            '{"topic":{"name":"t-1","connector":"a:connector-b","task":2,"discoverTimestamp":5}}',
            TopicStatus("t-1", "a:connector-b", 2, 5),
        ),
        ("status-topic-t:connector-a", None, TopicStatus("t", "a", None)),
    ],
)
def test_decode(key: str, value: str | None, record: object):
    assert decode(0, 0, key.encode(), None if value is None else value.encode()) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("status-connector-", None),
        ("status-task-a", None),
        ("status-topic-t", None),
        ("status-topic-:connector-a", None),
        ("status-topic-t:connector-", None),
        ("connector-a", None),
        ("status-connector-a", "null"),
        ("status-connector-a", "{"),
        ("status-connector-a", '{"state":"DOZING","generation":1}'),
        ("status-connector-a", '{"state":"RUNNING","generation":"1"}'),
        ("status-connector-a", '{"state":"RUNNING","generation":1,"trace":[]}'),
        ("status-topic-t:connector-a", '{"topic":{"name":"t"}}'),
        ("status-topic-t:connector-a", "[]"),
    ],
)
def test_garbage_is_passed_over_with_a_warning_that_names_its_place(
    key: str, value: str | None, caplog: pytest.LogCaptureFixture
):
    assert decode(2, 17, key.encode(), None if value is None else value.encode()) is None
    assert f"offset 17 of partition 2 of the status topic, key `{key}`" in caplog.text


def test_destroyed_is_written_as_a_tombstone():
    assert encode(TaskStatus(TaskId("a", 1), "DESTROYED", "w", 1)) == (b"status-task-a-1", None)
