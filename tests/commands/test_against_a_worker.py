"""The commands against a real worker, from a file to a topic and back to nothing; and what it measures meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock import cli
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

Run = Callable[..., str]


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker")) as worker:
        yield worker


@pytest.fixture
def run(worker: WorkerProcess) -> Run:
    """Runs a command that succeeds, and gives what it printed."""
    runner = CliRunner(env={"PENSTOCK_URL": str(worker.http.base_url), "PENSTOCK_USER": None})

    def run(*arguments: str) -> str:
        said = runner.invoke(cli.app, arguments)
        assert said.exit_code == 0, said.output
        return said.stdout

    return run


def test_a_connectors_life(run: Run, kafka: Kafka, tmp_path: Path) -> None:
    lines, file = tmp_path / "lines.txt", tmp_path / "lines.properties"
    lines.write_text("one\ntwo\nthree\n")
    topic = kafka.create_topic()
    file.write_text(f"name=lines\nconnector.class=FileStreamSource\ntopic={topic}\nfile={lines}\ntasks.max=1\n")
    assert run("apply", "-f", str(file)).endswith("Created connector lines.\n")
    until(lambda: run("topics", "lines") == f"{topic}\n", "the topic")
    until(lambda: "1 running" in run("status"), "the status, which another partition may tell later")
    expected = [
        b'{"schema":{"type":"string","optional":false},"payload":"%b"}' % line for line in (b"one", b"two", b"three")
    ]
    until(lambda: kafka.values(topic) == expected, "the lines, which are committed after the topic is told")

    restarted = "Restarting connector lines and its task 0.\nConnector lines is RUNNING.\n"
    assert run("restart", "lines", "--include-tasks") == restarted
    assert run("stop", "lines") == "Stopped connector lines.\n"
    until(lambda: "It has no tasks." in run("status", "lines"), "the stop")
    place = {"partition": {"filename": str(lines)}, "offset": {"position": 14}}
    assert json.loads(run("get", "offsets", "lines", "-o", "json")) == {"offsets": [place]}
    assert "reset" in run("offsets", "reset", "lines")
    assert run("delete", "lines") == "Deleted connector lines.\n"
    assert "lines" not in run("status")


def test_a_connector_is_deleted_with_its_offsets(run: Run, kafka: Kafka, tmp_path: Path) -> None:
    lines, file = tmp_path / "lines.txt", tmp_path / "again.properties"
    lines.write_text("one\n")
    topic = kafka.create_topic()
    file.write_text(f"name=again\nconnector.class=FileStreamSource\ntopic={topic}\nfile={lines}\ntasks.max=1\n")
    run("apply", "-f", str(file))
    until(lambda: len(kafka.values(topic)) == 1, "the line")
    said = run("delete", "again", "--offsets")
    reset = "The offsets for this connector have been reset successfully"
    assert said == f"Connector again: {reset}. Deleted the connector.\n"
    run("apply", "-f", str(file))
    until(lambda: len(kafka.values(topic)) == 2, "the line once more")
    run("delete", "again")
    run("apply", "-f", str(file))
    lines.write_text("one\ntwo\n")
    until(lambda: kafka.values(topic)[-1].endswith(b'"two"}'), "the next line alone")
    assert len(kafka.values(topic)) == 3
    run("delete", "again", "--offsets")


def test_commands_show_the_worker_s_measurements(worker: WorkerProcess, run: Run, kafka: Kafka, tmp_path: Path) -> None:
    lines, file = tmp_path / "lines.txt", tmp_path / "lines.json"
    lines.write_text("one\ntwo\nthree\n")
    config = {
        "name": "counted",
        "connector.class": "FileStreamSource",
        "topic": kafka.create_topic(),
        "file": str(lines),
    }
    file.write_text(json.dumps(config))
    run("apply", "-f", str(file))
    wanted = [
        'kafka_connect_source_task_source_record_poll_total{connector="counted",task="0"} 3.0',
        'kafka_connect_connector_task_status{connector="counted",status="running",task="0"} 1.0',
        'kafka_connect_worker_connector_running_task_count{connector="counted"} 1.0',
        'kafka_connect_worker_rebalance_connect_protocol{connect_protocol="SESSIONED"} 1.0',
    ]

    def missing() -> set[str]:
        return set(wanted) - set(worker.http.get("/metrics").text.splitlines())

    until(lambda: not missing(), "the task's report")
    assert missing() == set()
