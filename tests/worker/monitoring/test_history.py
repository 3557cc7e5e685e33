"""Requests of operators to a worker: history kept over restarts, log lines, and a preview through REST."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

HOIST = "org.apache.kafka.connect.transforms.HoistField$Value"


def versions(worker: WorkerProcess) -> list[tuple[int, str]]:
    listed = worker.get("/penstock/v1/connectors/c/history")["versions"]
    return [(each["version"], each["change"]) for each in listed]


def test_versions_and_events_outlive_the_worker(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    config: dict[str, Any] = {"connector__class": "FileStreamSource", "file": str(tmp_path / "in.txt")}
    (tmp_path / "in.txt").write_text("one\n")
    topic = kafka.create_topic()
    with WorkerProcess(bootstrap, tmp_path) as worker:
        worker.put("c", **config, topic=topic)
        worker.running("c")
        worker.put("c", **config, topic=topic, batch__size="5")
        expected = [(2, "configuration"), (1, "created")]
        until(lambda: versions(worker) == expected, "two versions")
        assert worker.http.post("/penstock/v1/connectors/c/rollback").json()["config"].get("batch.size") is None
        expected.insert(0, (3, "configuration"))
        until(lambda: versions(worker) == expected, "the rollback as a version")
        assert worker.get("/penstock/v1/connectors/c/history")["kept"] == "in a topic"

        def happened() -> set[str]:
            events = worker.get("/penstock/v1/connectors/c/events")["events"]
            return {event.get("topic") or event.get("state") or event["kind"] for event in events}

        until(lambda: happened() >= {topic, "RUNNING"}, "the task's states and its topic")

        def logged() -> str:
            return str(worker.get("/penstock/v1/connectors/c/logs?task=0")["lines"])

        until(lambda: "finished initialization and start" in logged(), "the line of the task's start")
        tried = {"name": "c", "patch": {"transforms": "h", "transforms.h.field": "line", "transforms.h.type": HOIST}}
        found = worker.http.post("/penstock/v1/preview", json=tried).json()
        assert [record["before"]["value"] for record in found["records"]] == ["one"], found
        assert found["records"][0]["result"]["value"] == "Struct{line=one}"
        # A topic is reported before its records are committed.
        until(lambda: kafka.values(topic) == [b"one"], "the line, once")
        assert worker.stop() == 0
        worker.start().ready()
        until(lambda: versions(worker) == expected, "the same versions after a restart")
    written = [json.loads(record.value or b"") for record in kafka.read_all(f"{worker.name}-config-history")]
    assert [each["number"] for each in written if each["type"] == "version"] == [1, 2, 3]
