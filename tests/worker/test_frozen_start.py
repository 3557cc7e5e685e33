"""A worker is frozen past its session while one of its tasks waits for its process, and the task runs elsewhere by the
time it wakes: the late process does not begin.
"""

from __future__ import annotations

import os
import signal
import uuid
from pathlib import Path

import orjson
import psutil
import pytest

from soak.beats import Runs
from soak.tally import amiss, read
from soak.victims import kind_of
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLUGINS = str(Path(__file__).parent.parent / "soak" / "plugin.py")
LEASE_MS = 4_000
PATIENCE = 180
COUNTING = {
    "connector__class": "plugin.Counting",
    "topic__partitions": "1",
    "source__partitions": "1",
    "transaction__boundary": "poll",
}


def waits(worker: WorkerProcess, name: str) -> bool:
    found = worker.get(f"/connectors/{name}/status")["tasks"]
    return [task["state"] for task in found] == ["UNASSIGNED"] and "Spark has been asked" in found[0].get("trace", "")


def committed(worker: WorkerProcess) -> int:
    """The number with which the count goes on."""
    offsets = worker.get("/connectors/counting/offsets")["offsets"]
    return int(offsets[0]["offset"]["next"]) if offsets else 0


def tasks(worker: WorkerProcess) -> set[int]:
    """The processes of its tasks."""
    return {each.pid for each in worker.descendants() if kind_of(each) == "task"}


def overlap(runs: Runs) -> int:
    """The longest time, in milliseconds, for which two runs of one task were at work side by side."""
    every = [sorted(found.values(), key=lambda run: run.first) for found in runs.of.values()]
    pairs = [(earlier, later) for each in every for i, later in enumerate(each) for earlier in each[:i]]
    return max((min(earlier.last, later.last) - later.first for earlier, later in pairs), default=0)


@pytest.mark.parametrize("exactly_once", [True, False], ids=["exactly once", "at least once"])
def test_a_task_that_runs_elsewhere_by_now_is_not_started_by_a_worker_that_was_frozen(
    bootstrap: str, kafka: Kafka, tmp_path: Path, exactly_once: bool
) -> None:
    numbers, beats = kafka.create_topic(), kafka.create_topic()
    shared = {
        "group.id": f"frozen-{uuid.uuid4().hex[:8]}",
        "plugin.path": PLUGINS,
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1500",
        "scheduled.rebalance.max.delay.ms": "0",
        "penstock.task.lease.ms": str(LEASE_MS),
        "exactly.once.source.support": "enabled" if exactly_once else "disabled",
    }
    shared |= {f"{kind}.storage.topic": f"{shared['group.id']}-{kind}" for kind in ("config", "offset", "status")}
    first, second = WorkerProcess(bootstrap, tmp_path, **shared), WorkerProcess(bootstrap, tmp_path, **shared)
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
                os.kill(first.process.pid, signal.SIGCONT)
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
    wrong = amiss(read(bootstrap, numbers), {0: end}, exactly_once)
    assert wrong == []
    runs = Runs()
    for record in kafka.read_all(beats):
        runs.add(orjson.loads(record.value or b"{}"))
    assert overlap(runs) < LEASE_MS, runs.twice()
