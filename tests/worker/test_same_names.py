"""Two Connect clusters on one Kafka cluster, with sinks of the same name: their tasks share a consumer group."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.tasks.runs import eventually, new_name
from support.worker_process import PLAIN, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def kill_all(worker: WorkerProcess) -> None:
    """Kill the worker with its tasks, none of which leaves its group or is removed from it."""
    assert worker.process is not None
    worker.process.send_signal(signal.SIGSTOP)
    for each in worker.descendants():
        each.kill()
    worker.kill()


def test_a_cluster_removes_its_own_dead_members_alone(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic, name = kafka.create_topic(partitions=2), new_name()
    group, log = f"connect-{name}", "Removed member"
    config = {
        "connector.class": "FileStreamSink",
        "topics": topic,
        "consumer.override.session.timeout.ms": "1200000",
        "consumer.override.max.poll.interval.ms": "1200000",
        "consumer.override.heartbeat.interval.ms": "200",
    }
    with WorkerProcess(bootstrap, tmp_path, **PLAIN) as first:
        first.put(name, file=str(tmp_path / "first"), **config)
        eventually(lambda: kafka.sharing(group) == 1)
        own = kafka.members(group)
        second = WorkerProcess(bootstrap, tmp_path, **PLAIN).start().ready()
        try:
            second.put(name, file=str(tmp_path / "second"), **config)
            eventually(lambda: kafka.sharing(group) == 2)
            killed = kafka.members(group) - own
            assert len(killed) == 1
            kill_all(second)
            second.start().ready()
            eventually(lambda: kafka.sharing(group) == 2 and not killed & kafka.members(group))
            assert own < kafka.members(group), "the other cluster's live member has stayed"
            eventually(lambda: log in second.log.read_text())  # it is written once the broker has answered
            assert (second.log.read_text().count(log), first.log.read_text().count(log)) == (1, 0)
            kafka.produce(topic, ["a", "b", "c", "d"])
            files = (tmp_path / "first", tmp_path / "second")
            eventually(lambda: sorted("".join(f.read_text() for f in files if f.exists()).split()) == list("abcd"))
        finally:
            kill_all(second)
