"""``penstock dlq`` against a real worker: a sink that can't read some of its records, until it can."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from penstock import cli
from penstock.commands import _kafka
from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON, new_name
from support.waiting import until
from support.worker_process import STRING, WorkerProcess

pytestmark = pytest.mark.integration

Run = Callable[..., Result]
BROKEN = Record("{broken", "k", 0, (("mine", b"1"),), 1_700_000_000_000)
LISTED = """\
Queue {queue} has 1 record of connector {name}, 0 of them replayed.
COUNT  STAGE            EXCEPTION      CLASS
1      VALUE_CONVERTER  DataException  JsonConverter

RECORD    CAME FROM  TIME                  MESSAGE
{queue}-0-0  {topic}-0-1  2023-11-14 22:13:20Z  \
Converting byte[] to Kafka Connect data failed due to serialization error:
"""


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    # A sink that is stopped by force would not have committed what it wrote.
    settings = {"task.shutdown.graceful.timeout.ms": "60000"}
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker"), **settings) as worker:
        yield worker


@pytest.fixture
def dlq(worker: WorkerProcess, bootstrap: str) -> Run:
    """Runs ``penstock dlq`` with these arguments."""
    runner = CliRunner(env={"PENSTOCK_URL": str(worker.http.base_url), "PENSTOCK_BOOTSTRAP_SERVER": bootstrap})
    return lambda *arguments: runner.invoke(cli.app, ["dlq", *arguments])


@dataclass
class Sink:
    worker: WorkerProcess
    name: str
    topic: str
    queue: str
    file: Path

    def put(self, **settings: str) -> None:
        self.worker.put(
            self.name,
            connector__class="FileStreamSink",
            topics=self.topic,
            file=str(self.file),
            errors__tolerance="all",
            value__converter__schemas__enable="false",
            errors__deadletterqueue__topic__name=self.queue,
            errors__deadletterqueue__topic__replication__factor="1",
            **settings,
        )

    def stop(self, kafka: Kafka) -> None:
        """Returns when its task is gone: until then it goes on with its old configuration."""
        self.worker.http.put(f"/connectors/{self.name}/stop").raise_for_status()
        until(lambda: not kafka.members(f"connect-{self.name}"), "the end of its task")


@pytest.fixture
def sink(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> Iterator[Sink]:
    """The sink has sent one record of two to its dead letter queue."""
    sink = Sink(worker, new_name("sink"), kafka.create_topic(), new_name("dead"), tmp_path / "out")
    sink.put(value__converter=JSON, errors__deadletterqueue__context__headers__enable="true")
    kafka.produce(sink.topic, [Record("1", partition=0), BROKEN])
    until(lambda: sink.queue in kafka.topics() and kafka.values(sink.queue), "the dead letter")
    yield sink
    worker.http.delete(f"/connectors/{sink.name}")


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_dead_letter_is_shown_and_replayed_when_the_cause_is_fixed(dlq: Run, sink: Sink, kafka: Kafka) -> None:
    listed = dlq("list", sink.name)
    assert listed.exit_code == 0, listed.output
    assert words(listed.stdout) == words(LISTED.format(queue=sink.queue, name=sink.name, topic=sink.topic))

    place = f"{sink.queue}-0-0"
    shown = dlq("show", sink.name, place).stdout
    for line in (
        f"topic:      {sink.topic}",
        "stage:      VALUE_CONVERTER",
        "header:     mine=1",
        "value:      {broken",
    ):
        assert line in shown.splitlines()
    assert "    org.apache.kafka.connect.errors.DataException: Converting byte[]" in shown
    document = json.loads(dlq("show", sink.name, place, "-o", "json").stdout)
    assert (document["record"], document["key"], document["value"]) == (place, "k", "{broken")
    assert (document["offset"], document["task"], document["replayed"]) == ("1", "0", False)
    assert document["headers"] == [{"key": "mine", "value": "1"}]

    planned = dlq("replay", sink.name, "--dry-run").stdout
    assert f"Would replay 1 record of connector {sink.name}: 1 to {sink.topic}." in planned
    assert len(kafka.values(sink.topic)) == 2

    sink.stop(kafka)
    sink.put(value__converter=STRING)
    sink.worker.http.put(f"/connectors/{sink.name}/resume").raise_for_status()
    said = dlq("replay", sink.name).stdout
    assert said == f"Replayed 1 record of connector {sink.name}: 1 to {sink.topic}.\n"
    until(lambda: sink.file.read_text() == "1\n{broken\n", "the record")
    until(lambda: len(kafka.values(sink.topic)) == 3, "the end of the transaction")
    again = kafka.read_all(sink.topic)[-1]
    assert (again.key, again.value, again.headers) == (b"k", b"{broken", (("mine", b"1"),))

    assert dlq("replay", sink.name).stdout == f"Replayed 0 records of connector {sink.name}.\n"
    once_more = dlq("replay", sink.name, place)
    assert (once_more.exit_code, "has been replayed already" in once_more.stderr) == (1, True)
    counted = json.loads(dlq("list", sink.name, "-o", "json").stdout)
    assert (counted["count"], counted["replayed"], counted["records"][0]["replayed"]) == (1, 1, True)
    assert len(kafka.values(sink.topic)) == 3


@pytest.mark.security
def test_dead_letters_that_name_a_strangers_topic_are_skipped(dlq: Run, sink: Sink, kafka: Kafka) -> None:
    config, foreign = f"{sink.worker.name}-config", kafka.create_topic()
    named = {"topic": foreign, "partition": "0", "connector.name": sink.name}

    def hostile(topic: str) -> Record:
        headers = {**named, "topic": topic}
        return Record("evil", "k", 0, tuple((f"__connect.errors.{k}", v.encode()) for k, v in headers.items()))

    kafka.produce(sink.queue, [hostile(foreign), hostile(config), hostile("a\x1b[2Jb")])
    url = f"/penstock/v1/connectors/{sink.name}/dead-letters/replay"
    sink.stop(kafka)
    before = len(kafka.values(config))
    planned = dlq("replay", sink.name, "--dry-run")
    assert (planned.exit_code, planned.stdout.endswith(f"connector {sink.name}: 1 to {sink.topic}.\n")) == (1, True)
    assert f'{sink.queue}-0-1: It names topic "{foreign}"' in " ".join(planned.stderr.split())
    assert "\x1b" not in planned.stderr
    asked = sink.worker.http.post(url, json={"dry_run": True}).json()
    assert (asked["skipped"], [each["record"] for each in asked["skipped_records"]]) == (
        3,
        [f"{sink.queue}-0-{offset}" for offset in (1, 2, 3)],
    )
    answer = sink.worker.http.post(url, json={"topic": config, "dry_run": True})
    assert (answer.status_code, "is no topic that connector" in answer.json()["message"]) == (400, True)
    config_of = {**sink.worker.get(f"/connectors/{sink.name}/config"), "topics.regex": ".*-.*"}
    del config_of["topics"]
    config_of["errors.deadletterqueue.topic.name"] = queue = sink.queue.replace("-", "_")
    assert sink.worker.http.put(f"/connectors/{sink.name}/config", json=config_of).status_code in (200, 201)
    kafka.create_topic(queue)
    kafka.produce(queue, [hostile(config), hostile("__consumer_offsets"), hostile(sink.topic)])
    replayed = dlq("replay", sink.name)
    assert (replayed.exit_code, replayed.stdout) == (
        1,
        f"Replayed 1 record of connector {sink.name}: 1 to {sink.topic}.\n",
    )
    by_rest = sink.worker.http.post(url, json={}).json()
    assert (by_rest["replayed"], by_rest["skipped"]) == ([], 2)
    assert kafka.values(foreign) == []
    assert b"evil" not in kafka.values(config)[before:]


def test_invalid_options_are_refused(
    dlq: Run, sink: Sink, worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(*arguments: str) -> tuple[int, str]:
        result = dlq(*arguments)
        return result.exit_code, " ".join(result.stderr.split())

    assert said("list", "nobody") == (3, "penstock: Connector nobody not found")
    assert said("show", sink.name, f"{sink.queue}-0-77") == (3, f"penstock: There is no record at {sink.queue}-0-77.")
    assert said("show", sink.name, "elsewhere-0-1")[0] == 2
    with monkeypatch.context() as patch:
        patch.setattr(_kafka, "PATIENCE_SECONDS", 1.0)
        status, sentence = said("list", sink.name, "--bootstrap-server", "127.0.0.1:1")
    assert (status, sentence.startswith("penstock: No broker can be reached at 127.0.0.1:1")) == (4, True)
    worker.put("plain", connector__class="FileStreamSink", topics="t")
    problem = "errors.deadletterqueue.topic.name is not set."
    assert said("list", "plain") == (1, f"penstock: Connector plain has no dead letter queue: {problem}")
    worker.http.delete("/connectors/plain")

    queue = {"penstock__errors__deadletterqueue__topic__name": "d", "errors__tolerance": "all"}
    worker.put("lines", connector__class="FileStreamSource", topic="t", file="missing", **queue)
    status, sentence = said("replay", "lines")
    assert (status, "penstock: Connector lines is a source: its dead letters are records that" in sentence) == (1, True)
    worker.http.delete("/connectors/lines")
