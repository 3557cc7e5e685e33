"""A Spark cluster that is nothing of ours runs the demo's connectors: a master and two workers, as operators start
them.
"""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from penstock.demo import connectors, flights
from support.spark.cluster import SparkCluster
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FLIGHTS = 20_000


def test_flights_go_through_tasks_on_two_machines_of_a_cluster(bootstrap: str, tmp_path: Path) -> None:
    flights.write(tmp_path / "flights.csv", FLIGHTS)
    topic, out = f"flights-{uuid.uuid4().hex[:8]}", tmp_path / "sink.csv"
    with SparkCluster(tmp_path) as spark:
        on_the_cluster = {
            "spark.master": spark.url,
            "spark.cores.max": "2",
            "spark.executor.memory": "512m",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "rest.advertised.host.name": "127.0.0.1",
        }
        with WorkerProcess(bootstrap, tmp_path, **on_the_cluster) as worker:
            create(worker, connectors.SOURCE, {**connectors.source(tmp_path / "flights.csv", 1000), "topic": topic})
            create(worker, connectors.SINK, {**connectors.sink(out), "topics": topic})
            worker.running(connectors.SOURCE)
            worker.running(connectors.SINK)
            # One slot each: no machine has both tasks. Beside a task there is the process that it was forked from.
            # The one that has checked at the start what the executors have may be about to end.
            until(lambda: [len(each) for each in spark.python_processes()] == [2, 2], "a task on each machine", 60)
            until(lambda: out.read_bytes().count(b"\n") >= FLIGHTS, "all flights in the sink's file", 300)
    assert sorted(out.read_bytes().splitlines()) == sorted((tmp_path / "flights.csv").read_bytes().splitlines())


def create(worker: WorkerProcess, name: str, config: dict[str, str]) -> None:
    answer = worker.http.post("/connectors", json={"name": name, "config": config})
    assert answer.status_code == 201, answer.text
