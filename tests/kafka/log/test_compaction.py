"""An internal topic that brokers compact while it is read."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.api.kafka import TopicSpec
from penstock.embedded import Broker
from penstock.kafka.client_settings import internal
from penstock.kafka.log.reader import LogClients, LogRecord
from penstock.kafka.log.topic import LogTopic
from penstock.kafka.log.topic_log import TopicLog
from support.kafka.client import Kafka, Record
from support.waiting import SECONDS, until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

KEYS, ROUNDS, SIZE = 200, 100, 6_000
"""120 MB, more than a client reads in advance."""
QUICK = {
    "cleanup.policy": "compact",
    "segment.bytes": str(4 << 20),
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "86400000",
}


def value(key: int, number: int) -> bytes:
    return f"{key} {number} ".encode().ljust(SIZE, b".")


def test_every_key_has_its_last_value_though_the_topic_is_compacted_during_the_read(tmp_path: Path) -> None:
    with Broker(tmp_path / "broker", extra={"log.cleaner.backoff.ms": "100"}) as broker:
        kafka = Kafka(broker.bootstrap)
        topic = kafka.create_topic(config=QUICK)
        for number in range(ROUNDS):
            kafka.produce(topic, [Record(value(key, number), f"k{key}") for key in range(KEYS)])
        # Every tenth key is deleted by the last records.
        deleted = {key for key in range(KEYS) if key % 10 == 0}
        kafka.produce(topic, [Record(None, f"k{key}") for key in sorted(deleted)])
        found: dict[bytes, bytes | None] = {}
        begun, compacted, ended = threading.Event(), threading.Event(), threading.Event()
        offsets: list[int] = []

        def take(records: Sequence[LogRecord]) -> None:
            for record in records:
                assert record.key is not None
                found[record.key] = record.value
                offsets.append(record.offset)
            begun.set()
            compacted.wait(SECONDS)

        worker = {"bootstrap.servers": broker.bootstrap}
        clients = LogClients(
            consumer=internal(worker, "consumer", "log-test"),
            producer=internal(worker, "producer", "log-test"),
            admin=internal(worker, "admin", "log-test"),
        )
        spec = LogTopic(
            spec=TopicSpec(topic, 1, 1, {}), setting="offset.storage.topic", purpose="source connector offsets"
        )
        log = TopicLog(spec, clients, take, on_caught_up=lambda *_: ended.set())
        log.start()
        try:
            assert begun.wait(SECONDS)
            until(lambda: size(tmp_path / "broker" / "data" / f"{topic}-0") < KEYS * ROUNDS * SIZE / 4, "compaction")
            time.sleep(1)
            compacted.set()
            assert ended.wait(SECONDS)
        finally:
            compacted.set()
            log.close()
    assert offsets == sorted(offsets)
    assert len(offsets) < KEYS * ROUNDS, "some of it was compacted before it was read"
    expected = {f"k{key}".encode(): None if key in deleted else value(key, ROUNDS - 1) for key in range(KEYS)}
    assert found == expected


def size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*.log"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # replaced by the cleaner just now
            return 1 << 60
    return total
