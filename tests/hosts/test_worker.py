"""A worker with jars in its ``plugin.path``: from ``/connector-plugins`` to records in a topic."""

from __future__ import annotations

import os
import signal
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from hosts.plugins import plugin_path
from support.kafka.client import Kafka, Record
from support.waiting import until
from support.worker_process import PLAIN, QUICK_JAVA, WorkerProcess

pytestmark = pytest.mark.integration

MARK = f"test.worker={uuid.uuid4().hex}"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("worker")
    path = plugin_path(folder / "plugins", "connect-file", "connect-mirror", "chain", "conduct")
    settings = {
        "plugin.path": path,
        "penstock.java.opts": f"{QUICK_JAVA} -Xmx256m -D{MARK}",
        "config.providers": "jar",
        "config.providers.jar.class": "penstock.tests.ConductProvider",
        "config.providers.jar.param.prefix": "from-the-jar",
        "connector.client.config.override.policy": "penstock.tests.ConductPolicy",
    }
    running = WorkerProcess(bootstrap, folder, **settings, **PLAIN)
    running.start_seconds = 300
    with running as up:
        yield up


def jvms() -> list[psutil.Process]:
    """Return the JVMs of this worker's plugins: its own, and those of its tasks."""
    processes = psutil.process_iter(["cmdline"])
    return [each for each in processes if f"-D{MARK}" in (each.info["cmdline"] or []) and each.name() == "java"]


def test_records_of_a_source_from_a_jar(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    (tmp_path / "in").write_text("one\ntwo\n")
    config = {"connector.class": SOURCE, "file": str(tmp_path / "in"), "topic": topic, "tasks.max": "1"}
    assert worker.http.put("/connectors/lines/config", json=config).status_code == 201
    worker.running("lines")
    until(lambda: kafka.values(topic) == [b"one", b"two"], "the lines arrive")
    (task,) = worker.http.get("/connectors/lines/tasks").json()
    assert task["config"]["task.class"] == "org.apache.kafka.connect.file.FileStreamSourceTask"
    killed = jvms()
    assert len(killed) == 2, "one of the connector, and one of its task"
    for process in killed:
        os.kill(process.pid, signal.SIGKILL)
    with (tmp_path / "in").open("a") as file:
        file.write("three\n")
    until(lambda: kafka.values(topic)[-1:] == [b"three"], "the task goes on in a new JVM")
    worker.running("lines")
    assert worker.http.put("/connectors/lines/config", json={**config, "batch.size": "7"}).status_code == 200
    until(
        lambda: worker.http.get("/connectors/lines/tasks").json()[0]["config"].get("batch.size") == "7",
        "the connector makes new configurations",
    )
    assert worker.http.delete("/connectors/lines").status_code == 204


def test_plugins_are_listed(worker: WorkerProcess) -> None:
    listed = worker.http.get("/connector-plugins", params={"connectorsOnly": "false"}).json()
    assert {"class": SOURCE, "type": "source", "version": "4.3.1"} in listed
    assert [each["class"] for each in listed].count(SOURCE) == 1, "the jar's hides the built-in one"
    assert "penstock.tests.chain.Mark" in {each["class"] for each in listed}
    keys = worker.http.get(f"/connector-plugins/{SOURCE}/config").json()
    assert [key["name"] for key in keys][:3] == ["file", "topic", "batch.size"]


def test_metrics_of_a_connector_and_its_task(worker: WorkerProcess, kafka: Kafka) -> None:
    """Metrics of KIP-877, MBeans, and the lag computed from them and the offsets."""
    topic = kafka.create_topic()
    worker.put("numbers", **{"connector.class": "penstock.tests.ConductSource", "topic": topic, "tasks.max": "1"})
    worker.running("numbers")
    labels = f'connector="numbers",context="streaming",number="0",server="\\"{topic}\\"",task="0"'
    wanted = {
        'kafka_connect_plugins_settings{connector="numbers"} 6.0',
        f"penstock_tests_connector_metrics_MilliSecondsBehindSource{{{labels}}} 1500.0",
        f"penstock_tests_connector_metrics_Connected{{{labels}}} 1.0",
    }

    def shown() -> set[str]:
        return set(worker.http.get("/metrics").text.splitlines())

    until(lambda: wanted <= shown(), "the metrics")
    assert not [line for line in shown() if line.startswith("java_lang_")]

    def task() -> Any:
        (health,) = worker.get("/connectors/numbers/status?penstock=true")["penstock"]["tasks"]
        return health

    until(lambda: task()["seconds_behind"] == 1.5, "the lag")
    until(lambda: [place["position"] for place in task()["places"] if place["unit"] == "next"] == [100], "the end")
    assert worker.http.delete("/connectors/numbers").status_code == 204
    until(lambda: 'connector="numbers"' not in worker.http.get("/metrics").text, "the end of its metrics")


def test_levels_of_loggers_hold_in_the_jvms(worker: WorkerProcess, kafka: Kafka) -> None:
    deeds = {"at.connector.start": "log connector-said", "at.poll": "log task-said"}
    own = {"connector.class": "penstock.tests.ConductSource", "topic": kafka.create_topic(), "tasks.max": "1"}
    worker.put("talking", **own, **deeds)
    worker.running("talking")

    def said(text: str) -> bool:
        return any(" DEBUG " in line and text in line for line in worker.log.read_text().splitlines())

    assert not said("task-said")
    worker.http.put("/admin/loggers/penstock.tests", json={"level": "DEBUG"}).raise_for_status()
    until(lambda: said("task-said"), "the task's line")
    assert not said("connector-said")
    worker.http.post("/connectors/talking/restart").raise_for_status()
    until(lambda: said("connector-said"), "the connector's line")
    worker.http.put("/admin/loggers/penstock.tests", json={"level": "INFO"}).raise_for_status()
    assert worker.http.delete("/connectors/talking").status_code == 204


def test_values_of_a_config_provider_from_a_jar_expire(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    own = {"connector.class": "penstock.tests.ConductSource", "topic": topic, "tasks.max": "1"}
    worker.put("secrets", **own, journal=f"{tmp_path}/${{jar:ttl-2000:journal}}")
    worker.running("secrets")

    def starts(method: str) -> list[Path]:
        """Return the files that runs with different values write."""
        return [each for each in tmp_path.iterdir() if f"\n{method} " in f"\n{each.read_text()}"]

    until(lambda: len(starts("connector.start")) > 1, "the connector is restarted with another value")
    until(lambda: len(starts("start")) > 1, "its task, too")
    assert all(each.name.startswith("from-the-jar-journal-") for each in starts("start"))
    assert worker.http.delete("/connectors/secrets").status_code == 204
    answer = worker.http.post("/connectors", json={"name": "x", "config": {**own, "batch": "${jar:sealed:a}"}})
    assert answer.status_code >= 400
    assert "The vault is sealed" in answer.json()["message"]


def test_an_override_policy_from_a_jar(worker: WorkerProcess, kafka: Kafka) -> None:
    own = {"connector.class": "penstock.tests.ConductSource", "topic": kafka.create_topic(), "tasks.max": "1"}
    overrides = {"name": "mine", "producer.override.acks": "1", "producer.override.linger.ms": "5"}
    found = worker.http.put("/connector-plugins/ConductSource/config/validate", json={**own, **overrides}).json()
    errors = {each["value"]["name"]: each["value"]["errors"] for each in found["configs"] if each["value"]["errors"]}
    assert errors == {"producer.override.acks": ["1 is not for PRODUCER of mine, a source of ConductSource"]}


def test_a_sink_from_a_jar_writes_records(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, ["one", "two"])
    own = {"topics": topic, "file": str(tmp_path / "out"), "tasks.max": "1"}
    worker.put("out", **{"connector.class": "penstock.tests.ConductSink", **own})
    out = tmp_path / "out"
    expected = f"{topic}-0@0 one\n{topic}-0@1 two\n"
    until(lambda: out.exists() and len(out.read_text()) >= len(expected), "the sink has written")
    assert out.read_text() == expected
    worker.running("out")
    assert worker.http.delete("/connectors/out").status_code == 204


def test_a_mirror_of_apache(worker: WorkerProcess, kafka: Kafka) -> None:
    """MirrorMaker's connector has its own clients, and reads the offsets of its tasks."""
    topic = kafka.create_topic(partitions=2)
    sent = [
        Record(b"one", b"k", 0, headers=(("h", b"\x00\x01"), ("n", None)), timestamp=1_700_000_000_000),
        Record(None, b"gone", 1, timestamp=1_700_000_000_001),
        Record(b"", None, 1, timestamp=1_700_000_000_002),
    ]
    kafka.produce(topic, sent)
    bytes_ = dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES)
    bootstrap = {f"{side}.cluster.bootstrap.servers": kafka.bootstrap for side in ("source", "target")}
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": "2",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "topics": topic,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "exactly.once.support": "required",
        "source.consumer.isolation.level": "read_committed",
        **bootstrap,
        **bytes_,
    }
    worker.put("mirror", **config)
    until(lambda: f"a.{topic}" in kafka.topics(), "the topic is made")
    until(lambda: len(kafka.read_all(f"a.{topic}")) == len(sent), "the records arrive")
    worker.running("mirror", 2)
    assert [replace(each, offset=-1) for each in kafka.read_all(f"a.{topic}")] == sent
    worker.http.post("/connectors/mirror/restart?includeTasks=true").raise_for_status()
    kafka.produce(topic, [Record(b"later", None, 0)])
    until(lambda: kafka.values(f"a.{topic}") == [b"one", b"later", None, b""], "it goes on")

    def places() -> list[tuple[int, int]]:
        offsets = worker.get("/connectors/mirror/offsets")["offsets"]
        own = [each for each in offsets if each["partition"]["topic"] == topic]  # not `heartbeats` of another test
        return sorted((each["partition"]["partition"], each["offset"]["offset"]) for each in own)

    # A commit may be visible in one topic a little before the other.
    until(lambda: places() == [(0, 1), (1, 1)], "the offsets")
    assert worker.http.delete("/connectors/mirror").status_code == 204
