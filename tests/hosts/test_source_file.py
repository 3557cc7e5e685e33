"""Kafka's own file source from its jar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hosts.conducted import stored
from hosts.plugins import plugin_path
from penstock.api.batch import Batch
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually
from support.worker_process import QUICK_JAVA

pytestmark = pytest.mark.integration

FILE = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask",
}


def lines(file: Path, *values: str) -> None:
    with file.open("a") as out:
        out.write("".join(f"{value}\n" for value in values))


@pytest.fixture
def file_source(bootstrap: str, tmp_path: Path, topic: str) -> Any:
    """Runs Kafka's own file source from its jar."""
    path = plugin_path(tmp_path / "plugins", "connect-file")

    def run(
        worker: dict[str, str] | None = None,
        config: dict[str, str] | None = None,
        task: Any = JavaSourceTask,
        **spec: Any,
    ) -> TaskRun:
        own = {**FILE, "file": str(tmp_path / "in"), "topic": topic, **(config or {})}
        worker = {"penstock.java.opts": f"{QUICK_JAVA} -Xmx128m", **(worker or {})}
        return TaskRun(task, bootstrap, own, worker, plugin_path=(path,), **spec)

    return run


def test_records_and_offsets(file_source: Any, kafka: Kafka, tmp_path: Path, topic: str, offsets_topic: str) -> None:
    lines(tmp_path / "in", "one", "two")
    with file_source(offsets_topic=offsets_topic) as run:
        eventually(lambda: kafka.values(topic) == [b"one", b"two"])
        key = f'["{run.connector}",{{"filename":"{tmp_path / "in"}"}}]'.encode()
        eventually(lambda: stored(kafka, offsets_topic) == [(key, b'{"position":8}')])
        assert run.host.topics == [topic]
        assert run.host.states == ["running"]
        lines(tmp_path / "in", "three")
        eventually(lambda: len(kafka.values(topic)) == 3)
    assert stored(kafka, offsets_topic)[-1] == (key, b'{"position":14}')


def test_it_continues_at_its_offset(file_source: Any, kafka: Kafka, tmp_path: Path, topic: str) -> None:
    lines(tmp_path / "in", "one", "two")
    with file_source(offsets=(({"filename": str(tmp_path / "in")}, {"position": 4}, None),)):
        eventually(lambda: kafka.values(topic))
    assert kafka.values(topic) == [b"two"]


def test_what_was_polled_ahead_is_sent_before_the_end(
    file_source: Any, kafka: Kafka, tmp_path: Path, topic: str
) -> None:
    long = [digit * 600 for digit in "123"]  # it reads 1024 characters at a time
    lines(tmp_path / "in", *long)

    class Stopping(JavaSourceTask):
        """Stops when the plugin has been polled for the batch after the first."""

        def __new__(cls) -> JavaSourceTask:
            task = JavaSourceTask()
            poll = task.poll

            def poll_and_stop() -> Batch | None:
                batch = poll()
                if batch is not None and not run.control.stopping:
                    eventually(lambda: task.awaited and task._polling.done.is_set())  # type: ignore[union-attr]
                    run.control.stop()
                return batch

            task.poll = poll_and_stop  # type: ignore[method-assign]
            return task

    run = file_source(config={"batch.size": "1"}, task=Stopping)
    with run:
        run.join()
    assert kafka.values(topic) == [line.encode() for line in long[:2]]


def test_stock_steps_run_in_the_jvm_and_python_ones_here(
    file_source: Any, kafka: Kafka, tmp_path: Path, topic: str
) -> None:
    lines(tmp_path / "in", "one", "skip", "two")
    config = {
        "transforms": "hoist,drop,insert,cast",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
        "transforms.drop.predicate": "tombstone",
        "transforms.insert.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.insert.static.field": "n",
        "transforms.insert.static.value": "7",
        "transforms.insert.predicate": "named",
        "transforms.cast.type": "org.apache.kafka.connect.transforms.Cast$Value",
        "transforms.cast.spec": "n:int32",
        "predicates": "tombstone,named",
        "predicates.tombstone.type": "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone",
        "predicates.named.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
        "predicates.named.pattern": f"{topic}.*",
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
    }
    with file_source(config=config):
        eventually(lambda: len(kafka.values(topic)) == 3)
    assert kafka.values(topic) == [b'{"line":"%s","n":7}' % line for line in (b"one", b"skip", b"two")]
