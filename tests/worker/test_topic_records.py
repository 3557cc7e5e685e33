"""Records of the topics of connectors of a real worker: REST and ``penstock records``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import cli
from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON, new_name
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker")) as worker:
        yield worker


@pytest.fixture
def records(worker: WorkerProcess) -> Callable[..., Result]:
    """Runs ``penstock records`` with these arguments."""
    runner = CliRunner(env={"PENSTOCK_URL": str(worker.http.base_url), "PENSTOCK_USER": None})
    return lambda *arguments: runner.invoke(cli.app, ["records", *arguments])


def get(worker: WorkerProcess, name: str, query: str = "") -> Any:
    return worker.get(f"/penstock/v1/connectors/{name}/records?seconds=30{query}")


def test_records_of_a_sink_are_listed_searched_and_continued(
    worker: WorkerProcess, kafka: Kafka, records: Callable[..., Result]
) -> None:
    name, topic = new_name("reads"), kafka.create_topic()
    kafka.produce(topic, [Record(f'{{"n": {i}, "ssn": "s{i}"}}', partition=0) for i in range(30)])
    mask = {
        "transforms": "mask",
        "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
        "transforms.mask.fields": "ssn",
    }
    config = {"connector.class": "FileStreamSink", "topics": topic, "file": str(worker.folder / name)}
    worker.put(name, **config, **mask, **{"value.converter": JSON, "value.converter.schemas.enable": "false"})

    found = get(worker, name, "&from=earliest&limit=2")
    assert (found["direction"], found["topics"], found["topic"]) == ("in", [topic], topic)
    assert (found["masked"], found["hidden"]) == (["ssn"], ["headers"])
    assert [each["value"] for each in found["records"]] == [{"n": n, "ssn": "[hidden]"} for n in (0, 1)]
    assert (found["complete"], found["next"]) == (False, "0:2")
    assert [each["offset"] for each in get(worker, name, "&from=0:2&limit=3")["records"]] == [2, 3, 4]
    assert get(worker, name, "&search=s7")["records"] == []

    shown = records(name, "--search", '"n": 7', "--seconds", "30")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[1].split()[0] == f"{topic}-0-7"
    assert '{"n": 7, "ssn": "[hidden]"}' in shown.stdout
    first = records(name, "--from", "earliest", "-n", "1", "--seconds", "30")
    assert first.stdout.splitlines()[-1].endswith("records were read; there are more: --from 0:1")
    assert records(name, "--from", "0:29", "-o", "name", "--seconds", "30").stdout == f"{topic}-0-29\n"
    assert json.loads(records(name, "-o", "json").stdout)["topic"] == topic

    other = worker.http.get(f"/penstock/v1/connectors/{name}/records?topic={topic}-x")
    assert (other.status_code, other.json()["message"]) == (
        404,
        f"Topic {topic}-x is none that connector {name} reads",
    )
    assert worker.http.get("/penstock/v1/connectors/nobody/records").status_code == 404
    assert worker.http.get(f"/penstock/v1/connectors/{name}/records?partition=77").status_code == 400


def test_a_pattern_shows_no_topics_of_kafka_that_the_sink_does_not_read(worker: WorkerProcess, kafka: Kafka) -> None:
    name, topic = new_name("pattern"), kafka.create_topic()
    file = str(worker.folder / name)
    worker.put(name, **{"connector.class": "FileStreamSink", "topics.regex": f"{topic}.*|__.*", "file": file})
    path = f"/penstock/v1/connectors/{name}/records?topic="
    assert worker.http.get(path + topic).status_code == 200
    for own in ("__consumer_offsets", "__transaction_state"):
        found = worker.http.get(path + own)
        assert (found.status_code, found.json()["message"]) == (404, f"Topic {own} is none that connector {name} reads")
    missing = worker.http.get(f"{path}{topic}-x")
    assert (missing.status_code, missing.json()["message"]) == (404, f"There is no topic {topic}-x")


def test_records_of_a_source_are_those_that_it_has_written(
    worker: WorkerProcess, kafka: Kafka, records: Callable[..., Result]
) -> None:
    name, topic = new_name("writes"), kafka.create_topic()
    assert worker.folder.is_dir()
    (worker.folder / f"{name}.txt").write_text("one\ntwo\n")
    worker.put(name, connector__class="FileStreamSource", topic=topic, file=str(worker.folder / f"{name}.txt"))
    until(lambda: get(worker, name)["topics"] == [topic], "the topic is active")
    until(lambda: len(kafka.values(topic)) == 2, "both records")
    found = get(worker, name)
    assert (found["direction"], [each["value"] for each in found["records"]]) == ("out", ["one", "two"])
    assert records(name, "--search", "nobody").stdout == (
        f"No record with this text was found in 2 of topic {topic}.\n"
    )


def test_several_topics_are_listed(worker: WorkerProcess, kafka: Kafka, records: Callable[..., Result]) -> None:
    name, topics = new_name("both"), sorted((kafka.create_topic(), kafka.create_topic()))
    kafka.produce(topics[1], ["x"])
    worker.put(
        name, connector__class="FileStreamSink", topics=",".join(topics), file=str(worker.folder / f"{name}.txt")
    )
    assert records(name).stdout == f"Connector {name} reads {', '.join(topics)}: choose one with --topic.\n"
    found = get(worker, name, f"&topic={topics[1]}")
    assert (found["topics"], [each["value"] for each in found["records"]]) == (topics, ["x"])
