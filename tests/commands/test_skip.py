"""``penstock skip`` against a real worker: a sink that fails for a record, until it skips it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import cli
from support.kafka.client import Kafka
from support.tasks.runs import JSON, new_name
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

Run = Callable[..., Result]


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    # The task commits when it is asked to.
    settings = {"offset.flush.interval.ms": "3600000", "task.shutdown.graceful.timeout.ms": "60000"}
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker"), **settings) as worker:
        yield worker


@pytest.fixture
def skip(worker: WorkerProcess) -> Run:
    """Runs ``penstock skip`` with these arguments."""
    runner = CliRunner(env={"PENSTOCK_URL": str(worker.http.base_url), "PENSTOCK_USER": None})
    return lambda *arguments: runner.invoke(cli.app, ["skip", *arguments, "--wait", "900"])


class Poisoned:
    """A sink that fails for the record at offset 1, which is no JSON."""

    def __init__(self, worker: WorkerProcess, kafka: Kafka, file: Path, **settings: str) -> None:
        self.worker, self.name, self.topic, self.file = worker, new_name("sink"), kafka.create_topic(), file
        kafka.produce(self.topic, ["1", "{broken", "3"])
        worker.put(
            self.name,
            connector__class="FileStreamSink",
            topics=self.topic,
            file=str(file),
            value__converter=JSON,
            value__converter__schemas__enable="false",
            **settings,
        )
        until(lambda: self.state() == "FAILED", "the failure")

    def state(self) -> str | None:
        tasks = worker_status(self.worker, self.name)["tasks"]
        return tasks[0]["state"] if tasks else None

    def place(self, offset: str = "1") -> tuple[str, ...]:
        return (self.name, "--topic", self.topic, "--partition", "0", "--offset", offset)


def worker_status(worker: WorkerProcess, name: str) -> Any:
    answer = worker.http.get(f"/connectors/{name}/status")
    return answer.json() if answer.status_code == 200 else {"tasks": []}


@pytest.fixture
def poisoned(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> Iterator[Callable[..., Poisoned]]:
    made: list[Poisoned] = []

    def make(**settings: str) -> Poisoned:
        made.append(Poisoned(worker, kafka, tmp_path / "out", **settings))
        return made[-1]

    yield make
    for each in made:
        worker.http.delete(f"/connectors/{each.name}")


def test_a_sink_goes_on_behind_a_discarded_record(skip: Run, poisoned: Callable[..., Poisoned]) -> None:
    sink = poisoned()
    refused = skip(*sink.place())
    assert refused.exit_code == 1
    assert f"Connector {sink.name} has no dead letter queue" in refused.output
    done = skip(*sink.place(), "--to", "discard")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        f"Connector {sink.name} skips {sink.topic}-0 at offset 1 and discards it.",
        f"Connector {sink.name} is past it.",
        f"Connector {sink.name} is RUNNING.",
    ]
    assert sink.file.read_text().splitlines() == ["1", "3"]
    assert skip(sink.name).stdout == f"Connector {sink.name} skips no records.\n"
    assert f"The connector is past offset 1 of {sink.topic}-0 already" in skip(*sink.place(), "--to", "discard").output


def test_a_record_goes_to_the_queue_and_is_recorded_in_the_audit_log(
    skip: Run, poisoned: Callable[..., Poisoned], kafka: Kafka, worker: WorkerProcess
) -> None:
    queue = new_name("dead")
    sink = poisoned(
        errors__deadletterqueue__topic__name=queue,
        errors__deadletterqueue__topic__replication__factor="1",
        errors__deadletterqueue__context__headers__enable="true",
    )
    done = skip(*sink.place())
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(
        f"Connector {sink.name} skips {sink.topic}-0 at offset 1 and sends it to its dead letter queue.\n"
    )
    failed, skipped = kafka.read_all(queue)
    assert failed.value == skipped.value == b"{broken"
    message = dict(skipped.headers)["__connect.errors.exception.message"]
    assert message == b"The record was skipped by request"
    audited = [line for line in worker.log.read_text().splitlines() if f"{sink.name}/skips" in line]
    assert any("POST" in line and '"skip"' in line for line in audited), audited


def test_a_skip_of_another_record_reports_that_the_task_fails_again(
    skip: Run, poisoned: Callable[..., Poisoned]
) -> None:
    sink = poisoned()
    failed = skip(*sink.place("2"), "--to", "discard")
    assert failed.exit_code == 1
    assert "The records have not been skipped: task 0 of connector" in failed.output
    listed = json.loads(skip(sink.name, "-o", "json").stdout)
    assert listed == [{"topic": sink.topic, "partition": 0, "first": 2, "last": 2, "to": "discard"}]
    assert skip(sink.name, "--cancel").exit_code == 0
    assert json.loads(skip(sink.name, "-o", "json").stdout) == []


def test_records_that_the_sink_can_not_skip_are_refused(
    skip: Run, poisoned: Callable[..., Poisoned], kafka: Kafka, worker: WorkerProcess, tmp_path: Path
) -> None:
    sink, other = poisoned(), kafka.create_topic()

    def refused(topic: str, partition: str, offset: str, name: str = sink.name) -> str:
        place = ("--topic", topic, "--partition", partition, "--offset", offset)
        result = skip(name, *place, "--to", "discard")
        assert result.exit_code == 1, result.output
        return result.output

    assert f"Connector {sink.name} does not read topic {other} (topics={sink.topic})" in refused(other, "0", "0")
    assert f"Topic {sink.topic} has no partition 1: it has 1, numbered from 0" in refused(sink.topic, "1", "0")
    end = f"There is no record at offset 3 of {sink.topic}-0 yet: its end is offset 3"
    assert end in refused(sink.topic, "0", "2-3")
    assert "1001 records are to be skipped; 1000 at a time are accepted" in refused(sink.topic, "0", "0-1000")
    assert "Each of 'offsets' must be an offset such as 7, or a range" in refused(sink.topic, "0", "3-1")
    kafka.delete_records(sink.topic, 1)
    begin = f"There is no record at offset 0 of {sink.topic}-0 any more: it begins at offset 1"
    assert begin in refused(sink.topic, "0", "0")

    source = new_name("source")
    worker.put(source, connector__class="FileStreamSource", topic=other, file=str(tmp_path / "in"))
    assert f"Connector {source} is a source: it reads no topic" in refused(other, "0", "0", source)
    worker.http.delete(f"/connectors/{source}")
