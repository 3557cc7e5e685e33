"""Events of OpenLineage, from what happens to tasks to what a collector gets."""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import ConfigError
from penstock.api.schema import INT64, STRING, struct
from penstock.core.model.events import ConfigRead
from penstock.core.model.records import ConfigRecord, ConnectorConfig
from penstock.core.model.tasks import (
    TaskEnded,
    TaskFailed,
    TaskId,
    TaskLost,
    TaskMetrics,
    TaskPaused,
    TaskRunning,
    TopicSeen,
)
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.telemetry.topic_schemas import MAX_SCHEMAS, REPORTED, TopicSchemas
from penstock.worker.monitoring.lineage import sender
from penstock.worker.monitoring.lineage.runs import LineageConnector, LineageRuns
from penstock.worker.monitoring.lineage.sender import JobPlace, Lineage
from support.openlineage_schema import check

T = TaskId("orders", 0)
SOURCE = LineageConnector(
    "source",
    "org.apache.kafka.connect.file.FileStreamSourceConnector",
    {"file": "${dir:in}", "penstock.labels.team": "shop"},
)
SINK = LineageConnector(
    "sink", "org.apache.kafka.connect.file.FileStreamSinkConnector", {"file": "/out", "topics": "t,u"}
)
PLACE = JobPlace("connect", "w:8083", "k:9092")
HOUR = 3600.0


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "CLOSE_S", 60.0)


def lineage(config: Mapping[str, str], connector: LineageConnector | None = SOURCE) -> Lineage:
    transport = {f"penstock.openlineage.transport.{name}": value for name, value in config.items()}
    made = Lineage(
        transport,
        PLACE,
        lambda name: connector,
        lambda config: {name: value.replace("${dir:in}", "/in") for name, value in config.items()},
    )
    made.start()
    return made


def sent(folder: Path, *events: object, connector: LineageConnector | None = SOURCE) -> list[Any]:
    """Return the events in the file after the worker has ended, and check that each is valid."""
    file = folder / "events.json"
    made = lineage({"type": "file", "log_file_path": str(file)}, connector)
    for event in events:
        made.observe(event)
    made.close()
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    for event in found:
        check(event)
    return found


def types(events: list[Any]) -> list[str]:
    return [event["eventType"] for event in events]


def test_the_run_of_a_source(tmp_path: Path) -> None:
    topics = {"penstock-topics": [{"topic": "t", "fields": [{"name": "id", "type": "int64", "fields": []}]}]}
    running, seen, told = TaskRunning(T, 4), TopicSeen(T, 4, "t"), TaskMetrics(T, 4, topics)
    events = sent(tmp_path, running, running, seen, told, told, TaskMetrics(T, 4, {}), TaskEnded(T, 4))
    assert types(events) == ["START", "RUNNING", "RUNNING", "COMPLETE"]
    assert len({event["run"]["runId"] for event in events}) == 1
    assert {(event["job"]["namespace"], event["job"]["name"]) for event in events} == {("connect", "orders")}
    assert events[0]["outputs"] == []
    last = events[-1]
    assert last["inputs"] == [{"namespace": "file", "name": "/in", "facets": {}, "inputFacets": {}}]
    (output,) = last["outputs"]
    assert (output["namespace"], output["name"]) == ("kafka://k:9092", "t")
    (field,) = output["facets"]["schema"]["fields"]
    assert (field["name"], field["type"], field["ordinal_position"]) == ("id", "int64", 1)
    tags = {tag["key"]: tag["value"] for tag in last["run"]["facets"]["tags"]["tags"]}
    assert {"task": "0", "run": "4", "worker": "w:8083"}.items() <= tags.items()
    assert [(tag["key"], tag["value"]) for tag in last["job"]["facets"]["tags"]["tags"]] == [("team", "shop")]


def test_the_run_of_a_sink_that_fails(tmp_path: Path) -> None:
    failure = "java.io.IOException: the disk is full\n\tat …\n"
    events = sent(tmp_path, TaskPaused(T, 1), TaskFailed(T, 1, failure), TaskEnded(T, 1), connector=SINK)
    assert types(events) == ["START", "FAIL"]
    assert [each["name"] for each in events[0]["inputs"]] == ["t", "u"]
    assert [(each["namespace"], each["name"]) for each in events[0]["outputs"]] == [("file", "/out")]
    error = events[1]["run"]["facets"]["errorMessage"]
    assert (error["message"], error["stackTrace"]) == ("java.io.IOException: the disk is full", failure)


def test_every_run_begins_and_ends_once(tmp_path: Path) -> None:
    other = TaskId("orders", 1)
    events = sent(
        tmp_path,
        TaskFailed(T, 1, "before it ran"),
        TaskEnded(T, 1),
        TaskRunning(T, 1),
        TaskRunning(T, 2),
        TaskLost(T, 2, "its process was killed", died=True),
        TaskEnded(T, 2),
        TaskRunning(other, 3),
    )
    runs = [list(group) for _, group in itertools.groupby(events, lambda event: event["run"]["runId"])]
    assert [types(run) for run in runs] == [["START", "FAIL"], ["START", "ABORT"], ["START", "ABORT"]]
    assert runs[1][1]["run"]["facets"]["errorMessage"]["message"] == "its process was killed"


def test_a_connector_that_is_gone_has_no_events(tmp_path: Path) -> None:
    assert sent(tmp_path, TaskRunning(T, 1), TaskEnded(T, 1), connector=None) == []


class Collector:
    """Receives events by HTTP, with their API key."""

    def __enter__(self) -> Collector:
        taken = self.taken = list[tuple[str | None, Any]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                taken.append((self.headers["Authorization"], json.loads(body)))
                self.send_response(201)
                self.end_headers()

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        yield collector


def test_a_collector_gets_the_key_with_the_events(collector: Collector) -> None:
    made = lineage({"type": "http", "url": collector.url, "auth.apiKey": "k3y", "timeout": "3"})
    made.observe(TaskRunning(T, 1))
    made.close()
    assert [(key, event["eventType"]) for key, event in collector.taken] == [
        ("Bearer k3y", "START"),
        ("Bearer k3y", "ABORT"),
    ]


def test_the_librarys_own_variables_count(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "http")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__URL", collector.url)
    made = lineage({})
    made.observe(TaskRunning(T, 1))
    made.close()
    assert types([event for _, event in collector.taken]) == ["START", "ABORT"]


def test_a_collector_that_does_not_answer_delays_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # a worker is not patient
    with socket.create_server(("127.0.0.1", 0)) as silent:
        made = lineage({"type": "http", "url": f"http://127.0.0.1:{silent.getsockname()[1]}", "timeout": str(HOUR)})
        began = time.monotonic()
        for run in range(1, 20_000):
            made.observe(TaskRunning(T, run))
        made.close()
        assert time.monotonic() - began < HOUR / 10


@pytest.mark.parametrize(
    ("transport", "problem"),
    [
        ({}, r"nowhere to go: set `penstock\.openlineage\.transport\.type`"),
        ({"type": "pigeon"}, "can't be used"),
        ({"type": "http"}, "can't be used"),
        ({"type": "file"}, "`log_file_path` key"),
    ],
)
def test_a_transport_that_can_not_work_is_refused(transport: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        lineage(transport)


def test_topics_are_reported_once_with_the_schema_of_their_values() -> None:
    reports: list[dict[str, Any]] = []
    metrics = Metrics(reports.append, (), every=0.0)
    place = struct(("city", STRING))
    schema = struct(("id", INT64), ("place", place))
    topics = TopicSchemas(metrics)
    for _ in range(2):
        topics.note(Batch.of("t", [{}, {}], value_schema=schema))
        topics.note(Batch.of(["t", "u"], [{}, "x"], value_schema=[None, STRING]))
        metrics.tick(time.monotonic() + 1)
    assert "penstock-topics" not in reports[1]
    city = {"name": "city", "type": "string", "fields": []}
    fields = [{"name": "id", "type": "int64", "fields": []}, {"name": "place", "type": "struct", "fields": [city]}]
    assert reports[0]["penstock-topics"] == [{"topic": "t", "fields": fields}, {"topic": "u", "fields": []}]


def test_each_schema_of_a_topic_is_reported_once_and_not_too_many() -> None:
    reports: list[dict[str, Any]] = []
    metrics = Metrics(reports.append, (), every=0.0)
    topics = TopicSchemas(metrics)
    one, other = (struct((name, INT64)) for name in ("a", "b"))
    for _ in range(3):
        for schema in (one, None, other):
            topics.note(Batch.of("t", [{}], value_schema=schema))
    for i in range(2 * MAX_SCHEMAS):
        topics.note(Batch.of("u", [{}], value_schema=struct((f"f{i}", INT64))))
    metrics.tick(time.monotonic() + 1)
    found = [(each["topic"], each["fields"][0]["name"]) for each in reports[0][REPORTED]]
    assert found == [("t", "a"), ("t", "b"), *(("u", f"f{i}") for i in range(MAX_SCHEMAS))]


def test_the_runs_of_a_deleted_connector_are_forgotten() -> None:
    connectors = {"orders": SOURCE, "other": SOURCE}
    runs = LineageRuns(connectors.get, time.time)
    for id in (T, TaskId("other", 0), TaskId("orders", 1)):
        assert [change.type for change in runs.changes(TaskRunning(id, 1))] == ["START"]
    for id in (T, TaskId("other", 0)):
        assert [change.type for change in runs.changes(TaskEnded(id, 1))] == ["COMPLETE"]
    runs.changes(ConfigRead((ConfigRecord(7, ConnectorConfig("orders", None)),)))
    del connectors["orders"]
    assert [change.type for change in runs.changes(TaskEnded(TaskId("orders", 1), 1))] == ["COMPLETE"]
    assert runs._over == {TaskId("other", 0): 1}
