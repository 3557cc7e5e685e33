"""Throughput: files to topics, exactly once where the worker supports it, and topics to files."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from bench.connect import JSON, Cluster
from bench.setting import Setting
from bench.watch import Watch

_SMT = "org.apache.kafka.connect.transforms."
_WRAP = {
    "value.converter": JSON,
    "value.converter.schemas.enable": "true",
    "transforms": "hoist,insert",
    "transforms.hoist.type": f"{_SMT}HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.insert.type": f"{_SMT}InsertField$Value",
    "transforms.insert.static.field": "src",
    "transforms.insert.static.value": "file",
}
_RESHAPE = {
    "value.converter": JSON,
    "value.converter.schemas.enable": "false",
    "transforms": "replace,insert,cast",
    "transforms.replace.type": f"{_SMT}ReplaceField$Value",
    "transforms.replace.exclude": "note",
    "transforms.replace.renames": "user:uid",
    "transforms.insert.type": f"{_SMT}InsertField$Value",
    "transforms.insert.static.field": "src",
    "transforms.insert.static.value": "file",
    "transforms.cast.type": f"{_SMT}Cast$Value",
    "transforms.cast.spec": "amount:string",
}
_LARGE_FETCHES = {
    "consumer.override.auto.offset.reset": "earliest",
    "consumer.override.max.poll.records": "5000",
    "consumer.override.max.partition.fetch.bytes": "10485760",
}
_TUNED = {
    "producer.override.batch.size": "1000000",
    "producer.override.buffer.memory": "134217728",
    "producer.override.linger.ms": "5",
}
"""Settings that make both producers alike: otherwise each has the defaults of its library."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A case: settings besides the file and the topic. Without any, records arrive unchanged."""

    case: str
    config: dict[str, str] = field(default_factory=dict)
    partitions: int = 1
    tasks: int = 1
    topic: str | None = None
    """Topic of a sink's records; by default one with the unchanged lines."""
    connector: str | None = None
    """Class of the connector, if it is not ``FileStreamSource`` or ``FileStreamSink``."""
    canonical: Callable[[bytes], bytes] | None = None
    """Function that makes records of both clusters equal, if more than the order of JSON's members may differ."""


def source(copy: Copy, cluster: Cluster, setting: Setting) -> Watch:
    """Copy a file of lines to a topic."""
    name = setting.create_topic(setting.name(copy.case))
    early, late = setting.consumer("read_uncommitted"), setting.consumer("read_committed")
    file = {
        "connector.class": copy.connector or "FileStreamSource",
        "file": str(setting.lines()),
        "batch.size": "10000",
    }
    watch = Watch(setting.records, lambda: cluster.check(name))
    cluster.put(name, {**file, "tasks.max": str(copy.tasks), "topic": name, **copy.config})
    try:
        for consumer in (early, late):  # the first records are visible before they are committed
            while not watch.sees(setting.end(consumer, name)):
                time.sleep(0.01)
    finally:
        early.close()
        late.close()
        cluster.delete(name)
    canonical = copy.canonical or (_members_sorted if copy.config else bytes)
    setting.same(copy.case, cluster.name, map(canonical, setting.values(name)), unchanged=not copy.config)
    setting.delete_topics(name)
    return watch


def sink(copy: Copy, cluster: Cluster, setting: Setting) -> Watch:
    """Copy a topic to a file of lines."""
    name, topic = setting.name(copy.case), copy.topic or setting.filled_topic(copy.partitions)
    out = setting.folder / f"{name}.out"
    out.touch()
    out.chmod(0o666)
    file = {"connector.class": copy.connector or "FileStreamSink", "file": str(out), **_LARGE_FETCHES}
    written, watch = 0, Watch(setting.records, lambda: cluster.check(name))
    cluster.put(name, {**file, "tasks.max": str(copy.tasks), "topics": topic, **copy.config})
    try:
        with out.open("rb") as lines:
            while not watch.sees(written):
                if chunk := lines.read():
                    written += chunk.count(b"\n")
                else:
                    time.sleep(0.01)
    finally:
        cluster.delete(name)
    canonical: Callable[[bytes], bytes] = _printed_sorted if copy.config else bytes
    with out.open("rb") as lines:
        records = (canonical(line.rstrip(b"\n")) for line in lines)
        setting.same(copy.case, cluster.name, records, unchanged=not copy.config)
    out.unlink()
    return watch


def _members_sorted(value: bytes) -> bytes:
    """Return JSON with its members sorted."""
    return json.dumps(json.loads(value), sort_keys=True).encode()


def _printed_sorted(line: bytes) -> bytes:
    """Sort the members of a map as Java prints it, since their order is undefined."""
    return b", ".join(sorted(line.strip(b"{}").split(b", "))) if line.startswith(b"{") else line


def _rate(
    run: Callable[[Copy, Cluster, Setting], Watch], copy: Copy, cluster: Cluster, setting: Setting
) -> dict[str, float]:
    return {"records/s": run(copy, cluster, setting).rate}


SOURCE_STRING, SINK_STRING = Copy("source-string"), Copy("sink-string")
source_string = partial(_rate, source, SOURCE_STRING)
source_json = partial(_rate, source, Copy("source-json", _WRAP))
source_string_tuned = partial(_rate, source, Copy("source-string-tuned", _TUNED, canonical=bytes))
source_json_tuned = partial(_rate, source, Copy("source-json-tuned", {**_WRAP, **_TUNED}))
sink_string = partial(_rate, sink, SINK_STRING)
sink_json = partial(_rate, sink, Copy("sink-json", _RESHAPE))
sink_wide = partial(_rate, sink, Copy("sink-wide", _RESHAPE, partitions=4, tasks=2))
