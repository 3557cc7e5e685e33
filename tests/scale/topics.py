"""The three internal topics of a large cluster, on a real broker: their sizes, and the cost of reading them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from threading import Event
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from penstock.kafka.offsets.records import encode_key, encode_value
from penstock.kafka.offsets.topic import worker_offsets
from penstock.kafka.storage import config_records, status_records
from penstock.kafka.storage.stores import ConfigStore, StatusStore
from scale.herding import config_topic, status_topic

Pair = tuple[bytes, bytes | None]
PATIENCE = 600.0


def run(bootstrap: str, connectors: dict[str, int]) -> list[tuple[str, str]]:
    tag = f"scale-{uuid.uuid4().hex[:8]}"
    worker = {
        "bootstrap.servers": bootstrap,
        "group.id": tag,
        **{f"{kind}.storage.topic": f"{tag}-{kind}" for kind in ("config", "offset", "status")},
        **{f"{kind}.storage.replication.factor": "1" for kind in ("config", "offset", "status")},
    }
    admin = AdminClient({"bootstrap.servers": bootstrap})
    partitions = {"config": 1, "offset": 25, "status": 5}
    topics = [NewTopic(f"{tag}-{kind}", n, 1, config={"cleanup.policy": "compact"}) for kind, n in partitions.items()]
    for each in admin.create_topics(topics).values():
        each.result()
    try:
        return [
            *_row("config", worker, map(config_records.encode, config_topic(connectors)), ConfigStore),
            *_row("status", worker, map(status_records.encode, status_topic(connectors)), StatusStore),
            *_row("offset", worker, _offsets(connectors), lambda worker, _, **more: worker_offsets(worker, **more)),
        ]
    finally:
        for each in admin.delete_topics([f"{tag}-{kind}" for kind in partitions]).values():
            each.result()


def _row(kind: str, worker: dict[str, str], pairs: Iterable[Pair], store: Callable[..., Any]) -> list[tuple[str, str]]:
    count, size = _write(worker["bootstrap.servers"], worker[f"{kind}.storage.topic"], pairs)
    caught_up = Event()
    started = time.process_time()
    reading = store(worker, lambda records: None, on_caught_up=caught_up.set)
    reading.start()
    try:
        assert caught_up.wait(PATIENCE), f"the {kind} topic was not read within {PATIENCE:g} s"
        seconds = time.process_time() - started
    finally:
        reading.close()
    return [
        (f"{kind} topic, records", f"{count:,}"),
        (f"{kind} topic, MB of keys and values", f"{size / 2**20:.1f}"),
        (f"{kind} topic, s of processor time to read it", f"{seconds:.1f}"),
    ]


def _write(bootstrap: str, topic: str, pairs: Iterable[Pair]) -> tuple[int, int]:
    producer = Producer({"bootstrap.servers": bootstrap, "partitioner": "murmur2_random", "linger.ms": 20})
    count = size = 0
    for key, value in pairs:
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.1)
        count += 1
        size += len(key) + len(value or b"")
    assert producer.flush(PATIENCE) == 0
    return count, size


def _offsets(connectors: dict[str, int]) -> Iterable[Pair]:
    """Yield the offsets of one source partition per task."""
    for name, tasks in connectors.items():
        for i in range(tasks):
            yield encode_key(name, {"filename": f"/var/lib/data/{name}-{i}.txt"}), encode_value({"position": 123_456})
