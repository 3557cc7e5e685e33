"""Taps, targets and sources of dlt on a real worker: allowed by its properties, and continued by the next worker."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PATIENCE = 900.0
SOURCES = Path(__file__).parents[1] / "connectors" / "singer"
SHOP = SOURCES.parent / "dlt" / "shop.py"
JSON = {
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("singer")
    for name, source in (("tap-numbers", "numbers_tap.py"), ("target-lines", "lines_target.py")):
        (found / name).write_text((SOURCES / source).read_text().replace("#!PYTHON", f"#!{sys.executable}"))
        (found / name).chmod(0o755)
    return found


@pytest.fixture(scope="module")
def worker(bootstrap: str, folder: Path) -> Iterator[WorkerProcess]:
    allowed = {
        "penstock__singer__taps__allowed": f"{folder}/tap-*",
        "penstock__singer__targets__allowed": f"{folder}/target-*",
        "penstock__dlt__sources__allowed": f"{SHOP.parent}/*.py:*",
        "offset__flush__interval__ms": "500",
    }
    with WorkerProcess(bootstrap, folder, **allowed) as found:
        yield found


def test_a_tap_is_continued_by_the_next_worker(worker: WorkerProcess, kafka: Kafka, folder: Path) -> None:
    prefix = f"singer-{uuid.uuid4().hex[:8]}-"
    topic = kafka.create_topic(f"{prefix}orders")

    def numbers() -> list[int]:
        return [json.loads(value)["id"] for value in kafka.values(topic) if value is not None]

    def config(to: int) -> dict[str, str]:
        return JSON | {
            "connector.class": "SingerSource",
            "singer.tap": str(folder / "tap-numbers"),
            "singer.config": json.dumps({"to": to, "every": 4}),
            "singer.streams": "orders",
            "topic.prefix": prefix,
            "poll.interval.ms": "200",
        }

    refused = worker.http.put("/connectors/shop/config", json=config(8) | {"singer.tap": "/bin/sh"})
    assert refused.status_code == 400
    assert "/bin/sh is not among the executables that `penstock.singer.taps.allowed`" in refused.json()["message"]
    worker.put("shop", **config(8))
    until(lambda: numbers() == list(range(8)), f"eight numbers: {numbers()}", PATIENCE)
    offsets = [{"partition": {"tap": "tap-numbers"}, "offset": {"state": '{"orders":8}'}}]
    until(lambda: worker.get("/connectors/shop/offsets")["offsets"] == offsets, "their offset", PATIENCE)
    worker.kill()
    worker.start().ready()
    worker.put("shop", **config(12))
    until(lambda: len(numbers()) >= 12, f"twelve numbers: {numbers()}", PATIENCE)
    assert numbers() == list(range(12))


def test_a_source_of_dlt_is_continued_by_the_next_worker(worker: WorkerProcess, kafka: Kafka) -> None:
    prefix = f"dlt-{uuid.uuid4().hex[:8]}-"
    topic = kafka.create_topic(f"{prefix}orders")

    def numbers() -> list[int]:
        return [json.loads(value)["id"] for value in kafka.values(topic) if value is not None]

    def config(to: int) -> dict[str, str]:
        return JSON | {
            "connector.class": "DltSource",
            "dlt.source": f"{SHOP}:shop",
            "dlt.arguments": json.dumps({"to": to}),
            "dlt.resources": "orders",
            "topic.prefix": prefix,
            "poll.interval.ms": "200",
        }

    refused = worker.http.put("/connectors/orders/config", json=config(4) | {"dlt.source": "os:system"})
    assert refused.status_code == 400
    assert "os:system is not among the sources that `penstock.dlt.sources.allowed`" in refused.json()["message"]
    worker.put("orders", **config(4))
    until(lambda: numbers() == [0, 1, 2, 3], f"four numbers: {numbers()}", PATIENCE)

    def offset() -> str:
        return str([each["offset"]["state"] for each in worker.get("/connectors/orders/offsets")["offsets"]])

    until(lambda: '"last_value":3' in offset(), "their offset", PATIENCE)
    worker.kill()
    worker.start().ready()
    worker.put("orders", **config(6))
    until(lambda: len(numbers()) >= 6, f"six numbers: {numbers()}", PATIENCE)
    assert numbers() == list(range(6))


def test_a_target_loses_nothing_when_it_is_killed(worker: WorkerProcess, kafka: Kafka, folder: Path) -> None:
    topic = kafka.create_topic(f"singer-{uuid.uuid4().hex[:8]}", partitions=2)
    out = folder / "out"
    config = JSON | {
        "connector.class": "SingerSink",
        "topics": topic,
        "singer.target": str(folder / "target-lines"),
        "singer.config": json.dumps({"file": str(out), "every": 3, "fails": 9}),
        "singer.stream.name.format": "of_${topic}",
        "pk.mode": "record_value",
        "pk.fields": "id",
    }

    def written() -> list[dict[str, int]]:
        lines = map(json.loads, out.read_text().splitlines()) if out.exists() else ()
        assert {each["stream"] for each in lines} <= {f"of_{topic}"}
        return [json.loads(line)["record"] for line in out.read_text().splitlines()] if out.exists() else []

    def committed() -> int:
        found = worker.get("/connectors/keep/offsets")["offsets"]
        return sum(each["offset"]["kafka_offset"] for each in found)

    refused = worker.http.put("/connectors/keep/config", json=config | {"singer.target": "/bin/sh"})
    assert refused.status_code == 400
    assert "/bin/sh is not among the executables that `penstock.singer.targets.allowed`" in refused.json()["message"]
    worker.put("keep", **config)
    kafka.produce(topic, [json.dumps({"id": number}) for number in range(5)])
    until(lambda: committed() == 5, "the offsets of a state", PATIENCE)
    kafka.produce(topic, [json.dumps({"id": number}) for number in range(5, 20)])

    def trace() -> str:
        return str((worker.get("/connectors/keep/status")["tasks"] or [{}])[0].get("trace", ""))

    until(lambda: "The target has ended with status 3: no such table" in trace(), "its last words", PATIENCE)
    worker.put("keep", **config | {"singer.config": json.dumps({"file": str(out)})})
    until(lambda: committed() == 20, "all offsets", PATIENCE)
    assert {each["id"] for each in written()} == set(range(20))
