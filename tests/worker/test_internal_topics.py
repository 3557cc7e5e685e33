"""No connector reads or writes the internal topics of workers, however it comes to them."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.security, pytest.mark.integration]

REFUSED = "penstock.errors.InternalTopicException: "
ROUTER = "org.apache.kafka.connect.transforms.RegexRouter"


def other_address(bootstrap: str) -> str:
    host, _, port = bootstrap.rpartition(":")
    return f"{'127.0.0.1' if host == 'localhost' else 'localhost'}:{port}"


def refusal(worker: WorkerProcess, config: dict[str, str], name: str = "bad") -> str:
    answer = worker.http.put(f"/connectors/{name}/config", json=config)
    assert answer.status_code == 400, answer.text
    return str(answer.json()["message"])


def failure(worker: WorkerProcess, name: str) -> str:
    def trace() -> str | None:
        answer = worker.http.get(f"/connectors/{name}/status")
        tasks = answer.json()["tasks"] if answer.status_code == 200 else []
        return tasks[0].get("trace") if tasks and tasks[0]["state"] == "FAILED" else None

    found: str = until(trace, f"{name}'s task fails")
    return found


def test_internal_topics_are_out_of_reach(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    denied, orders = f"other-{tmp_path.name}".replace("_", "-"), kafka.create_topic()
    worker = WorkerProcess(
        bootstrap,
        tmp_path,
        **{
            "exactly.once.source.support": "disabled",
            "penstock.topics.denied": f"{denied}*",
            "penstock.audit.topic": f"audit-{tmp_path.name}".replace("_", "-"),
            "config.providers": "env",
            "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
        },
    )
    config, audit = f"{worker.name}-config", worker.settings["penstock.audit.topic"]
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out")}
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in"), "tasks.max": "1"}
    with worker:
        own = f"{worker.name}-own"
        worker.put("own", **source, topic=orders, **{"offsets.storage.topic": own})
        worker.running("own")
        for topic in (config, f"{worker.name}-status", f"{worker.name}-offset", f"{config}-history", audit, own):
            assert f"{topic} is " in refusal(worker, {**sink, "topics": f"a, {topic}"})
            assert f"{topic} is " in refusal(worker, {**source, "topic": topic})
        assert "which no connector may read" in refusal(worker, {**sink, "topics": f"{denied}-x"})
        letters = {"topics": orders, "errors.deadletterqueue.topic.name": config}
        assert "errors.deadletterqueue.topic.name" in json.dumps(validated(worker, {**sink, **letters}))
        assert f"{config} is " in refusal(worker, {**sink, **letters})
        elsewhere = {"consumer.override.bootstrap.servers": other_address(bootstrap)}
        assert f"{config} is " in refusal(worker, {**sink, **elsewhere, "topics": config})
        assert "conflicts with Connect worker group" in refusal(
            worker, {**sink, "topics": orders, "consumer.override.group.id": f" {worker.name} "}
        )
        assert "topic that is neither" in refusal(worker, {**source, "topic": "t", "offsets.storage.topic": config})
        assert "has records of other connectors" in refusal(
            worker, {**source, "topic": "t", "offsets.storage.topic": orders}
        )
        preview = {"name": "p", "config": {**sink, "topics": config}}
        answer = worker.http.post("/penstock/v1/preview", json=preview)
        assert (answer.status_code, config in answer.json()["message"]) == (400, True)
        preview = {"name": "p", "config": {**sink, "topics.regex": f"{worker.name}.*|{orders}"}, "limit": 100}
        found = worker.http.post("/penstock/v1/preview", json=preview).json()
        assert {each["before"]["topic"] for each in found["records"]} <= {orders}
        route = {"transforms": "r", "transforms.r.type": ROUTER, "transforms.r.regex": "(.*)-x"}
        dashed = {"transforms.r.replacement": "$1", "topic": f"{config}-x"}
        (tmp_path / "in").write_text("forged\n")
        before = kafka.values(config)
        worker.put("routed", **source, **route, **dashed, **{"errors.tolerance": "all"})
        assert failure(worker, "routed").startswith(f"{REFUSED}{config} is the worker's `config.storage.topic`")
        dashed["producer.override.bootstrap.servers"] = other_address(bootstrap)
        worker.put("alias", **source, **route, **dashed)
        assert failure(worker, "alias").startswith(f"{REFUSED}{config} is the worker's `config.storage.topic`")
        assert b"forged" not in {*kafka.values(config)} - {*before}
        until(
            lambda: (
                sum(json.loads(line or b"{}").get("action") == "internal-topic" for line in kafka.values(audit)) >= 2
            ),
            "audit records of both",
        )
        # Other tests' workers have topics on this broker, too, which this one does not know.
        worker.put("all", **sink, **{"topics.regex": f"({worker.name}|{audit}|{orders}).*"})
        worker.running("all")
        kafka.produce(orders, ["seen"])
        until(lambda: "seen" in (tmp_path / "out").read_text(), "records of other topics")
        time.sleep(1)
        assert "session-key" not in (tmp_path / "out").read_text()
        assert f"connector-{'own'}" not in (tmp_path / "out").read_text()
        active = worker.get("/connectors/all/topics")["all"]["topics"]
        assert [topic for topic in active if topic.startswith((worker.name, audit))] == []


ROUTE = """
from penstock.api import SourceConnector, SourceTask, SourceRecord

class Routing(SourceConnector):
    def start(self, config): self.config = dict(config)
    def task_class(self): return RoutingTask
    def task_configs(self, most): return [self.config]

class RoutingTask(SourceTask):
    # Sends a record to each topic that its file names.
    def start(self, config): self.file = open(config["file"])
    def poll(self):
        return [SourceRecord(topic=line.strip(), value="forged") for line in self.file.readlines()]
    def idle(self): return 0.05
    def stop(self): self.file.close()
"""


def test_running_tasks_learn_of_a_new_offsets_topic(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    (tmp_path / "penstock_test_routing.py").write_text(ROUTE)
    (tmp_path / "routes").write_text("")
    settings = {"exactly.once.source.support": "disabled", "plugin.path": str(tmp_path)}
    worker = WorkerProcess(bootstrap, tmp_path, **settings)
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "none"), "topic": kafka.create_topic()}
    with worker, (tmp_path / "routes").open("a") as routes:
        worker.put("routing", **{"connector.class": "penstock_test_routing.Routing", "file": routes.name})
        worker.running("routing")
        own = f"{worker.name}-own"
        worker.put("own", **source, **{"offsets.storage.topic": own})
        worker.running("own")
        routes.write(f"{own}\n")
        routes.flush()
        assert failure(worker, "routing").startswith(f"{REFUSED}{own} is the offsets topic of a connector")
        assert kafka.values(own) == []


def validated(worker: WorkerProcess, config: dict[str, str]) -> list[str]:
    answer = worker.http.put("/connector-plugins/FileStreamSink/config/validate", json={**config, "name": "v"})
    assert answer.status_code == 200, answer.text
    return [each["value"]["name"] for each in answer.json()["configs"] if each["value"]["errors"]]
