"""Garbage in the internal topics and in the group protocol is refused or ignored, in no time, whatever it is."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from penstock.api.errors import DataError
from penstock.core.group.membership import Assignment
from penstock.core.model.tasks import TaskId
from penstock.kafka.group import protocol
from penstock.kafka.offsets import records as offsets
from penstock.kafka.storage import config_records, status_records

VALUES = [
    None, b"", b"null", b"NaN", b'"\\ud800"', b"[" * 100_000, b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"9" * 10_000,
    b'{"properties":{"a":' + b"9" * 5000 + b"}}", b'{"properties":{"a":1e999999999,"b":null,"c":[1]}}',
    b'{"properties":{"\xff":"b"}}', b'{"tasks":1e400}', b'{"tasks":99999999999999999999}', b'{"tasks":-5}',
    b'{"state":"STARTED","state.v2":7}', b'{"state":"RUNNING","generation":99999999999999999999999,"trace":"x"}',
    b'{"key":"AA==","algorithm":"x","creation-timestamp":9999999999999999999999}', b'{"task-count":-1}',
    b'{"topic":{"name":"t","connector":"c","task":1e3,"discoverTimestamp":1}}', b'{"level":{}}',
    b'["c",{"a":' + b"9" * 40 + b"}]", b'["c",{"a":1e999}]', b'["c",{"a":' + b"[" * 900 + b"]" * 900 + b"}]",
]  # fmt: skip
KEYS = [
    None, b"", b"\xff\xfe", b"connector-a", b"connector-", b"task-a-0", b"task-" + b"9" * 10_000, b"commit-a",
    b"target-state-a", b"restart-connector-a", b"tasks-fencing-a", b"logger-cluster-a", b"session-key",
    b"status-connector-a", b"status-task-a-0", b"status-task-a-" + b"9" * 5000, b"status-topic-t:connector-c",
]  # fmt: skip


def changed(chance: random.Random, given: bytes | None) -> bytes | None:
    if given is None or len(given) > 5000:
        return given
    data = bytearray(given)
    for _ in range(chance.randrange(4) if data else 0):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


def records() -> Iterator[tuple[bytes | None, bytes | None]]:
    yield from ((key, value) for key in KEYS for value in VALUES)
    chance = random.Random(18)
    for _ in range(3000):
        yield changed(chance, chance.choice(KEYS)), changed(chance, chance.choice(VALUES))


def test_garbage_in_the_internal_topics_is_ignored() -> None:
    understood = 0
    for key, value in records():
        if (config := config_records.decode(1, key, value)) is not None:
            config_records.encode(config)
            understood += 1
        if (status := status_records.decode(0, 1, key, value)) is not None:
            status_records.encode(status)
            understood += 1
        if (found := offsets.decode_key(value)) is not None:
            offsets.canonical(found.partition)
            understood += 1
        try:
            offsets.decode_value(value)
        except DataError:
            continue
    assert understood > 50


def test_garbage_in_the_group_protocol_is_a_value_error() -> None:
    running = Assignment(("a",), (TaskId("a", 0),), (), (), 0, "leader", "http://x", 5, 0, 1)
    valid = protocol.encode_metadata("http://x", 5, running, 1)
    chance = random.Random(18)
    refused = 0
    for number in range(5000):
        data = chance.randbytes(chance.randrange(200)) if number % 2 else changed(chance, valid) or b""
        for decode in (lambda data: protocol.decode_metadata("m", data), protocol.decode_assignment):
            try:
                decode(data)
            except ValueError:
                refused += 1
    assert refused > 1000
    assert protocol.decode_metadata("m", valid).url == "http://x"


@pytest.mark.parametrize("count", [2**31 - 1, -1, -(2**31)])
def test_a_count_without_entries_is_not_believed(count: int) -> None:
    head = protocol.encode_assignment(Assignment((), (), (), (), 0, "l", "u", 1, 0, 0), 0)[:-4]
    data = head + count.to_bytes(4, "big", signed=True)
    if count < 0:
        assert protocol.decode_assignment(data).connectors == ()
    else:
        with pytest.raises(ValueError):
            protocol.decode_assignment(data)
