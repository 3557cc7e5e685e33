"""A worker that is frozen: its tasks end before its group gives them to another; if it does not, they start again."""

from __future__ import annotations

import os
import signal
from itertools import pairwise
from pathlib import Path

import orjson
import psutil
import pytest

from support.kafka.client import Kafka
from support.process_tree import alive
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLUGINS = str(Path(__file__).parents[2] / "soak")


def test_the_tasks_of_a_frozen_worker_end_before_others_get_them(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    settings = {
        "plugin.path": PLUGINS,
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "1000",
        "scheduled.rebalance.max.delay.ms": "0",
        "exactly.once.source.support": "disabled",  # with it the successor would fence its predecessor
    }
    topic = kafka.create_topic()
    first = WorkerProcess(bootstrap, tmp_path, **settings)
    shared = {k: first.settings[k] for k in first.settings if k == "group.id" or k.endswith(".storage.topic")}
    with first, WorkerProcess(bootstrap, tmp_path, **settings, **shared) as second:
        first.put("beats", connector__class="plugin.Beats", topic=topic, revision="1")
        until(lambda: first.states("beats") == ["RUNNING"] * 2, "that it runs")
        owner = first.get("/connectors/beats/status")["tasks"][0]["worker_id"]
        frozen = first if first.http.base_url.netloc.decode() == owner else second
        until(lambda: runs(kafka, topic), "its beats")
        before = runs(kafka, topic)
        assert frozen.process is not None
        os.kill(frozen.process.pid, signal.SIGSTOP)
        try:
            until(lambda: runs(kafka, topic).keys() - before.keys(), "that another goes on")
        finally:
            os.kill(frozen.process.pid, signal.SIGCONT)
        seen = beats(kafka, topic)
        until(lambda: beats(kafka, topic) >= seen + 10, "that it goes on when the frozen one is back")
        until(lambda: frozen.states("beats") == ["RUNNING"] * 2, "that it runs, as that one sees it")
        told = list(runs(kafka, topic).values())
        assert all(max(earlier) < min(later) for earlier, later in pairwise(told)), told


def test_tasks_of_a_worker_that_was_frozen_for_a_while_start_again_by_themselves(
    bootstrap: str, kafka: Kafka, tmp_path: Path
) -> None:
    settings = {"plugin.path": PLUGINS, "session.timeout.ms": "60000", "penstock.task.lease.ms": "3000"}
    topic = kafka.create_topic()
    with WorkerProcess(bootstrap, tmp_path, **settings) as worker:
        worker.put("beats", connector__class="plugin.Beats", topic=topic, revision="1")
        until(lambda: runs(kafka, topic), "its beats")
        process = psutil.Process(orjson.loads(kafka.values(topic)[-1] or b"")["pid"])
        before = runs(kafka, topic)
        assert worker.process is not None
        os.kill(worker.process.pid, signal.SIGSTOP)
        try:
            until(lambda: not alive(process), "the end of the task")
        finally:
            os.kill(worker.process.pid, signal.SIGCONT)
        until(lambda: runs(kafka, topic).keys() - before.keys(), "that it goes on")
        worker.running("beats")
        assert "WARN Task beats-0 was lost: No heartbeat of the worker for" in worker.log.read_text()
        told = list(runs(kafka, topic).values())
        assert all(max(earlier) < min(later) for earlier, later in pairwise(told)), told


def beats(kafka: Kafka, topic: str) -> int:
    return sum(map(len, runs(kafka, topic).values()))


def runs(kafka: Kafka, topic: str) -> dict[str, list[int]]:
    """Return the times of each run's beats, in the order of their first beats."""
    found: dict[str, list[int]] = {}
    for record in kafka.read_all(topic):
        beat = orjson.loads(record.value or b"{}")
        found.setdefault(beat["run"], []).append(beat["at"])
    return found
