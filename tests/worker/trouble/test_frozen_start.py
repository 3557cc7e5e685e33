"""A worker is frozen past its session while one of its tasks waits for its process, and the task runs elsewhere by the
time it wakes: the late process does not begin, though the worker does not know yet that it has left its group.
"""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path

import orjson
import psutil
import pytest

from faults.broker import FaultyBroker
from soak.beats import Runs
from soak.tally import amiss, read
from soak.victims import kind_of
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLUGINS = str(Path(__file__).parents[2] / "soak" / "plugin.py")
LOST = "Lost contact with the worker group"
LEASE_MS = 6_000
PATIENCE = 900
COUNTING = {
    "connector__class": "plugin.Counting",
    "topic__partitions": "1",
    "source__partitions": "1",
    "transaction__boundary": "poll",
}


def waits(worker: WorkerProcess, name: str) -> bool:
    answer = worker.http.get(f"/connectors/{name}/status")
    found = answer.json()["tasks"] if answer.status_code == 200 else []  # a connector without a status yet
    return [task["state"] for task in found] == ["UNASSIGNED"] and "Spark has not started the task yet" in found[0].get(
        "trace", ""
    )


def committed(worker: WorkerProcess) -> int:
    """Return the number with which the count goes on."""
    offsets = worker.get("/connectors/counting/offsets")["offsets"]
    return int(offsets[0]["offset"]["next"]) if offsets else 0


def tasks(worker: WorkerProcess) -> set[int]:
    """Return the processes of the worker's tasks."""
    return {each.pid for each in worker.descendants() if kind_of(each) == "task"}


def runs(kafka: Kafka, topic: str) -> Runs:
    found = Runs()
    for record in kafka.read_all(topic, "read_uncommitted"):
        found.add(orjson.loads(record.value or b"{}"))
    return found


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyBroker]:
    with FaultyBroker(tmp_path_factory.mktemp("broker")) as broker:
        yield broker


@pytest.mark.parametrize("exactly_once", [True, False], ids=["exactly once", "at least once"])
def test_a_task_that_runs_elsewhere_by_now_is_not_started_by_a_worker_that_was_frozen(
    broker: FaultyBroker, tmp_path: Path, exactly_once: bool
) -> None:
    kafka = Kafka(broker.bootstrap)
    numbers, beats = kafka.create_topic(), kafka.create_topic()
    shared = {
        "group.id": f"frozen-{uuid.uuid4().hex[:8]}",
        "plugin.path": PLUGINS,
        "session.timeout.ms": "10000",
        "heartbeat.interval.ms": "2000",
        "scheduled.rebalance.max.delay.ms": "0",
        "penstock.task.lease.ms": str(LEASE_MS),
        "exactly.once.source.support": "enabled" if exactly_once else "disabled",
    }
    shared |= {f"{kind}.storage.topic": f"{shared['group.id']}-{kind}" for kind in ("config", "offset", "status")}
    first = WorkerProcess(broker.proxied, tmp_path, **shared)
    second = WorkerProcess(broker.bootstrap, tmp_path, **shared)
    with first:
        first.put("warm", connector__class="plugin.Beats", topic=kafka.create_topic(), revision="1")
        first.running("warm")
        [daemon] = [each for each in first.descendants() if kind_of(each) == "daemon"]
        daemon.suspend()
        first.put("counting", topic=numbers, **COUNTING)
        first.put("beats", connector__class="plugin.Beats", topic=beats, revision="1")
        until(lambda: all(waits(first, name) for name in ("counting", "beats")), "that both wait for Spark", PATIENCE)
        assert first.process is not None
        os.kill(first.process.pid, signal.SIGSTOP)
        try:
            with second:
                second.running("counting")
                second.running("beats")
                until(lambda: committed(second) > 500, "that the second worker has counted", PATIENCE)
                # The processes for which the first waited are there as soon as it wakes.
                daemon.resume()
                until(lambda: tasks(first), "a process that waits to be admitted", PATIENCE)
                with broker.proxy.hold_groups():
                    # It takes itself for a member of the group, until it hears nothing of it for too long.
                    os.kill(first.process.pid, signal.SIGCONT)
                    until(lambda: LOST in first.log.read_text(), "that it doubts that it is a member", PATIENCE)
                    until(lambda: not tasks(first), "the end of its processes", PATIENCE)
                [run] = runs(kafka, beats).of["beats", 0].values()
                assert psutil.Process(run.pid) in second.descendants()
                assert "Task counting-0 was lost" not in second.log.read_text()
                first.ready()
                before = committed(second)
                until(lambda: committed(second) > before + 500, "that the count goes on", PATIENCE)
                for name in ("counting", "beats", "warm"):
                    assert second.http.put(f"/connectors/{name}/stop").status_code == 204
                    until(lambda name=name: second.states(name) == ["STOPPED"], "the stop", PATIENCE)
                until(lambda: not tasks(first) | tasks(second), "the end of the tasks", PATIENCE)
                end = committed(second)
        finally:
            psutil.Process(first.process.pid).resume()
            daemon.resume()
    wrong = amiss(read(broker.bootstrap, numbers), {0: end}, exactly_once)
    assert wrong == []
    found = runs(kafka, beats)
    assert found.twice() == []
