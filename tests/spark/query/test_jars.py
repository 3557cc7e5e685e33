"""Query tasks with transforms, predicates and converters of jars, in Spark's driver and in its executors."""

from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import uuid
from pathlib import Path
from typing import Any

import psutil
import pytest

from hosts.plugins import plugin_path
from penstock.hosts.errors import HostLost
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.query.sink.rows.plan import lost_host, reported
from support.kafka.client import Kafka, Record
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource, field, record
from support.spark.queries import COLUMNS, Query, Sink, Source
from support.waiting import until
from support.worker_process import QUICK_JAVA

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MARK = {
    "transforms": "mark",
    "transforms.mark.type": "penstock.tests.chain.Mark",
    "transforms.mark.text": "seen",
    "transforms.mark.predicate": "has",
    "predicates": "has",
    "predicates.has.type": "penstock.tests.chain.ValueContains",
    "predicates.has.text": "n1",
}


def with_jars(query: Query, folder: Path, *names: str) -> str:
    """Returns what the command lines of its JVMs have."""
    mark = f"-Dtest.query={uuid.uuid4().hex}"
    query.plugin_path = (plugin_path(folder / "plugins", *names),)
    query.worker["penstock.java.opts"] = f"{QUICK_JAVA} -Xmx256m {mark}"
    return mark


def envelope(before: dict[str, Any] | None, after: dict[str, Any] | None, op: str) -> Record:
    """Return a change as Debezium's sources send it and JsonConverter writes it."""
    row = [ID, NAME]
    fields = [
        {"field": "before", "type": "struct", "optional": True, "name": "shop.things.Value", "fields": row},
        {"field": "after", "type": "struct", "optional": True, "name": "shop.things.Value", "fields": row},
        field("op", "string"),
        field("ts_ms", "int64"),
    ]
    schema = {"type": "struct", "name": "shop.things.Envelope", "fields": fields}
    value = {"schema": schema, "payload": {"before": before, "after": after, "op": op, "ts_ms": 1_700_000_000_000}}
    found = after or before
    assert found is not None
    key = {"schema": {"type": "struct", "fields": [ID]}, "payload": {"id": found["id"]}}
    return Record(json.dumps(value).encode(), json.dumps(key).encode())


def test_debeziums_changes_become_rows_by_the_transform_of_its_jar(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    install("jdbc-sqlite")
    settings = {
        "insert.mode": "upsert",
        "pk.mode": "record_key",
        "delete.enabled": "true",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "delete-to-tombstone",
    }
    file = tmp_path / "things.db"
    with JdbcSink(hosted, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        with_jars(one, tmp_path, "debezium-postgres")
        old, new = {"id": 1, "name": "one"}, {"id": 1, "name": "eins"}
        kafka.produce(one.topic, [envelope(None, old, "c"), envelope(None, {"id": 2, "name": "two"}, "r")])
        one.start()
        one.written(2)
        kafka.produce(one.topic, [envelope(old, new, "u"), envelope({"id": 2, "name": "two"}, None, "d")])
        one.written(4)
    with sqlite3.connect(file, timeout=900) as database:
        assert database.execute("SELECT * FROM things").fetchall() == [(1, "eins")]


def test_a_sink_of_spark_goes_on_when_the_jvm_of_its_transforms_is_killed(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    """A jar's converter reads the keys."""
    topic = kafka.create_topic(partitions=2)
    settings = {
        **MARK,
        "schema": f"{COLUMNS}, mark STRING",
        "key.converter": "penstock.tests.chain.Backwards",
        "value.converter.schemas.enable": "true",
    }
    with Sink(hosted, kafka, topic, tmp_path / "table", **settings) as one:
        mark = with_jars(one, tmp_path, "chain")
        kafka.produce(topic, [record([ID, NAME], {"id": i, "name": f"n{i}"}) for i in range(4)])
        one.start()
        assert sorted((row["id"], row["mark"]) for row in one.wait(4)) == [(0, None), (1, "seen"), (2, None), (3, None)]
        jvms = [each for each in psutil.process_iter(["name", "cmdline"]) if mark in (each.info["cmdline"] or [])]
        (jvm,) = [each for each in jvms if each.info["name"] == "java"]
        os.kill(jvm.pid, signal.SIGKILL)
        kafka.produce(topic, [record([ID, NAME], {"id": 11, "name": "n11"})])
        assert [row["mark"] for row in one.wait(5) if row["id"] == 11] == ["seen"]


def test_the_end_of_a_jvm_is_that_of_the_task_and_no_failure_of_its_plugins() -> None:
    report = f"org.apache.spark.SparkException: {lost_host(HostLost('It ran out of memory', by_itself=True))} at ..."
    with pytest.raises(HostLost, match=r"^It ran out of memory$") as raised:
        reported(report)
    assert raised.value.by_itself


@pytest.mark.parametrize("exactly_once", [False, True])
def test_a_source_of_spark(
    hosted: Hosted, kafka: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture, exactly_once: bool
) -> None:
    """In the driver, what a thread of its transform logs outside of calls is a line of the worker's log."""
    caplog.set_level(logging.INFO)
    settings = {**MARK, "schema": COLUMNS, "transforms.mark.says.later": "from a thread of its own"}
    with Source(hosted, kafka, tmp_path, exactly_once, **settings) as one:
        with_jars(one, tmp_path, "chain")
        one.add("a", *({"id": i, "name": f"n{i}"} for i in range(3)))
        one.start()
        found = {value["id"]: value.get("mark") for value in one.wait(3)}
        assert found == {0: None, 1: "seen", 2: None}
        if not exactly_once:  # else the transform runs in an executor
            until(lambda: "from a thread of its own" in caplog.messages, "the line of the thread")


def test_a_source_of_tables(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    install("jdbc-sqlite")
    file = tmp_path / "things.db"
    with sqlite3.connect(file, timeout=900) as database:
        database.execute("CREATE TABLE things (id INTEGER NOT NULL, name TEXT)")
        database.executemany("INSERT INTO things VALUES (?, ?)", [(1, "n1"), (2, "n2")])
    settings = {**MARK, "mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "things"}
    with JdbcSource(hosted, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        with_jars(one, tmp_path, "chain")
        one.start()
        assert [value.get("mark") for value in one.wait("things", 2)] == ["seen", None]
