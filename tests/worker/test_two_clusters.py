"""A connector whose records go to another Kafka cluster than its worker's (KIP-458, KIP-618)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.embedded import Broker
from soak.victims import kind_of
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

CLIENTS = ("producer", "consumer", "admin")


@pytest.fixture(scope="module")
def second() -> Iterator[Kafka]:
    with Broker() as broker:
        yield Kafka(broker.bootstrap)


def values(kafka: Kafka, topic: str) -> list[bytes | None]:
    return kafka.values(topic) if topic in kafka.topics() else []


def positions(kafka: Kafka, topic: str, connector: str) -> list[int]:
    """Return the connector's positions in an offsets topic, in order."""
    if topic not in kafka.topics():
        return []
    stored = [(json.loads(r.key or b"[0]"), r.value) for r in kafka.read_all(topic)]
    return [json.loads(value)["position"] for key, value in stored if key[0] == connector and value]


@pytest.mark.parametrize("support", ["enabled", "disabled"])
def test_a_connector_moves_to_a_second_cluster_without_gap_or_repeat(
    kafka: Kafka, second: Kafka, tmp_path: Path, support: str
) -> None:
    file, topic = tmp_path / "in", f"moved-{uuid.uuid4().hex[:8]}"
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": topic}
    elsewhere = {f"{client}.override.bootstrap.servers": second.bootstrap for client in CLIENTS}
    rules = {"topic.creation.default.partitions": "1", "topic.creation.default.replication.factor": "1"}
    own = {} if support == "enabled" else {"offsets.storage.topic": f"own-{topic}"}

    def write(*lines: bytes) -> None:
        with file.open("ab") as out:
            out.write(b"".join(line + b"\n" for line in lines))

    write(b"one", b"two")
    settings = {"exactly.once.source.support": support, "task.shutdown.graceful.timeout.ms": "60000"}
    with WorkerProcess(kafka.bootstrap, tmp_path, **settings) as worker:
        shared = worker.settings["offset.storage.topic"]
        worker.put(topic, **config)
        until(lambda: values(kafka, topic) == [b"one", b"two"], "records on the first cluster")
        assert worker.http.put(f"/connectors/{topic}/stop").status_code == 204
        until(lambda: worker.states(topic) == ["STOPPED"], "the connector stopped")
        # The old task may not have ended yet, and would send the next lines to the first cluster.
        until(lambda: not any(kind_of(each) == "task" for each in worker.descendants()), "the end of its task")
        write(b"three", b"four")
        worker.put(topic, **config, **elsewhere, **rules, **own)
        assert worker.http.put(f"/connectors/{topic}/resume").status_code == 202
        until(lambda: values(second, topic) == [b"three", b"four"], "records on the second cluster")
        write(b"five")
        until(lambda: values(second, topic) == [b"three", b"four", b"five"], "further records")

        its_offsets = own.get("offsets.storage.topic", shared)
        until(lambda: positions(second, its_offsets, topic)[-1:] == [24], "offsets on the second cluster")
        assert 8 not in positions(second, its_offsets, topic), "the first cluster keeps its offsets"
        until(lambda: positions(kafka, shared, topic)[-1:] == [24], "their copy on the worker's cluster")
        place = {"partition": {"filename": str(file)}, "offset": {"position": 24}}
        assert worker.get(f"/connectors/{topic}/offsets") == {"offsets": [place]}
        assert values(kafka, topic) == [b"one", b"two"]
        if own:
            assert its_offsets not in kafka.topics()

        answer = worker.http.post(f"/connectors/{topic}/restart?includeTasks=true")
        assert answer.status_code == 202
        worker.running(topic)
        write(b"six")
        until(lambda: b"six" in values(second, topic), "a record after a restart")
    assert values(second, topic) == [b"three", b"four", b"five", b"six"]
