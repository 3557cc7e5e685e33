from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

from penstock.core.model.records import (
    ConnectorConfig,
    LoggerLevel,
    PolicyRestart,
    RecordSkip,
    RestartCount,
    RestartRequest,
    SessionKey,
    TargetState,
    TaskConfig,
    TaskCount,
    TasksCommit,
)
from penstock.core.model.skips import Skip
from penstock.core.model.tasks import TaskId
from penstock.kafka.storage import config_records
from penstock.kafka.storage.config_records import decode, encode, task_id
from support.kafka.golden import Golden, golden


@pytest.mark.parametrize("record", golden("config"), ids=lambda r: r.key.decode())
def test_config_records_of_java_survive_a_round_trip(record: Golden):
    decoded = decode(0, record.key, record.value)
    assert decoded is not None
    assert encode(decoded) == (record.key, record.value)


def test_halves_of_surrogate_pairs_are_read_back():
    config = ConnectorConfig("a", {"name": "a", "file": "/data/\ud800"})
    assert decode(0, *encode(config)) == config


def test_the_kinds_of_records_java_wrote():
    kinds = {type(decode(0, r.key, r.value)) for r in golden("config")}
    assert kinds == {
        ConnectorConfig,
        TaskConfig,
        TasksCommit,
        TargetState,
        TaskCount,
        SessionKey,
        RestartRequest,
        LoggerLevel,
    }


def test_skips_survive_a_round_trip():
    skip = Skip("t", 3, 7, 9, "id", "dead-letters")
    for name in ("a", "a/b-c/1"):
        key, value = encode(RecordSkip(name, skip))
        assert key == f"penstock-skip-{name}/t/3/7".encode()
        assert decode(0, key, value) == RecordSkip(name, skip)
        assert decode(0, *encode(RecordSkip(name, skip, over=True))) == RecordSkip(name, Skip("t", 3, 7, 7), over=True)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a/t/3", "{}"),
        ("a/t/3/x", "{}"),
        ("a/t/3/7", '{"last":9,"topic-id":"","to":"elsewhere"}'),
        ("a/t/3/7", '{"last":6,"topic-id":"","to":"discard"}'),
        ("a/t/3/7", '{"last":2000,"topic-id":"","to":"discard"}'),
    ],
)
def test_a_skip_that_is_none_is_ignored(key: str, value: str):
    assert decode(0, f"penstock-skip-{key}".encode(), value.encode()) is None


def test_a_restart_by_policy_is_javas_request_with_a_member_of_ours():
    connector, task = RestartCount(None, 1, 1_000, 2_000), RestartCount(3, 2, 3_000, 4_000)
    for record, java in (
        (PolicyRestart("a", (task,), (connector,)), RestartRequest("a", include_tasks=True, only_failed=True)),
        (PolicyRestart("a", (connector,)), RestartRequest("a", include_tasks=False, only_failed=True)),
    ):
        key, value = encode(record)
        assert decode(0, key, value) == record
        members = json.loads(value or b"")
        del members["penstock.restart.policy"]
        assert decode(0, key, json.dumps(members).encode()) == java


@pytest.mark.parametrize(
    ("key", "value", "record"),
    [
        ("connector-a-b", '{"properties":{"x":"1"}}', ConnectorConfig("a-b", {"x": "1"})),
        ("connector-a", None, ConnectorConfig("a", None)),
        ("connector-a", "null", ConnectorConfig("a", None)),
        ("connector-a", '{"properties":{"n":1,"b":true,"none":null}}', ConnectorConfig("a", {"n": "1", "b": "true"})),
        ("task-a-b-12", '{"properties":{}}', TaskConfig(TaskId("a-b", 12), {})),
        ("commit-a", '{"tasks":3}', TasksCommit("a", 3)),
        ("target-state-a", '{"state":"PAUSED","state.v2":"STOPPED"}', TargetState("a", "STOPPED")),
        ("target-state-a", '{"state":"PAUSED"}', TargetState("a", "PAUSED")),
        ("target-state-a", '{"state":"PAUSED","state.v2":7}', TargetState("a", "PAUSED")),
        ("target-state-a", None, TargetState("a", None)),
        ("tasks-fencing-a", '{"task-count":2}', TaskCount("a", 2)),
        ("restart-connector-a", "{}", RestartRequest("a", include_tasks=False, only_failed=False)),
        ("restart-connector-a", '{"only-failed":true,"include-tasks":"x"}', RestartRequest("a", False, True)),
        ("logger-cluster-org.a", '{"level":"WARN"}', LoggerLevel("org.a", "WARN")),
    ],
)
def test_decode(key: str, value: str | None, record: object):
    assert decode(0, key.encode(), None if value is None else value.encode()) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unknown-a", "{}"),
        ("connector-a", "not json"),
        ("connector-a", ""),
        ("connector-a", "[1]"),
        ("connector-a", '{"properties":[]}'),
        ("task-a", '{"properties":{}}'),
        ("task-a-b", '{"properties":{}}'),
        ("commit-a", None),
        ("commit-a", '{"tasks":"3"}'),
        ("commit-a", '{"tasks":true}'),
        ("target-state-a", '{"state":"ASLEEP"}'),
        ("target-state-a", "{}"),
        ("tasks-fencing-a", "{}"),
        ("session-key", None),
        ("session-key", '{"key":"!","algorithm":"x","creation-timestamp":1}'),
        ("session-key", '{"key":"aaaa","algorithm":"x","creation-timestamp":"1"}'),
        ("restart-connector-a", None),
        ("logger-cluster-a", '{"level":null}'),
    ],
)
def test_garbage_is_passed_over_with_a_warning_that_names_offset_and_key(
    key: str, value: str | None, caplog: pytest.LogCaptureFixture
):
    with caplog.at_level(logging.WARNING):
        assert decode(17, key.encode(), None if value is None else value.encode()) is None
    assert f"offset 17 of the config topic, key `{key}`" in caplog.text


def test_a_missing_key_is_garbage(caplog: pytest.LogCaptureFixture):
    assert decode(3, None, b"{}") is None
    assert "offset 3" in caplog.text


def test_stopped_is_written_so_that_old_workers_pause():
    assert encode(TargetState("a", "STOPPED"))[1] == b'{"state":"PAUSED","state.v2":"STOPPED"}'


@pytest.mark.parametrize(("text", "id"), [("a-0", TaskId("a", 0)), ("-a--7", TaskId("-a-", 7))])
def test_task_id(text: str, id: TaskId):
    assert task_id(text) == id


@pytest.mark.parametrize("text", ["a", "a-", "a-x", "a-99999999999", "7"])
def test_invalid_task_ids_are_ignored(text: str):
    with pytest.raises(ValueError, match="is not the name of a connector"):
        task_id(text)


def test_the_principal_is_a_header_and_leaves_java_s_bytes_unchanged() -> None:
    changes: list[ConnectorConfig | TargetState | RestartRequest] = [
        ConnectorConfig("c", {"a": "1"}, "ann"),
        ConnectorConfig("c", None, "ann"),
        TargetState("c", "PAUSED", "ann"),
        RestartRequest("c", True, False, "ann"),
    ]
    for record in changes:
        key, value, *headers = config_records.encode_signed(record)
        assert (key, value) == config_records.encode(replace(record, principal=None))
        assert headers == [[("penstock.principal", b"ann")]]
        read = config_records.decode_signed(0, key, value, [("other", None), ("penstock.principal", b"ann")])
        assert read == record
        assert getattr(read, "principal", None) == "ann"
    paused = TargetState("c", "PAUSED", None, "0123456789ab")
    assert config_records.encode_signed(paused)[2:] == ([("penstock.bulk", b"0123456789ab")],)
    read = config_records.decode_signed(0, *config_records.encode(paused), [("penstock.bulk", b"0123456789ab")])
    assert isinstance(read, TargetState)
    assert (read.bulk, read.principal) == ("0123456789ab", None)
    assert config_records.encode_signed(ConnectorConfig("c", {})) == config_records.encode(ConnectorConfig("c", {}))
