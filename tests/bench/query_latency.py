"""Latency of small batches from ``produce`` until a reader can see the record in a Parquet file, by SparkSink and by a
plain program of Structured Streaming. Both begin a batch as soon as the last has ended.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Producer

from bench.connect import CaseError, Connect
from bench.query import files, rows
from bench.setting import Setting
from bench.watch import Watch

_SENT, _UNCOUNTED, _EVERY = 900, 600, 0.05
_MOST = 10_000


def by_connector(cluster: Connect, setting: Setting) -> dict[str, float]:
    name = setting.create_topic(setting.name("query-latency"))
    folder = setting.folder / name
    config = {
        "connector.class": "penstock.connectors.SparkSink",
        "topics": name,
        "format": "parquet",
        "path": str(folder),
        "batch.max.records": str(_MOST),
        "consumer.override.auto.offset.reset": "earliest",
    }
    cluster.put(name, config)
    try:
        return _measured(setting, name, folder, lambda: cluster.check(name))
    finally:
        cluster.delete(name)
        setting.delete_topics(name)


def by_program(setting: Setting) -> dict[str, float]:
    topic = setting.create_topic(setting.name("plain-latency"))
    folder = setting.folder / topic
    log = folder.with_suffix(".log")
    command = [sys.executable, "-m", "bench.plain_query", setting.bootstrap, topic, str(folder), str(_MOST)]
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as program:

        def check() -> None:
            if program.poll() is not None:
                raise CaseError(f"query-latency: the plain program has ended:\n{log.read_text()[-2000:]}")

        try:
            return _measured(setting, topic, folder, check)
        finally:
            program.terminate()
            program.wait()
            setting.delete_topics(topic)


def _measured(setting: Setting, topic: str, folder: Path, check: Callable[[], None]) -> dict[str, float]:
    """Send one record, which waits for the start, and then measure one every 50 ms; the first of these do not count."""
    seen: list[tuple[float, float]] = []
    read: set[Path] = set()

    def look() -> None:
        for file in files(folder):
            if file not in read and rows(file) is not None:
                now = time.perf_counter()
                read.add(file)
                seen.extend((sent, now - sent) for sent in _sent(file))

    def wait(count: int) -> None:
        watch = Watch(count, check)
        while not watch.sees(len(seen)):
            time.sleep(0.01)
            look()

    _send(setting.bootstrap, topic, 1)
    wait(1)
    sending = threading.Thread(target=_send, args=(setting.bootstrap, topic, _SENT), daemon=True)
    sending.start()
    wait(1 + _SENT)
    counted = sorted(late * 1000 for _, late in sorted(seen)[1 + _UNCOUNTED :])
    return {"p50 ms": counted[len(counted) // 2], "p99 ms": counted[int(len(counted) * 0.99)]}


def _sent(file: Path) -> list[float]:
    import pyarrow.parquet as parquet

    return list(map(float, parquet.read_table(file, columns=["value"], partitioning=None).column("value").to_pylist()))


def _send(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    for _ in range(count):
        producer.produce(topic, repr(time.perf_counter()).encode())
        producer.flush()
        time.sleep(_EVERY)
