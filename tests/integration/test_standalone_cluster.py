"""A separate Spark cluster, a master and two workers as operators start them, runs the demo's connectors and those of
jars that its machines do not have.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hosts.plugins import plugin_path
from penstock.demo import connectors, flights
from penstock.embedded.home import home
from support.kafka.client import Kafka
from support.spark.class_data import EXECUTORS_JAVA, java_options
from support.spark.cluster import SparkCluster
from support.waiting import until
from support.worker_process import PLAIN, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FLIGHTS = 20_000
FILE = "org.apache.kafka.connect.file.FileStream"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("spark")) as cluster:
        yield cluster


def on_the_cluster(spark: SparkCluster) -> dict[str, str]:
    return {
        "spark.master": spark.url,
        "spark.cores.max": "2",
        "spark.executor.memory": "512m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "rest.advertised.host.name": "127.0.0.1",
        EXECUTORS_JAVA: java_options(),
    }


def test_flights_go_through_tasks_on_two_machines_of_a_cluster(
    bootstrap: str, spark: SparkCluster, tmp_path: Path
) -> None:
    flights.write(tmp_path / "flights.csv", FLIGHTS)
    topic, out = f"flights-{uuid.uuid4().hex[:8]}", tmp_path / "sink.csv"
    with WorkerProcess(bootstrap, tmp_path, **on_the_cluster(spark)) as worker:
        create(worker, connectors.SOURCE, {**connectors.source(tmp_path / "flights.csv", 1000), "topic": topic})
        create(worker, connectors.SINK, {**connectors.sink(out), "topics": topic})
        worker.running(connectors.SOURCE)
        worker.running(connectors.SINK)
        # Each worker has one slot, so no machine has both tasks. Beside a task there is the process that it was forked
        # from. The process that checked at the start what the executors have installed may be about to end.
        until(lambda: [len(each) for each in spark.python_processes()] == [2, 2], "a task on each machine")
        until(lambda: out.read_bytes().count(b"\n") >= FLIGHTS, "all flights in the sink's file")
    assert sorted(out.read_bytes().splitlines()) == sorted((tmp_path / "flights.csv").read_bytes().splitlines())


def create(worker: WorkerProcess, name: str, config: dict[str, str]) -> None:
    answer = worker.http.post("/connectors", json={"name": name, "config": config})
    assert answer.status_code == 201, answer.text


def test_jars_reach_machines_that_do_not_have_them(
    bootstrap: str, spark: SparkCluster, kafka: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Executors have another home, where the folders of plugin.path do not exist, and cannot download anything."""
    here, there, topic, out = tmp_path / "here", tmp_path / "there", kafka.create_topic(), tmp_path / "out"
    plugin_path(here / "plugins", "connect-file")
    monkeypatch.setenv("PENSTOCK_HOME", str(home()))
    monkeypatch.setenv("HOME", str(here))
    settings = {
        **on_the_cluster(spark),
        **PLAIN,
        "plugin.path": "~/plugins",
        "penstock.java.ship": "true",
        "spark.executorEnv.HOME": str(there),
        "spark.executorEnv.PENSTOCK_HOME": str(there / "cache"),
        "spark.executorEnv.PENSTOCK_MAVEN_REPOSITORY": "http://127.0.0.1:1",
    }
    (tmp_path / "in").write_text("one\ntwo\n")
    with WorkerProcess(bootstrap, tmp_path, **settings) as worker:
        worker.put("in", **{"connector.class": f"{FILE}SourceConnector", "file": str(tmp_path / "in"), "topic": topic})
        worker.put("out", **{"connector.class": f"{FILE}SinkConnector", "file": str(out), "topics": topic})
        worker.running("in")
        worker.running("out")
        until(lambda: out.exists() and out.read_text() == "one\ntwo\n", "the lines")
        assert len(jvms_below(there)) == 2, "one for each connector, with the class path that was sent"
    (jar,) = there.rglob("connect-file-*.jar")
    assert jar.stat().st_size == next((here / "plugins").rglob("connect-file-*.jar")).stat().st_size


def jvms_below(folder: Path) -> list[int]:
    """Return the process IDs of plugins' JVMs with a class path in this folder."""
    every = [each for each in psutil.process_iter(["name", "cmdline"]) if each.info["name"] == "java"]
    commands = {each.pid: " ".join(each.info["cmdline"] or []) for each in every}
    return [pid for pid, said in commands.items() if "penstock.host.Main" in said and f"-cp {folder}" in said]
