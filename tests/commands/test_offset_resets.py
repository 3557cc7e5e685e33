"""``penstock offsets reset`` of a sink against a real worker and broker."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result
from confluent_kafka import Producer
from typer.testing import CliRunner

from penstock import cli
from support.kafka.client import Kafka
from support.tasks.runs import new_name
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

Run = Callable[..., Result]
HOUR_MS = 3_600_000
BEGIN_MS = 1_700_000_000_000
"""2023-11-14T22:13:20Z"""


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker")) as worker:
        yield worker


@pytest.fixture
def reset(worker: WorkerProcess) -> Run:
    """Runs ``penstock offsets reset`` with these arguments."""
    runner = CliRunner(env={"PENSTOCK_URL": str(worker.http.base_url), "PENSTOCK_USER": None})
    return lambda *arguments: runner.invoke(cli.app, ["offsets", "reset", *arguments])


@pytest.fixture
def sink(worker: WorkerProcess, kafka: Kafka, bootstrap: str, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """Yield name and topic of a stopped sink that has read ten records of two partitions, one of each hour."""
    name, topic, file = new_name("sink"), kafka.create_topic(partitions=2), tmp_path / "out"
    producer = Producer({"bootstrap.servers": bootstrap})
    for hour in range(10):
        producer.produce(topic, str(hour).encode(), partition=hour % 2, timestamp=BEGIN_MS + hour * HOUR_MS)
    producer.flush()
    worker.put(name, connector__class="FileStreamSink", topics=topic, file=str(file))
    until(lambda: file.exists() and len(file.read_text().splitlines()) == 10, "the records")
    worker.http.put(f"/connectors/{name}/stop")
    until(lambda: worker.get(f"/connectors/{name}/status")["tasks"] == [], "the end of the task")
    until(lambda: committed(worker, name) == {0: 5, 1: 5}, "the commit")
    yield name, topic
    worker.http.delete(f"/connectors/{name}")


def committed(worker: WorkerProcess, name: str) -> dict[int, int]:
    offsets = worker.get(f"/connectors/{name}/offsets")["offsets"]
    return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in offsets}


def test_a_dry_run_shows_what_is_read_again_and_changes_nothing(
    reset: Run, sink: tuple[str, str], worker: WorkerProcess
) -> None:
    name, topic = sink
    shown = reset(name, "--to-datetime", "2023-11-15T01:00:00Z", "--dry-run")
    assert shown.exit_code == 0, shown.output
    assert [line.split() for line in shown.stdout.splitlines()] == [
        ["PARTITION", "COMMITTED", "NEW-OFFSET", "READ-AGAIN", "SKIPPED"],
        [f"{topic}-0", "5", "2", "3", "0"],
        [f"{topic}-1", "5", "1", "4", "0"],
        ["7", "offsets", "are", "read", "again,", "0", "are", "skipped."],
    ]
    assert committed(worker, name) == {0: 5, 1: 5}
    plan = json.loads(reset(name, "--to-earliest", "--dry-run", "-o", "json").stdout)
    assert (plan["again"], plan["skipped"]) == (10, 0)


def test_a_sink_begins_at_the_offsets_that_were_planned(
    reset: Run, sink: tuple[str, str], worker: WorkerProcess, tmp_path: Path
) -> None:
    name, topic = sink
    done = reset(name, "--to-datetime", "2023-11-15T06:30:00+01:00")
    assert done.exit_code == 0, done.output
    assert committed(worker, name) == {0: 4, 1: 4}
    assert reset(name, "--to-earliest", "--topic", topic).exit_code == 0
    assert committed(worker, name) == {0: 0, 1: 0}
    latest = reset(name, "--to-latest")
    assert "0 offsets are read again, 10 are skipped." in latest.stdout
    assert committed(worker, name) == {0: 5, 1: 5}
    after_all = reset(name, "--to-datetime", "2024-01-01", "--dry-run")
    assert "0 offsets are read again, 0 are skipped." in after_all.stdout

    assert reset(name, "--to-datetime", "2023-11-15T06:30:00+01:00").exit_code == 0
    worker.http.put(f"/connectors/{name}/resume")
    file = tmp_path / "out"
    until(lambda: sorted(file.read_text().splitlines()[10:]) == ["8", "9"], "the records after the time")


def test_what_cannot_be_reset_is_refused(reset: Run, sink: tuple[str, str], worker: WorkerProcess) -> None:
    name, _ = sink
    for arguments, sentence in (
        ((name, "--to-datetime", "yesterday"), "'to' must be earliest, latest, or a time such as"),
        ((name, "--to-latest", "--topic", "other"), f"Connector {name} does not read topic other"),
        ((name, "--to-latest", "--to-earliest"), "Only one of --to-earliest, --to-latest and --to-datetime"),
        ((name, "--dry-run"), "need one of --to-earliest"),
        (("nobody", "--to-latest"), "Connector nobody not found"),
    ):
        refused = reset(*arguments)
        assert refused.exit_code != 0
        assert sentence in " ".join(refused.output.replace("│", " ").split())
    assert committed(worker, name) == {0: 5, 1: 5}
    worker.http.put(f"/connectors/{name}/resume")
    until(lambda: worker.get(f"/connectors/{name}/status")["connector"]["state"] == "RUNNING", "the connector")
    assert reset(name, "--to-latest", "--dry-run").exit_code == 0
    running = reset(name, "--to-latest")
    assert running.exit_code == 1
    assert "STOPPED" in running.output


def test_a_source_and_a_missing_topic_are_refused(reset: Run, worker: WorkerProcess, tmp_path: Path) -> None:
    (tmp_path / "in").write_text("")
    source, absent = new_name("source"), new_name("absent")
    worker.put(source, connector__class="FileStreamSource", topic=new_name("t"), file=str(tmp_path / "in"))
    worker.put(absent, connector__class="FileStreamSink", topics="no-such-topic", file=str(tmp_path / "out"))
    assert f"Connector {source} is a source" in reset(source, "--to-earliest").output
    assert f"Connector {absent} reads topics that do not exist: no-such-topic" in reset(absent, "--to-latest").output
    for name in (source, absent):
        worker.http.delete(f"/connectors/{name}")
