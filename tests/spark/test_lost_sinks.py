"""Sink tasks whose processes are killed: the group does not wait for the end of the dead consumer's session."""

from __future__ import annotations

import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Consumer

from penstock.core.model.tasks import TaskEnded, TaskLost, TaskRunning
from penstock.pipeline.task import TaskSpec
from support.kafka.client import Kafka
from support.spark.host import id_of, process_of
from support.tasks.runs import STRING, eventually, new_name
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

NEVER_EXPIRES = {
    "consumer.override.session.timeout.ms": "1200000",
    "consumer.override.max.poll.interval.ms": "1200000",
}
"""Within the time of a test: only the removal of the member can free its partition."""


def file_sink(bootstrap: str, topic: str, file: Path, **worker: str) -> TaskSpec:
    name = new_name()
    return TaskSpec(
        connector=name,
        task=0,
        run=1,
        kind="sink",
        task_class="penstock.connectors.file_sink:FileStreamSinkTask",
        config={"name": name, "topics": topic, "file": str(file)},
        connector_config={"name": name, "topics": topic, **NEVER_EXPIRES},
        worker_config={
            "bootstrap.servers": bootstrap,
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.flush.interval.ms": "300",
            **worker,
        },
    )


def until_read(file: Path, *lines: str) -> None:
    """Lines may be there twice: those that came after the last commit."""
    eventually(lambda: file.exists() and set(file.read_text().split()) == set(lines))


@pytest.mark.parametrize("end", ["kill", "freeze"])
def test_the_next_run_reads_at_once_what_the_killed_one_had(
    hosted: Any, kafka: Kafka, bootstrap: str, tmp_path: Path, end: str
) -> None:
    topic = kafka.create_topic()
    one = file_sink(bootstrap, topic, tmp_path / "out")
    hosted.run(one)
    kafka.produce(topic, ["before"])
    until_read(tmp_path / "out", "before")
    process = psutil.Process(process_of(hosted, one))
    (process.kill if end == "kill" else process.suspend)()
    assert any(isinstance(event, TaskLost) for event in hosted.events.until(TaskEnded, id_of(one)))
    hosted.run(replace(one, run=2))
    kafka.produce(topic, ["after"])
    until_read(tmp_path / "out", "before", "after")
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))
    eventually(lambda: not kafka.members(f"connect-{one.connector}"))


def test_all_tasks_of_a_killed_process_leave_their_group(
    hosted: Any, kafka: Kafka, bootstrap: str, tmp_path: Path
) -> None:
    topic = kafka.create_topic(partitions=3)
    alone = file_sink(bootstrap, topic, tmp_path / "alone")
    first = replace(alone, task=1, worker_config={**alone.worker_config, "penstock.tasks.per.process": "2"})
    second, group = replace(first, task=2), f"connect-{alone.connector}"
    for each in (alone, first, second):
        hosted.run(each)
        hosted.events.until(TaskRunning, id_of(each))
    eventually(lambda: kafka.sharing(group) == 3)
    assert process_of(hosted, first) == process_of(hosted, second) != process_of(hosted, alone)
    os.kill(process_of(hosted, first), signal.SIGKILL)
    for each in (first, second):
        hosted.events.until(TaskEnded, id_of(each))
    eventually(lambda: len(kafka.members(group)) == 1 == kafka.sharing(group))
    hosted.stop(id_of(alone))
    hosted.events.until(TaskEnded, id_of(alone))


def test_a_run_does_not_wait_for_an_earlier_one_whose_worker_was_lost_with_it(
    hosted: Any, kafka: Kafka, bootstrap: str, tmp_path: Path
) -> None:
    """A member of another cluster's sink of the same name, which has the same ``client.id``, stays."""
    topic = kafka.create_topic(partitions=2)
    one = file_sink(bootstrap, topic, tmp_path / "out")
    group = f"connect-{one.connector}"
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "client.id": f"connector-consumer-{id_of(one)}",
        "session.timeout.ms": 1_200_000,
        "max.poll.interval.ms": 1_200_000,
        "heartbeat.interval.ms": 200,
    }
    earlier, foreign = Consumer(settings), Consumer(settings)
    for each in (earlier, foreign):
        each.subscribe([topic])
    eventually(lambda: [each.poll(0.1) for each in (earlier, foreign)] and kafka.sharing(group) == 2)
    hosted.members.add(one.connector, one.task, earlier.memberid())
    before = foreign.memberid()
    hosted.run(one)
    eventually(lambda: (foreign.poll(0.1), kafka.sharing(group) == 2 == len(kafka.members(group)))[1])
    assert foreign.memberid() == before
    hosted.stop(id_of(one))
    hosted.events.until(TaskEnded, id_of(one))
    for each in (earlier, foreign):
        each.close()


def test_the_tasks_of_a_killed_worker_leave_their_group(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    topic, name = kafka.create_topic(partitions=2), new_name()
    config = {"connector.class": "FileStreamSink", "topics": topic, "tasks.max": "2", **NEVER_EXPIRES}
    with WorkerProcess(bootstrap, tmp_path) as worker:
        worker.put(name, file=str(tmp_path / "out"), **config)
        eventually(lambda: kafka.sharing(f"connect-{name}") == 2)
        worker.kill()
        assert eventually(lambda: not kafka.members(f"connect-{name}"))
