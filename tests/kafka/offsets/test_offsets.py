from __future__ import annotations

import base64
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.kafka.admin import NoAnswerError
from penstock.kafka.log import topic as log_topic
from penstock.kafka.log.progress import OnDone
from penstock.kafka.offsets import source_connectors
from penstock.kafka.offsets.entries import OffsetEntries, StoredOffset
from penstock.kafka.offsets.source_connectors import SourceConnectorOffsets, merged
from penstock.kafka.offsets.topic import OffsetTopic, ensure_own_topic, own_offsets_topic, worker_offsets
from support.kafka.client import Kafka
from support.waiting import Inbox, answer, until


def test_records_add_up():
    offsets = OffsetEntries()
    offsets.put([(b'["c",{"a":1,"b":2}]', b'{"p":1}'), (b'["c",{"b":2,"a":1}]', b'{"p":2}'), (b'["d",{"a":1}]', b"{}")])
    assert offsets.snapshot("c") == [
        StoredOffset({"b": 2, "a": 1}, {"p": 2}, base64.b64encode(b'["c",{"b":2,"a":1}]').decode())
    ]
    offsets.put([(b'["c",{"a":1,"b":2}]', None), (b'["d",{"a":1}]', b"null"), (None, b"{}"), (b"x", b"{}")])
    assert offsets.snapshot("c") == []
    assert offsets.snapshot("d") == []
    assert offsets.deleted("c") == {b'{"a":1,"b":2}'}
    offsets.put([(b'["c",{"b":2,"a":1}]', b'{"p":3}')])
    assert (positions_of(offsets.snapshot("c")), offsets.deleted("c"), offsets.deleted("e")) == ([3], set(), set())


def positions_of(stored: list[StoredOffset]) -> list[int]:
    return [each.offset["p"] for each in stored]


def test_keys_are_written_with_their_stored_bytes():
    offsets = OffsetEntries()
    offsets.put([(b'["c", {"b":2,"a":1}]', b'{"p":1}')])
    assert offsets.encode("c", [({"a": 1, "b": 2}, {"p": 2}), ({"z": 1, "a": None}, None)]) == [
        (b'["c", {"b":2,"a":1}]', b'{"p":2}'),
        (b'["c",{"z":1,"a":null}]', None),
    ]


def test_a_stored_offset_that_is_none_is_left_out_and_can_be_reset(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING, "penstock.kafka.offsets.entries")
    offsets = OffsetEntries()
    offsets.put([(b'["c",{"n":1}]', b"[]"), (b'["c",{"n":2}]', b'{"p":1}'), (b'["c",null]', b"no JSON")])
    assert [stored.partition for stored in offsets.snapshot("c")] == [{"n": 2}]
    assert offsets.partitions("c") == [{"n": 1}, {"n": 2}]
    assert 'The offset of source partition {"n":1} of connector c is left out: A stored source offset should be' in (
        caplog.text
    )


class Waiting:
    """An own topic that can't be read."""

    def __init__(self, worker: object, connector: object, topic: str, **options: Any) -> None:
        options["outages"].begin(f"Reading topic `{topic}`", "Unable to create topic(s) 'own'")

    def start(self) -> None: ...

    def close(self) -> None: ...


class Empty:
    """The worker's store."""

    def read_to_end(self, on_done: OnDone) -> None:
        on_done(None)

    def snapshot(self, connector: str) -> list[StoredOffset]:
        return []


def test_an_unreadable_offsets_topic_is_explained(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(source_connectors, "connector_offsets", Waiting)
    monkeypatch.setattr(source_connectors, "_TIMEOUT", 0.0)
    store: Any = Empty()
    with pytest.raises(NoAnswerError) as error:
        answer(SourceConnectorOffsets(WORKER, store).read, {"name": "c", "offsets.storage.topic": "own"})
    assert str(error.value) == (
        "Timed out while reading offsets topic `own` of connector c. Reading topic `own` has to wait: Unable to create "
        "topic(s) 'own'"
    )


def test_an_own_topics_offsets_count_first():
    def stored(number: int, value: int) -> StoredOffset:
        return StoredOffset({"n": number}, {"p": value}, "")

    assert merged([stored(1, 1), stored(2, 2)], [stored(2, 3), stored(3, 4)]) == [
        stored(1, 1),
        stored(2, 3),
        stored(3, 4),
    ]


WORKER = {"bootstrap.servers": "a:1", "offset.storage.topic": "shared"}


SERVERS = "producer.override.bootstrap.servers"


@pytest.mark.parametrize(
    ("worker", "connector", "topic"),
    [
        ({}, {}, None),
        ({}, {"offsets.storage.topic": ""}, None),
        ({}, {"offsets.storage.topic": "own"}, "own"),
        ({}, {"offsets.storage.topic": "shared"}, None),
        ({}, {"offsets.storage.topic": "shared", SERVERS: "b:1"}, "shared"),
        ({}, {SERVERS: "b:1"}, None),
        ({"exactly.once.source.support": "enabled"}, {SERVERS: "b:1"}, "shared"),
        *(
            ({"exactly.once.source.support": "enabled", "bootstrap.servers": "a:1, b:1"}, connector, None)
            for connector in (
                {SERVERS: "a:1,b:1"},
                {SERVERS: "b:1 ,a:1", "offsets.storage.topic": "shared"},
                {SERVERS: "b:1"},
                {SERVERS: "b:1,c:1", "offsets.storage.topic": "shared"},
            )
        ),
        ({"bootstrap.servers": "a:1, b:1"}, {SERVERS: "c:1,d:1", "offsets.storage.topic": "shared"}, "shared"),
    ],
)
def test_own_offsets_topic(worker: dict[str, str], connector: dict[str, str], topic: str | None):
    assert own_offsets_topic({**WORKER, **worker}, connector) == topic


def test_standalone_mode_has_no_offsets_topics():
    assert own_offsets_topic({"bootstrap.servers": "a:1"}, {"offsets.storage.topic": "own"}) is None


@pytest.fixture(params=["disabled", "enabled"])
def worker(request: pytest.FixtureRequest, kafka: Kafka) -> dict[str, str]:
    name = kafka.create_topic()
    return {
        "bootstrap.servers": kafka.bootstrap,
        "group.id": name,
        "offset.storage.topic": f"{name}-offsets",
        "offset.storage.replication.factor": "1",
        "offset.storage.partitions": "3",
        "exactly.once.source.support": request.param,
    }


@pytest.fixture
def shared(worker: dict[str, str]) -> Iterator[OffsetTopic]:
    caught_up = Inbox()
    store = worker_offsets(worker, on_caught_up=caught_up)
    store.start()
    caught_up.next()
    yield store
    store.close()


def positions(stored: list[StoredOffset]) -> dict[str, int]:
    return {s.partition["f"]: s.offset["p"] for s in stored}


def partitions(kafka: Kafka, topic: str) -> int:
    """Return the number of partitions; a broker learns of a new topic a little later than its creator."""
    return len(kafka.admin.list_topics(topic, timeout=900).topics[topic].partitions)


A, B = {"f": "a"}, {"f": "b"}


@pytest.mark.integration
def test_offsets_in_the_workers_topic(worker: dict[str, str], shared: OffsetTopic):
    offsets, connector = SourceConnectorOffsets(worker, shared), {"name": "c"}
    assert answer(offsets.read, connector) == []
    assert positions(answer(offsets.write, connector, [(A, {"p": 1}), (B, {"p": 2})])) == {"a": 1, "b": 2}
    assert positions(answer(offsets.write, connector, [(A, None)])) == {"b": 2}
    assert answer(offsets.read, {"name": "another"}) == []
    assert answer(offsets.write, connector, None) == []
    assert answer(offsets.read, connector) == []


@pytest.mark.integration
def test_an_identity_is_a_header_that_an_altered_offset_does_not_have(
    worker: dict[str, str], shared: OffsetTopic, kafka: Kafka
):
    connector, identity = {"name": "c", "offsets.storage.topic": f"{worker['offset.storage.topic']}-own"}, {"id": "é"}
    offsets = SourceConnectorOffsets(worker, shared)
    found = answer(offsets.write, connector, [(A, {"p": 1}, identity)])
    assert [(each.offset, each.identity) for each in found] == [({"p": 1}, identity)]
    [record] = kafka.read_all(worker["offset.storage.topic"])
    assert (record.key, record.value) == (b'["c",{"f":"a"}]', b'{"p":1}')
    assert [name for name, _ in record.headers] == ["penstock.origin"]
    assert [each.identity for each in answer(offsets.read, {"name": "c"})] == [identity]
    assert [each.identity for each in answer(offsets.write, connector, [(A, {"p": 1})])] == [None]


@pytest.mark.integration
def test_offsets_move_to_an_own_topic_as_they_change_and_are_copied_back(
    worker: dict[str, str], shared: OffsetTopic, kafka: Kafka
):
    own = f"{worker['offset.storage.topic']}-own"
    offsets, connector = SourceConnectorOffsets(worker, shared), {"name": "c", "offsets.storage.topic": own}
    answer(offsets.write, {"name": "c"}, [(A, {"p": 1})])
    assert positions(answer(offsets.read, connector)) == {"a": 1}
    answer(offsets.write, {"name": "c"}, [(A, {"p": 2})])  # old tasks, whose topic is still the worker's
    assert positions(answer(offsets.read, connector)) == {"a": 2}
    assert kafka.read_all(own) == []

    assert positions(answer(offsets.write, connector, [(A, {"p": 3}), (B, {"p": 2})])) == {"a": 3, "b": 2}
    assert positions(answer(offsets.read, {"name": "c"})) == {"a": 3, "b": 2}
    assert answer(offsets.write, connector, None) == []
    assert answer(offsets.read, {"name": "c"}) == []
    assert answer(offsets.read, connector) == []
    until(lambda: partitions(kafka, own) == 3, "the topic with three partitions")


@pytest.mark.integration
def test_an_own_topic_is_made_and_must_be_compacted(worker: dict[str, str], kafka: Kafka):
    own = f"{worker['offset.storage.topic']}-own"
    ensure_own_topic(worker, {"name": "c", "offsets.storage.topic": own})
    until(lambda: partitions(kafka, own) == 3, "the topic with three partitions")
    ensure_own_topic(worker, {"name": "c", "offsets.storage.topic": own})
    other = kafka.create_topic()
    with pytest.raises(ConfigError, match=r"but found the topic currently has 'cleanup.policy=delete'"):
        ensure_own_topic(worker, {"name": "c", "offsets.storage.topic": other})


def test_an_own_topic_that_cannot_be_seen_for_the_moment_is_left_to_the_tasks(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(log_topic, "_TIMEOUT", 1.0)
    unreached = {**WORKER, "bootstrap.servers": "127.0.0.1:1"}
    ensure_own_topic(unreached, {"name": "c", "offsets.storage.topic": "own"})
    assert "Offsets topic `own` could not be checked yet" in caplog.text
