"""Connectors with a Schema Registry in a real worker, through REST: from a file to a topic of Avro records and back to
a file, also when the registry fails. A server between the worker and the real registry fails on demand.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.api.schema import OPTIONAL_STRING, STRING, struct
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.converter import RegistryConverter
from support.kafka.client import Kafka, Record
from support.registry_front import Answer, RegistryFront, running_front
from support.waiting import until
from support.worker_process import WorkerProcess

avro = pytest.importorskip("confluent_kafka.schema_registry.avro")
from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: E402
from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: E402

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 900
COMMIT_SECONDS = 3
SMT = "org.apache.kafka.connect.transforms."
LINE = struct(("line", STRING), name="org.example.Line")
LINE_WITH_NOTE = struct(("line", STRING), ("note", OPTIONAL_STRING), name=LINE.name)
NAMED = {
    "transforms": "hoist,name",
    "transforms.hoist.type": f"{SMT}HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.name.type": f"{SMT}SetSchemaMetadata$Value",
    "transforms.name.schema.name": LINE.name or "",
}
WITH_NOTE = {
    **NAMED,
    "transforms": "hoist,insert,name",
    "transforms.insert.type": f"{SMT}InsertField$Value",
    "transforms.insert.static.field": "note?",
    "transforms.insert.static.value": "new",
}


@pytest.fixture(scope="module")
def front(registry_url: str) -> Iterator[RegistryFront]:
    with running_front(registry_url) as front:
        yield front


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    # Sinks commit rarely, so that a test can be in the middle of a retry before the next commit.
    settings = {"offset.flush.interval.ms": str(COMMIT_SECONDS * 1000)}
    with WorkerProcess(bootstrap, tmp_path_factory.mktemp("worker"), **settings) as worker:
        yield worker


@pytest.fixture(autouse=True)
def healthy(front: RegistryFront) -> Iterator[None]:
    yield
    front.answer, front.delay = None, 0.0
    if front._server is None:
        front.up()


KINDS: list[type[RegistryConverter]] = [AvroConverter, JsonSchemaConverter, ProtobufConverter]


class Files:
    """A source that reads ``given`` and a sink that writes ``taken``, each with a topic."""

    def __init__(self, worker: WorkerProcess, front: RegistryFront, kafka: Kafka, folder: Path) -> None:
        self.worker, self.front, self.kafka = worker, front, kafka
        self.kind = KINDS[0]
        self.given, self.taken = folder / "in.txt", folder / "out.txt"
        self.given.touch()
        self.name = f"r{uuid.uuid4().hex[:8]}"
        self.topic = kafka.create_topic(self.name)

    def converter(self) -> dict[str, str]:
        prefix = "value.converter"
        return {
            prefix: self.kind.java_name,
            f"{prefix}.schema.registry.url": self.front.url,
            f"{prefix}.max.retries": "0",
            f"{prefix}.retries.wait.ms": "100",
        }

    def source(self, transforms: dict[str, str] = NAMED, **more: str) -> None:
        config = {"connector.class": "FileStreamSource", "file": str(self.given), "topic": self.topic}
        self.put("in", config | transforms, **more)

    def sink(self, **more: str) -> None:
        self.put("out", {"connector.class": "FileStreamSink", "file": str(self.taken), "topics": self.topic}, **more)

    def put(self, what: str, config: dict[str, str], **more: str) -> None:
        more = {key.replace("__", "."): value for key, value in more.items()}
        if more.get("errors.retry.timeout") == "-1":  # otherwise a slow machine would fail the task
            more["value.converter.http.read.timeout.ms"] = "1000"
        self.worker.put(f"{self.name}-{what}", **config, **self.converter(), **more)

    def write(self, *lines: str) -> None:
        with self.given.open("a") as out:
            out.writelines(f"{line}\n" for line in lines)

    def lines(self) -> list[str]:
        return self.taken.read_text().splitlines() if self.taken.exists() else []

    def wait(self, *lines: str) -> None:
        def there() -> bool:
            for what in ("in", "out"):
                assert "FAILED" not in self.worker.states(f"{self.name}-{what}"), self.trace(what)
            return self.lines() == list(lines)

        until(there, f"{lines} in {self.taken}", SECONDS)

    def produced(self) -> list[bytes | None]:
        return [record.value for record in self.kafka.read_all(self.topic)]

    def produce(self, *records: tuple[Any, dict[str, Any]]) -> None:
        """Produce records with a separate converter that uses the registry directly, as another process would."""
        settings = {"schema.registry.url": self.front.registry}
        if self.kind is JsonSchemaConverter:  # adding a property to an open content model is not compatible
            settings["object.additional.properties"] = "false"
        converter = self.kind()
        converter.configure(settings, False)
        values = [converter.from_connect(self.topic, (), schema, value) for schema, value in records]
        converter.close()
        self.kafka.produce(self.topic, [Record(value) for value in values])

    def committed(self) -> list[int]:
        answer = self.worker.get(f"/connectors/{self.name}-out/offsets")
        return [entry["offset"]["kafka_offset"] for entry in answer["offsets"]]

    def trace(self, what: str) -> str:
        """Wait until the task has failed, and return its trace."""
        name = f"{self.name}-{what}"
        until(lambda: self.worker.states(name) == ["RUNNING", "FAILED"], f"{name} failed", SECONDS)
        return str(self.worker.get(f"/connectors/{name}/status")["tasks"][0]["trace"])

    def still_running(self, what: str) -> None:
        assert self.worker.states(f"{self.name}-{what}") == ["RUNNING", "RUNNING"]

    def delete(self) -> None:
        for what in ("in", "out"):
            self.worker.http.delete(f"/connectors/{self.name}-{what}")


@pytest.fixture
def files(worker: WorkerProcess, front: RegistryFront, kafka: Kafka, tmp_path: Path) -> Iterator[Files]:
    files = Files(worker, front, kafka, tmp_path)
    yield files
    files.delete()


@pytest.fixture(params=KINDS, ids=lambda kind: str(kind.schema_type))
def every_format(request: pytest.FixtureRequest, files: Files) -> Files:
    files.kind = request.param
    return files


def test_a_schema_evolves_while_records_flow_once_from_file_to_file(files: Files, registry_url: str) -> None:
    files.write("one", "two")
    files.source()
    files.sink()
    old = ["Struct{line=one}", "Struct{line=two}"]
    files.wait(*old)
    source = f"{files.name}-in"
    until(lambda: files.worker.get(f"/connectors/{source}/offsets")["offsets"], "the offset of both", SECONDS)
    # A task with the old configuration would write a line that arrives before its end: changing offsets fences it.
    assert files.worker.http.put(f"/connectors/{source}/stop").status_code == 204
    until(lambda: files.worker.states(source) == ["STOPPED"], "the stop of the source", SECONDS)
    offsets = files.worker.get(f"/connectors/{source}/offsets")
    assert files.worker.http.patch(f"/connectors/{source}/offsets", json=offsets).status_code == 200
    files.source(WITH_NOTE)
    files.write("three")
    assert files.worker.http.put(f"/connectors/{source}/resume").status_code == 202
    new = "Struct{line=three,note=new}"
    files.wait(*old, new)
    # Other clients find each record once, with the transform's schema name and the writer's schema.
    client = SchemaRegistryClient({"url": registry_url})
    subject = f"{files.topic}-value"
    assert client.get_versions(subject) == [1, 2]
    read = avro.AvroDeserializer(client)
    context = SerializationContext(files.topic, MessageField.VALUE)
    values = files.produced()
    assert [read(value, context) for value in values] == [
        {"line": "one"}, {"line": "two"}, {"line": "three", "note": "new"},
    ]  # fmt: skip
    ids = [int.from_bytes(value[1:5], "big") for value in values if value]
    versions = [client.get_version(subject, version) for version in (1, 2)]
    assert ids == [versions[0].schema_id] * 2 + [versions[1].schema_id]
    assert all('"namespace":"org.example"' in version.schema.schema_str for version in versions)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("context.name.strategy", "my.Strategy"),
        ("value.subject.name.strategy", "my.Strategy"),
        ("rule.executors", "x"),
        ("specific.avro.reader", "true"),
        ("schema.registry.url", ""),
    ],
)
def test_unsupported_settings_are_refused_by_name(worker: WorkerProcess, setting: str, value: str) -> None:
    config = {
        "name": "refused",
        "connector.class": "FileStreamSink",
        "topics": "t",
        "value.converter": "io.confluent.connect.avro.AvroConverter",
        "value.converter.schema.registry.url": "http://localhost:1",
        f"value.converter.{setting}": value,
    }
    answer = worker.http.put("/connectors/refused/config", json=config)
    assert answer.status_code == 400, answer.text
    assert setting in answer.json()["message"]


DOWN = ["no connection", "no answer in time", "503"]


def break_down(front: RegistryFront, how: str) -> None:
    match how:
        case "no connection":
            front.down()
        case "no answer in time":
            front.delay = 2.0
        case _:
            front.answer = Answer.error(503, 50003, "Not now")


def mend(front: RegistryFront) -> None:
    front.answer, front.delay = None, 0.0
    if front._server is None:
        front.up()


@pytest.mark.parametrize("how", DOWN)
def test_a_source_waits_for_a_registry_that_is_down_at_the_start(files: Files, front: RegistryFront, how: str) -> None:
    break_down(front, how)
    files.write("one", "two")
    files.source(errors__retry__timeout="-1")
    files.worker.running(f"{files.name}-in")
    if how != "no connection":
        seen = len(front.requests)
        until(lambda: len(front.requests) > seen + 1, "it asks again", SECONDS)
    assert files.produced() == []
    files.still_running("in")
    mend(front)
    until(lambda: len(files.produced()) == 2, "both records", SECONDS)


@pytest.mark.parametrize(
    ("kind", "how"), [*((AvroConverter, how) for how in DOWN), *((kind, "503") for kind in KINDS[1:])]
)
def test_a_sink_waits_for_a_registry_in_the_middle_and_commits_what_is_done(
    files: Files, front: RegistryFront, kind: type[RegistryConverter], how: str
) -> None:
    files.kind = kind
    files.produce((LINE, {"line": "one"}))
    files.sink(errors__retry__timeout="-1")
    files.wait("Struct{line=one}")
    until(lambda: files.committed() == [1], "the first commit", SECONDS)
    break_down(front, how)
    # The task has cached this schema, but not the next.
    files.produce((LINE, {"line": "two"}))
    files.wait("Struct{line=one}", "Struct{line=two}")
    files.produce((LINE_WITH_NOTE, {"line": "three", "note": "n"}))
    until(lambda: files.committed() == [2], "what is done is committed while the next record waits", SECONDS)
    assert len(files.lines()) == 2
    files.still_running("out")
    mend(front)
    files.wait("Struct{line=one}", "Struct{line=two}", "Struct{line=three,note=n}")


def test_a_registry_that_stays_away_fails_the_task_when_its_time_is_over(files: Files, front: RegistryFront) -> None:
    front.answer = Answer.error(503, 50003, "Not now")
    files.write("one")
    files.source(errors__retry__timeout="1500")
    trace = files.trace("in")
    assert trace.startswith("org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler")
    assert "org.apache.kafka.connect.errors.RetriableException: Failed to serialize Avro data" in trace
    assert f"subject {files.topic}-value" in trace
    assert "Not now; error code: 50003 (HTTP status 503)" in trace


PERMANENT = {
    "401": (Answer.error(401, 40101, "Who are you?"), "Who are you?; error code: 40101 (HTTP status 401)"),
    "409": (Answer.error(409, 409, "It is incompatible"), "It is incompatible; error code: 409 (HTTP status 409)"),
    "422": (Answer.error(422, 42201, "No schema"), "No schema; error code: 42201 (HTTP status 422)"),
    "no JSON": (Answer(200, b"<html>Sign in</html>"), "the registry's answer is no JSON"),
}


@pytest.mark.parametrize(
    ("kind", "how"), [*((AvroConverter, how) for how in PERMANENT), *((kind, "409") for kind in KINDS[1:])]
)
def test_permanent_registry_errors_fail_a_source(
    files: Files, front: RegistryFront, kind: type[RegistryConverter], how: str
) -> None:
    files.kind = kind
    front.answer, words = PERMANENT[how]
    files.write("one")
    files.source(errors__retry__timeout="-1")
    trace = files.trace("in")
    assert f"org.apache.kafka.connect.errors.DataException: Failed to serialize {kind.format} data" in trace
    assert f"subject {files.topic}-value" in trace
    assert words in trace


def test_a_real_registry_refuses_an_incompatible_schema(files: Files) -> None:
    files.produce((struct(("line", STRING), ("more", STRING), name=LINE.name), {"line": "one", "more": "x"}))
    files.write("two")
    files.source({**WITH_NOTE, "transforms.insert.static.field": "other!"})
    trace = files.trace("in")
    assert "HTTP status 409" in trace
    assert f"subject {files.topic}-value" in trace


BAD = [b"\0\x7f\xff\xff\xff\x02", b"no frame", b""]


def test_an_unknown_id_fails_a_sink_with_id_and_words(files: Files) -> None:
    files.kafka.produce(files.topic, [Record(BAD[0])])
    files.sink()
    trace = files.trace("out")
    assert f"id 2147483647 of subject {files.topic}-value" in trace
    assert "error code: 40403 (HTTP status 404)" in trace


def test_undecodable_records_are_dead_letters_byte_for_byte(every_format: Files, kafka: Kafka) -> None:
    files = every_format
    letters = f"{files.name}-letters"
    files.produce((LINE, {"line": "one"}))
    cut = (files.produced()[0] or b"")[:8]  # in the middle of the payload
    bad = [BAD[0][:5] + b"\0", *BAD[1:], cut]  # Protobuf has the message's index after the ID
    files.kafka.produce(files.topic, [Record(value) for value in bad])
    files.produce((LINE, {"line": "two"}))
    files.sink(
        errors__tolerance="all",
        errors__deadletterqueue__topic__name=letters,
        errors__deadletterqueue__topic__replication__factor="1",
        errors__deadletterqueue__context__headers__enable="true",
    )
    files.wait("Struct{line=one}", "Struct{line=two}")
    until(lambda: files.committed() == [6], "all are committed", SECONDS)
    found = kafka.read_all(letters)
    assert [record.value for record in found] == bad
    said = [(dict(record.headers)["__connect.errors.exception.message"] or b"").decode() for record in found]
    assert all(f"Failed to deserialize data for topic {files.topic} to {files.kind.format}" in each for each in said)
    assert f"id 2147483647 of subject {files.topic}-value" in said[0]
    assert "error code: 40403 (HTTP status 404)" in said[0]
    assert "Unknown magic byte 110" in said[1]
    assert "message for id " in said[3]
