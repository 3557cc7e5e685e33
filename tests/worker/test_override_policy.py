"""A worker that has got a stricter policy on overrides, and connectors that were created before."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


def test_a_stricter_policy_holds_for_connectors_that_there_are(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic, refusal = kafka.create_topic(), "Client Config Overrides not allowed [["
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out"), "topics": topic}
    letters = {
        "errors.deadletterqueue.topic.name": kafka.create_topic(),
        "errors.deadletterqueue.topic.replication.factor": "1",
    }
    worker = WorkerProcess(bootstrap, tmp_path)
    with worker:
        source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "topic": topic}
        worker.put("source", **source, **{"producer.override.acks": "1"})
        worker.put("sink", **sink, **letters, **{"producer.override.acks": "1"})
        # Without a dead letter queue its tasks have no admin client.
        worker.put("quiet", **sink, **{"admin.override.bootstrap.servers": "127.0.0.1:1"})
        until(lambda: all(len(worker.states(each)) == 2 for each in ("source", "sink", "quiet")), "their tasks")
    worker = WorkerProcess(bootstrap, tmp_path, **worker.settings, connector__client__config__override__policy="None")
    with worker:
        until(lambda: worker.states("source") == ["FAILED", "FAILED"], "the source's failure")
        until(lambda: worker.states("sink") == ["RUNNING", "FAILED"], "the failure of the sink's task")
        worker.running("quiet")
        for name in ("source", "sink"):
            trace = worker.get(f"/connectors/{name}/status")["tasks"][0]["trace"]
            assert trace.startswith(f"org.apache.kafka.connect.errors.ConnectException: {refusal}acks,1,")
        for name in ("source", "quiet"):
            answer = worker.http.get(f"/connectors/{name}/offsets")
            assert (answer.status_code, answer.json()["message"][: len(refusal)]) == (500, refusal)
        answer = worker.http.get("/penstock/v1/connectors/sink/dead-letters")
        assert (answer.status_code, answer.json()["message"][: len(refusal)]) == (400, refusal)
