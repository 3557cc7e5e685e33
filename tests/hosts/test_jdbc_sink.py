"""Debezium's JDBC sink, unchanged, into a PostgreSQL of the tests' own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.plugins import plugin_path
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from support.kafka.client import Kafka, Record
from support.machine import missing
from support.postgres import LOOPBACK, USER, Postgres, binaries
from support.tasks.runs import JSON, TaskRun, eventually

pytestmark = pytest.mark.integration

SECONDS = 300
KEY = {"type": "struct", "optional": False, "fields": [{"field": "id", "type": "int32", "optional": False}]}


@pytest.fixture(scope="module")
def plugins(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = plugin_path(tmp_path_factory.mktemp("plugins"), "debezium-jdbc")
    assert find((path,), None) is not None
    return path


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    if binaries() is None:
        missing("there is no PostgreSQL on this machine")
    server = Postgres.make()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def record(id: int, row: dict[str, Any] | None, more: list[dict[str, Any]] | None = None) -> Record:
    key = json.dumps({"schema": KEY, "payload": {"id": id}})
    if row is None:
        return Record(None, key.encode())
    fields = [*KEY["fields"], {"field": "name", "type": "string", "optional": True}, *(more or [])]  # type: ignore[misc]
    schema = {"type": "struct", "optional": False, "name": "row", "fields": fields}
    return Record(json.dumps({"schema": schema, "payload": {"id": id, **row}}).encode(), key.encode())


def test_rows_are_inserted_updated_and_deleted_and_columns_added(
    bootstrap: str, kafka: Kafka, plugins: str, postgres: Postgres, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    table = topic.replace("-", "_")
    config = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "task.class": "io.debezium.connector.jdbc.JdbcSinkConnectorTask",
        "topics": topic,
        "connection.url": f"jdbc:postgresql://{LOOPBACK}:{postgres.port}/postgres",
        "connection.username": USER,
        "connection.password": "any",
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "collection.name.format": table,
        "key.converter": JSON,
        "value.converter": JSON,
    }

    def rows(columns: str) -> list[list[str]]:
        if not postgres.rows(f"SELECT 1 FROM pg_tables WHERE tablename = '{table}'"):
            return []
        return postgres.rows(f"SELECT {columns} FROM {table} ORDER BY id")

    kafka.produce(topic, [record(1, {"name": "one"}), record(2, {"name": "two"}), record(3, {"name": "three"})])
    with TaskRun(JavaSinkTask, bootstrap, config, plugin_path=(plugins,)) as run:
        eventually(lambda: run.check() or rows("id, name") == [["1", "one"], ["2", "two"], ["3", "three"]], SECONDS)
        kafka.produce(topic, [record(2, {"name": "zwei"}), record(1, None)])
        eventually(lambda: run.check() or rows("id, name") == [["2", "zwei"], ["3", "three"]], SECONDS)
        price = [{"field": "price", "type": "double", "optional": True}]
        kafka.produce(topic, [record(4, {"name": "four", "price": 1.5}, price)])
        expected = [["2", "zwei", ""], ["3", "three", ""], ["4", "four", "1.5"]]
        eventually(lambda: run.check() or ("price" in columns(postgres, table) and rows("id, name, price") == expected))
    eventually(lambda: kafka.committed(f"connect-{run.connector}") == {(topic, 0): 6})


def columns(postgres: Postgres, table: str) -> list[str]:
    found = postgres.rows(f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'")
    return [name for (name,) in found]
