"""A worker as users run it: started by its command, used over REST, ended by a signal."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kafka.client import Kafka
from support.openlineage_schema import check
from support.otlp import Collector
from support.process_tree import alive
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration


PROVIDERS = {"config.providers": "file", "config.providers.file.class": "FileConfigProvider"}
TELEMETRY = {f"penstock.telemetry.{each}": "true" for each in ("traces", "headers", "metrics")}


@pytest.fixture(scope="module")
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory, collector: Collector) -> Iterator[WorkerProcess]:
    """A worker that exports traces and metrics to the collector, and OpenLineage events to a file."""
    folder = tmp_path_factory.mktemp("worker")
    lineage = {
        "penstock.openlineage.enabled": "true",
        "penstock.openlineage.transport.type": "file",
        "penstock.openlineage.transport.log_file_path": str(folder / "lineage.json"),
    }
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        environment.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1000")
        with WorkerProcess(bootstrap, folder, **TELEMETRY, **lineage, **PROVIDERS) as worker:
            yield worker


def pass_lines(worker: WorkerProcess, kafka: Kafka, folder: Path, name: str) -> Path:
    """Copy a file of three lines through a topic of three partitions into another file, and return that."""
    given, taken = folder / "in.txt", folder / "out.txt"
    given.write_text("one\ntwo\nthree\n")
    topic = kafka.create_topic(partitions=3)
    worker.put(f"{name}-in", connector__class="FileStreamSource", file=str(given), topic=topic)
    worker.put(f"{name}-out", connector__class="FileStreamSink", file=str(taken), topics=topic)
    worker.running(f"{name}-in")
    worker.running(f"{name}-out")
    until(lambda: taken.exists() and sorted(taken.read_text().split()) == ["one", "three", "two"], "three lines")
    used = {f"{name}-in": {"topics": [topic]}}
    until(lambda: worker.get(f"/connectors/{name}-in/topics") == used, "the topic, which is told apart")
    return taken


def test_a_file_goes_through_kafka_into_another(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    pass_lines(worker, kafka, tmp_path, "c")
    place = {"partition": {"filename": str(tmp_path / "in.txt")}, "offset": {"position": 14}}
    until(lambda: worker.get("/connectors/c-in/offsets") == {"offsets": [place]}, "the source's offset")
    with (tmp_path / "in.txt").open("a") as more:
        more.write("four\n")
    until(lambda: "four" in (tmp_path / "out.txt").read_text(), "what was added to the file")
    assert sorted((tmp_path / "out.txt").read_text().split()) == ["four", "one", "three", "two"]


def test_metrics_of_tasks_and_worker_reach_a_collector(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path, collector: Collector
) -> None:
    pass_lines(worker, kafka, tmp_path, "seen")
    sources = until(lambda: collector.spans("source seen-in"), "the batch of the source")
    sinks = until(lambda: collector.spans("sink seen-out"), "a batch of the sink")
    assert {span.trace_id for span in sinks} == {span.trace_id for span in sources}
    written = "kafka_connect_source_task_source_record_write_total"
    until(lambda: written in {metric.name for metric in collector.metrics()}, "the figures of the source")
    assert f"{written}{{" in worker.http.get("/metrics").text


def test_events_say_what_connectors_read_and_write(
    worker: WorkerProcess, kafka: Kafka, bootstrap: str, tmp_path: Path
) -> None:
    taken = pass_lines(worker, kafka, tmp_path, "kept")
    given, (topic,) = tmp_path / "in.txt", worker.get("/connectors/kept-in/topics")["kept-in"]["topics"]

    def datasets(connector: str) -> tuple[list[str], list[str]] | None:
        """Return the inputs and outputs of the connector's last event; its line may be incomplete."""
        lines = (worker.folder / "lineage.json").read_text().rpartition("\n")[0].splitlines()
        events = [event for line in lines if (event := json.loads(line))["job"]["name"] == connector]
        if not events:
            return None
        check(last := events[-1])
        inputs, outputs = (
            [f"{each['namespace']} {each['name']}" for each in last[side]] for side in ("inputs", "outputs")
        )
        return inputs, outputs

    records = f"kafka://{bootstrap} {topic}"
    until(lambda: datasets("kept-in") == ([f"file {given}"], [records]), "what the source reads and writes")
    until(lambda: datasets("kept-out") == ([records], [f"file {taken}"]), "what the sink reads and writes")


def test_a_task_that_fails_says_why_and_is_brought_back_by_a_restart(worker: WorkerProcess, tmp_path: Path) -> None:
    folder = tmp_path / "later"
    worker.put("late", connector__class="FileStreamSink", file=str(folder / "out"), topics="late-topic")
    until(lambda: worker.states("late") == ["RUNNING", "FAILED"], "the failure")
    trace = worker.get("/connectors/late/status")["tasks"][0]["trace"]
    assert str(folder / "out") in trace
    folder.mkdir()
    answer = worker.http.post("/connectors/late/restart?includeTasks=true&onlyFailed=true")
    assert (answer.status_code, answer.json()["tasks"][0]["state"]) == (202, "RESTARTING")
    worker.running("late")


def test_tasks_take_other_values_of_config_providers_when_their_connector_restarts(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path
) -> None:
    secret, given = tmp_path / "secret.properties", tmp_path / "in.txt"
    first, *others = (kafka.create_topic() for _ in range(3))

    def arrives_in(topic: str) -> bool:
        """Return whether new lines arrive in the topic; earlier ones stay in the topic used before the restart."""
        with given.open("a") as lines:
            lines.write(f"for {topic}\n")
        return f"for {topic}".encode() in [(value or b"").strip(b'"') for value in kafka.values(topic)]

    secret.write_text(f"topic={first}\n")
    given.touch()
    reference = f"${{file:{secret}:topic}}"
    worker.put("secretive", connector__class="FileStreamSource", file=str(given), topic=reference)
    until(lambda: arrives_in(first), "lines in the first topic")
    for topic in others:
        secret.write_text(f"topic={topic}\n")
        assert worker.http.post("/connectors/secretive/restart").status_code == 204
        until(lambda topic=topic: arrives_in(topic), "lines in the other topic")
    assert worker.get("/connectors/secretive/tasks")[0]["config"]["topic"] == reference
    assert worker.http.delete("/connectors/secretive").status_code == 204


def test_a_connector_whose_own_offsets_topic_is_not_compacted_fails(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path
) -> None:
    own = kafka.create_topic()
    file = str(tmp_path / "in.txt")
    worker.put("own", connector__class="FileStreamSource", file=file, topic="x", offsets__storage__topic=own)
    until(lambda: worker.states("own") == ["FAILED"], "the failure")
    status = worker.get("/connectors/own/status")["connector"]
    trace = status["trace"]
    assert status["version"] == "4.3.1"
    assert trace.startswith("org.apache.kafka.common.config.ConfigException: Topic")
    assert "is required to have 'cleanup.policy=compact'" in trace


def test_no_process_is_left_of_a_worker_that_was_stopped(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    worker = WorkerProcess(bootstrap, tmp_path, task__shutdown__graceful__timeout__ms="60000").start().ready()
    taken = pass_lines(worker, kafka, tmp_path, "ended")
    below = worker.descendants()
    assert below
    assert worker.stop() == 0
    until(lambda: not any(alive(each) for each in below), "everything gone")
    with worker:  # it resumes at its position: records committed at the end are not repeated
        worker.running("ended-out")
        with (tmp_path / "in.txt").open("a") as more:
            more.write("four\n")
        until(lambda: "four" in taken.read_text(), "the line that was added")
        assert sorted(taken.read_text().split()) == ["four", "one", "three", "two"]


REFUSED = {
    "group.id": 'Missing required configuration "group.id" which has no default value.',
    "listeners=http://nowhere.invalid:1": "nowhere.invalid",
    "offset.flush.interval.ms=soon": "Invalid value soon for configuration offset.flush.interval.ms",
    "config.storage.topic=": "Invalid value  for configuration config.storage.topic: String must be non-empty",
    "key.converter=nope.Conv": "configuration key.converter: Class nope.Conv could not be found.",
    "bootstrap.servers=nonsense": "Invalid url in bootstrap.servers: nonsense; expected host:port",
    "value.converter=org.apache.kafka.connect.json.JsonConvertor": (
        "could not be found. Did you mean 'org.apache.kafka.connect.json.JsonConverter'?"
    ),
}
RUN_EACH = """
import json, pathlib, sys
from penstock.worker.process import StartError, run

for each in sys.argv[1:]:
    try:
        run(pathlib.Path(each))
    except StartError as error:
        print(json.dumps([error.exit_status, str(error)]))
"""


def changed(bootstrap: str, folder: Path, line: str) -> Path:
    """Write the properties of a worker with another line, or without a key, and return the file."""
    settings = WorkerProcess(bootstrap, folder).settings
    key, equals, value = line.partition("=")
    settings = {**settings, key: value} if equals else {k: v for k, v in settings.items() if k != key}
    properties = folder / f"{key}.properties"
    properties.write_text("".join(f"{k}={v}\n" for k, v in settings.items()))
    return properties


def test_settings_that_cannot_be_followed_are_one_sentence(bootstrap: str, tmp_path: Path) -> None:
    files = [changed(bootstrap, tmp_path, line) for line in REFUSED]
    command = [sys.executable, "-c", RUN_EACH, *map(str, files)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    said = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [status for status, _ in said] == [2] * len(REFUSED)
    assert [sentence for sentence, (_, text) in zip(REFUSED.values(), said, strict=True) if sentence not in text] == []


def test_a_worker_that_cannot_start_prints_the_sentence_and_no_trace(bootstrap: str, tmp_path: Path) -> None:
    line, sentence = list(REFUSED.items())[-1]
    properties = changed(bootstrap, tmp_path, line)
    command = [sys.executable, "-m", "penstock.cli", "worker", "distributed", str(properties)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
