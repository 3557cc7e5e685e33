"""The attention list of a real worker: its rows from its topics and from the brokers."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import NewTopic

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


def test_a_sink_without_its_topic_and_a_pause(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic = f"late-{uuid.uuid4().hex}"
    with WorkerProcess(bootstrap, tmp_path) as worker:

        def rows() -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = worker.get("/penstock/v1/attention")["rows"]
            return found

        def kinds() -> list[str]:
            return [row["kind"] for row in rows()]

        worker.put("lines", connector__class="FileStreamSink", topics=topic, file=str(tmp_path / "out.txt"))
        worker.running("lines")
        until(lambda: kinds() == ["missing-topics"], "the row about the topic")
        assert f"topic {topic} does not exist" in rows()[0]["why"]
        kafka.create(NewTopic(topic, 1, 1))
        until(lambda: kinds() == [], "the end of the row")
        worker.http.put("/connectors/lines/pause")
        until(lambda: kinds() == ["paused"], "the row about the pause")
        (row,) = rows()
        assert (row["connector"], row["since"] is not None) == ("lines", True)
