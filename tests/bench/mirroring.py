"""Latency and throughput of mirroring."""

from __future__ import annotations

import threading
import time

from confluent_kafka import Producer, TopicPartition

from bench.connect import PATIENCE, CaseError, Cluster
from bench.setting import Setting
from bench.watch import Watch

_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
_SENT, _UNCOUNTED = 400, 50


def latency(cluster: Cluster, setting: Setting) -> dict[str, float]:
    """Measure the latency of records sent 20 ms apart; the first ones do not count."""
    topic = setting.create_topic(setting.name("latency"))
    name, mirrored = _mirror(cluster, setting, topic)
    consumer = setting.consumer("read_committed", **{"fetch.wait.max.ms": 5})
    consumer.assign([TopicPartition(mirrored, 0, 0)])
    threading.Thread(target=_send, args=(setting.bootstrap, topic), daemon=True).start()
    seen: list[float] = []
    end = time.monotonic() + PATIENCE
    while len(seen) < _SENT and time.monotonic() < end:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            seen.append((time.perf_counter() - float(message.value() or b"0")) * 1000)
    consumer.close()
    cluster.delete(name)
    setting.delete_topics(topic, mirrored, _offset_syncs(name))
    if len(seen) < _SENT:
        raise CaseError(f"{cluster.name}: only {len(seen)} of {_SENT} records were mirrored")
    counted = sorted(seen[_UNCOUNTED:])
    return {"p50 ms": counted[len(counted) // 2], "p99 ms": counted[int(len(counted) * 0.99)]}


def throughput(cluster: Cluster, setting: Setting) -> dict[str, float]:
    """Measure the mirroring of a topic that already has all records."""
    topic = setting.filled_topic(1)
    name, mirrored = _mirror(cluster, setting, topic)
    consumer, watch = setting.consumer("read_committed"), Watch(setting.records, lambda: cluster.check(name))
    try:
        while not watch.sees(setting.end(consumer, mirrored)):
            time.sleep(0.01)
        # Markers of transactions count among the offsets: the last records may arrive a moment later.
        while len(values := list(setting.values(mirrored))) < setting.records:
            watch.check()
    finally:
        consumer.close()
        cluster.delete(name)
    setting.same("mirror-throughput", cluster.name, values, unchanged=True)
    setting.delete_topics(mirrored, _offset_syncs(name))
    return {"records/s": watch.rate}


def _mirror(cluster: Cluster, setting: Setting, topic: str) -> tuple[str, str]:
    """Start mirroring; return the connector and the mirrored topic when it exists."""
    name = setting.name("mirror")
    cluster.put(
        name,
        {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "tasks.max": "1",
            "topics": topic,
            "source.cluster.alias": name,
            "target.cluster.alias": f"{name}-target",
            "source.cluster.bootstrap.servers": setting.bootstrap,
            "target.cluster.bootstrap.servers": setting.bootstrap,
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "refresh.topics.interval.seconds": "2",
            "sync.topic.acls.enabled": "false",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
        },
    )
    mirrored = f"{name}.{topic}"
    end = time.monotonic() + PATIENCE
    while mirrored not in setting.admin.list_topics(timeout=30).topics:
        if time.monotonic() > end:
            cluster.check(name)
            raise CaseError(f"{cluster.name}: topic {mirrored} was not created within {PATIENCE:g} s")
        time.sleep(0.1)
    return name, mirrored


def _offset_syncs(name: str) -> str:
    return f"mm2-offset-syncs.{name}-target.internal"


def _send(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for _ in range(_SENT):
        producer.produce(topic, repr(time.perf_counter()).encode())
        producer.flush()
        time.sleep(0.02)
