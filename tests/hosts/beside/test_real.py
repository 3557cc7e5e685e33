"""Widely used connectors, run here and in Java Connect: the same configuration and input give the same topics,
tables, documents and files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hosts.beside.conftest import Pair
from hosts.beside.mongo import Mongo
from hosts.iceberg_table import columns, rows
from penstock.core.config.catalog import Kind
from penstock.core.config.runtime_settings import runtime_config
from support.kafka.client import Kafka, Record
from support.postgres import LOOPBACK, USER, Postgres, running_server
from support.tasks.runs import JSON, STRING
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLUGINS = ("connect-file", "connect-mirror", "debezium-jdbc", "mongo", "iceberg")
SECONDS = 900
FILE = "org.apache.kafka.connect.file.FileStream"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
COMMON = {
    *runtime_config(Kind.SOURCE).keys,
    *runtime_config(Kind.SINK).keys,
    *(f"transforms.a.{each}" for each in ("type", "plugin.version", "predicate", "negate")),
}
"""Settings that every connector has."""


def test_definitions_and_validations(pair: Pair) -> None:
    """Every member is equal, for every class in the jars."""
    plugins = pair.java.get("/connector-plugins?connectorsOnly=false")
    own = [
        each for each in plugins if not each["class"].startswith("org.apache.kafka.connect.") or "file" in each["class"]
    ]
    known = {each["class"] for each in pair.ours.get("/connector-plugins?connectorsOnly=false")}
    assert {each["class"] for each in own} <= known
    more = known - {each["class"] for each in plugins}
    for name, kind in sorted({(each["class"], each["type"]) for each in own}):
        path = f"/connector-plugins/{name}/config"
        java, ours = (answered(worker, "GET", path) for worker in pair.both)
        common = COMMON if kind in ("source", "sink") else set()
        assert plain(ours, common, more) == plain(java, common, more), name
        for given in ({}, {"topics": "t", "tasks.max": "many", "transforms": "a", "errors.tolerance": "some"}):
            if kind in ("source", "sink"):
                config = {"connector.class": name, "name": "any", **given}
                java, ours = (answered(worker, "PUT", f"{path}/validate", config) for worker in pair.both)
                assert plain(ours, common, more) == plain(java, common, more), name


def plain(answer: Any, common: Collection[str], more: Collection[str]) -> Any:
    """Remove the documentation of common settings, which Penstock words differently, and Penstock's own plugins."""
    if isinstance(answer, dict):
        shown = {name: plain(each, common, more) for name, each in answer.items()}
        return {**shown, "documentation": ""} if shown.get("name") in common else shown
    if isinstance(answer, list | tuple):
        return [plain(each, common, more) for each in answer if not isinstance(each, str) or each not in more]
    return answer


def answered(worker: WorkerProcess, method: str, path: str, body: dict[str, str] | None = None) -> tuple[int, Any]:
    answer = worker.http.request(method, path, json=body)
    return answer.status_code, answer.json()


def become(pair: Pair, seen: Callable[[WorkerProcess], Any], expected: Any) -> None:
    """Wait until both workers show what is expected, and check that no connector has failed."""
    for worker in pair.both:

        def as_expected(worker: WorkerProcess = worker) -> bool:
            failed = [each for each in worker.get("/connectors?expand=status").values() if "FAILED" in str(each)]
            assert not failed, failed
            return bool(seen(worker) == expected)

        try:
            until(as_expected, f"{expected} in {worker.name}", SECONDS)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {seen(worker)}") from None


def test_kafkas_connectors_for_files(pair: Pair, kafka: Kafka, tmp_path: Path) -> None:
    lines = ["one", "", "zwei ä", "x" * 5000, "last"]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines))
    topics = {worker: kafka.create_topic() for worker in pair.both}
    for worker in pair.both:
        worker.put(
            f"in-{worker.name}",
            **{"connector.class": f"{FILE}SourceConnector", "file": str(tmp_path / "in"), "topic": topics[worker]},
        )
        out = str(tmp_path / worker.name)
        worker.put(
            f"out-{worker.name}", **{"connector.class": f"{FILE}SinkConnector", "file": out, "topics": topics[worker]}
        )
    become(pair, lambda worker: kafka.values(topics[worker]), [line.encode() for line in lines])
    become(pair, lambda worker: written(tmp_path / worker.name), lines)
    assert (tmp_path / pair.ours.name).read_bytes() == (tmp_path / pair.java.name).read_bytes()


def written(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def test_kafkas_mirror(pair: Pair, kafka: Kafka) -> None:
    topic = kafka.create_topic(partitions=2, config={"cleanup.policy": "compact", "retention.ms": "123456789"})
    sent = [
        Record(b"one", b"k", 0, headers=(("h", b"\x00\x01"), ("n", None)), timestamp=1_700_000_000_000),
        Record(b"gone", b"k2", 1, timestamp=1_700_000_000_001),
        Record(b"", b"k3", 1, timestamp=1_700_000_000_002),
    ]
    kafka.produce(topic, sent)
    config = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "tasks.max": "2",
        "target.cluster.alias": "t",
        "topics": topic,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "emit.heartbeats.enabled": "false",
        **{f"{side}.cluster.bootstrap.servers": kafka.bootstrap for side in ("source", "target")},
        **dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES),
    }
    for worker in pair.both:
        worker.put(f"mirror-{worker.name}", **{**config, "source.cluster.alias": worker.name})

    def mirrored(worker: WorkerProcess) -> list[Record]:
        name = f"{worker.name}.{topic}"
        return [replace(each, offset=-1) for each in kafka.read_all(name)] if name in kafka.topics() else []

    become(pair, mirrored, sent)
    settings = {worker: topic_config(kafka, f"{worker.name}.{topic}") for worker in pair.both}
    assert settings[pair.ours] == settings[pair.java]
    assert settings[pair.ours]["retention.ms"] == "123456789"


def topic_config(kafka: Kafka, topic: str) -> dict[str, str | None]:
    return {name: each.value for name, each in kafka.configs(topic).items()}


# -- a database


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    yield from running_server()


KEY = {"type": "struct", "optional": False, "fields": [{"field": "id", "type": "int32", "optional": False}]}
TYPES: dict[str, tuple[dict[str, Any], Any]] = {
    "name": ({"type": "string"}, "Ännchen"),
    "yes": ({"type": "boolean"}, True),
    "small": ({"type": "int16"}, -7),
    "big": ({"type": "int64"}, 2**62),
    "ratio": ({"type": "double"}, 1.5),
    "raw": ({"type": "bytes"}, "AAH/"),
    "day": ({"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}, 19_000),
    "clock": ({"type": "int32", "name": "org.apache.kafka.connect.data.Time", "version": 1}, 3_723_004),
    "at": ({"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}, 1_700_000_000_123),
    "price": (
        {
            "type": "bytes",
            "name": "org.apache.kafka.connect.data.Decimal",
            "version": 1,
            "parameters": {"scale": "2", "connect.decimal.precision": "8"},
        },
        "AZA=",
    ),
    "micros": ({"type": "int64", "name": "io.debezium.time.MicroTimestamp", "version": 1}, 1_700_000_000_123_456),
    "document": ({"type": "string", "name": "io.debezium.data.Json", "version": 1}, '{"a": [1, null]}'),
    "uuid": ({"type": "string", "name": "io.debezium.data.Uuid", "version": 1}, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
}


def row(id: int, *names: str, deleted: bool = False, **values: Any) -> Record:
    """Return a record of a row with these columns; values are those of TYPES unless given."""
    key = json.dumps({"schema": KEY, "payload": {"id": id}})
    if deleted:
        return Record(None, key)
    fields = [{"field": name, "optional": True, **TYPES[name][0]} for name in names]
    schema = {"type": "struct", "optional": False, "name": "row", "fields": [*KEY["fields"], *fields]}  # type: ignore[misc]
    payload = {"id": id, **{name: TYPES[name][1] for name in names}, **values}
    return Record(json.dumps({"schema": schema, "payload": payload}), key)


def test_debeziums_jdbc_sink(pair: Pair, kafka: Kafka, postgres: Postgres) -> None:
    """Rows are inserted, updated and deleted, and columns added."""
    topic = kafka.create_topic()
    config = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "tasks.max": "1",
        "topics": topic,
        "connection.url": f"jdbc:postgresql://{LOOPBACK}:{postgres.port}/postgres",
        "connection.username": USER,
        "connection.password": "any",
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "key.converter": JSON,
        "value.converter": JSON,
    }
    nothing: dict[str, Any] = dict.fromkeys(TYPES)
    kafka.produce(topic, [row(id, "name", "price", name=f"row {id}") for id in range(1, 6)])
    kafka.produce(topic, [row(2, "name", "price", name="two"), row(3, deleted=True), row(9, deleted=True)])
    kafka.produce(topic, [row(6, *TYPES), row(7, *TYPES, **nothing), row(1, *TYPES, name="one")])
    for worker in pair.both:
        worker.put(f"rows-{worker.name}", **{**config, "collection.name.format": f"rows_{worker.name}"})

    def ids(worker: WorkerProcess) -> list[list[str]]:
        exists = postgres.rows(f"SELECT 1 FROM pg_tables WHERE tablename = 'rows_{worker.name}'")
        return postgres.rows(f"SELECT id FROM rows_{worker.name} ORDER BY id") if exists else []

    become(pair, ids, [["1"], ["2"], ["4"], ["5"], ["6"], ["7"]])

    def table(worker: WorkerProcess) -> tuple[list[list[str]], list[list[str]]]:
        columns = (
            "SELECT column_name, data_type, is_nullable, column_default, numeric_precision, numeric_scale "
            f"FROM information_schema.columns WHERE table_name = 'rows_{worker.name}' ORDER BY ordinal_position"
        )
        return postgres.rows(columns), postgres.rows(f"SELECT * FROM rows_{worker.name} ORDER BY id")

    columns, rows = table(pair.ours)
    assert (columns, rows) == table(pair.java)
    assert [name for name, *_ in columns] == [
        "id",
        *(name for name in ("name", "price")),
        *list(TYPES)[1:9],
        *list(TYPES)[10:],
    ]
    assert [values[1] for values in rows] == ["one", "two", "row 4", "row 5", "Ännchen", ""]


# -- a table of Iceberg's


def test_icebergs_sink(pair: Pair, kafka: Kafka, bootstrap: str, tmp_path: Path) -> None:
    """A table is created from the first records, gets a column later, and has each record once."""
    topic = kafka.create_topic(partitions=2)
    config = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "tasks.max": "2",
        "topics": topic,
        "key.converter": JSON,
        "value.converter": JSON,
        "consumer.override.auto.offset.reset": "earliest",
        "iceberg.catalog.type": "hadoop",
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.tables.evolve-schema-enabled": "true",
        "iceberg.control.commit.interval-ms": "1000",
        "iceberg.kafka.bootstrap.servers": bootstrap,
    }
    for worker in pair.both:
        own = {"iceberg.catalog.warehouse": (tmp_path / worker.name).as_uri()}
        own |= {"iceberg.control.topic": kafka.create_topic(), "iceberg.control.group-id-prefix": worker.name}
        worker.put(f"orders-{worker.name}", **{**config, **own})
    # A rebalance ends the thread that commits; in the middle of a commit it never starts again, in Java Connect either.
    for worker in pair.both:
        group = f"connect-orders-{worker.name}"
        until(lambda group=group: kafka.sharing(group) == 2, f"two members that share {group}", SECONDS)  # type: ignore[misc]
    kafka.produce(topic, [row(id, *ICEBERG, name=f"row {id}") for id in range(20)])

    def table(worker: WorkerProcess) -> list[Any]:
        return sorted((str(each["id"]), each["name"]) for each in rows(tmp_path / worker.name / "shop" / "orders"))

    first = sorted((str(id), f"row {id}") for id in range(20))
    become(pair, table, first)
    kafka.produce(topic, [row(id, *ICEBERG, "uuid", name=f"row {id}") for id in range(20, 25)])
    become(pair, table, sorted((str(id), f"row {id}") for id in range(25)))
    made = [tmp_path / worker.name / "shop" / "orders" for worker in pair.both]
    java, ours = ((columns(each), sorted(map(str, rows(each)))) for each in made)
    assert ours == java


ICEBERG = ("name", "yes", "small", "big", "ratio", "raw", "day", "clock", "at", "price")


# -- documents


@pytest.fixture
def mongo() -> Iterator[Mongo]:
    server = Mongo()
    yield server
    server.end()


def test_mongodbs_sink(pair: Pair, kafka: Kafka, mongo: Mongo) -> None:
    """Documents are written and replaced; a record that is not a document is a dead letter."""
    topic = kafka.create_topic()
    queues = {worker: kafka.create_topic() for worker in pair.both}
    strategy = "com.mongodb.kafka.connect.sink.processor.id.strategy.PartialValueStrategy"
    config = {
        "connector.class": "com.mongodb.kafka.connect.MongoSinkConnector",
        "tasks.max": "1",
        "topics": topic,
        "connection.uri": mongo.address,
        "database": "test",
        "key.converter": STRING,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "document.id.strategy": strategy,
        "document.id.strategy.partial.value.projection.list": "id",
        "document.id.strategy.partial.value.projection.type": "AllowList",
        "writemodel.strategy": "com.mongodb.kafka.connect.sink.writemodel.strategy.ReplaceOneBusinessKeyStrategy",
        "mongo.errors.tolerance": "all",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    first = [b'{"id": 1, "a": "one"}', b'{"id": 2, "a": [1.5, null]}', b'{"id": 1, "a": "uno"}', b'"text"']
    kafka.produce(topic, [*first, b'{"id": 3, "a": {"b": true, "c": 12345678901}}'])
    for worker in pair.both:
        own = {"collection": worker.name, "errors.deadletterqueue.topic.name": queues[worker]}
        worker.put(f"documents-{worker.name}", **{**config, **own})

    def documents(worker: WorkerProcess) -> list[tuple[object, object]]:
        return sorted((each["id"], each["a"]) for each in mongo.documents(worker.name))  # type: ignore[type-var]

    expected = [(1, "uno"), (2, [1.5, None]), (3, {"b": True, "c": 12345678901})]
    become(pair, documents, expected)
    become(pair, lambda worker: kafka.values(queues[worker]), [b'"text"'])

    def letter(worker: WorkerProcess) -> dict[str, bytes | None]:
        """Return the dead letter's headers, without the frames of the trace."""
        headers = dict(kafka.read_all(queues[worker])[0].headers)
        trace = headers.pop("__connect.errors.exception.stacktrace")
        assert headers.pop("__connect.errors.connector.name") == f"documents-{worker.name}".encode()
        return {**headers, "first": (trace or b"").splitlines()[0]}

    assert letter(pair.ours) == letter(pair.java)
