"""Iceberg's sink, unchanged, with a catalogue in a folder.

Its tasks take part in the group of the worker's real members, and each record is in the table once, though a JVM is
killed.
"""

from __future__ import annotations

import json
import os
import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from hosts.iceberg_table import rows
from hosts.plugins import plugin_path
from support.kafka.client import Kafka, Record
from support.process_tree import command
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import PLAIN, QUICK_JAVA, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 900
PARTITIONS = 2
MARK = f"test.iceberg={uuid.uuid4().hex}"


@pytest.fixture
def worker(bootstrap: str, tmp_path: Path) -> Iterator[WorkerProcess]:
    path = plugin_path(tmp_path / "plugins", "iceberg")
    settings = {"plugin.path": path, "penstock.java.opts": f"{QUICK_JAVA} -D{MARK}"}
    running = WorkerProcess(bootstrap, tmp_path, **settings, **PLAIN)
    running.start_seconds = 300
    with running as up:
        yield up


def jvms_of_tasks() -> list[psutil.Process]:
    found = [each for each in psutil.process_iter(["cmdline"]) if f"-D{MARK}" in (each.info["cmdline"] or [])]
    return [each for each in found if "penstock.spark.daemon" in command_of_parent(each)]


def command_of_parent(process: psutil.Process) -> str:
    """Empty if one of them has ended."""
    try:
        parent = process.parent()
    except psutil.NoSuchProcess:
        return ""
    return "" if parent is None else command(parent)


def test_each_record_is_in_the_table_once(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    topic, control = kafka.create_topic(partitions=PARTITIONS), kafka.create_topic()
    # A coordinator without offsets begins at the end of its control topic once its consumer is ready. On a slow machine
    # that is behind what tasks have told it, and their files are never committed: with Java Connect as well.
    kafka.commit("connect-orders-coord", control, 0)
    table = tmp_path / "warehouse" / "shop" / "orders"

    def produce(numbers: range) -> None:
        values = [json.dumps({"id": each, "name": f"order {each}", "price": each / 4}).encode() for each in numbers]
        kafka.produce(topic, [Record(value, partition=i % PARTITIONS) for i, value in enumerate(values)])

    def written(end: int) -> list[dict[str, Any]] | None:
        assert "FAILED" not in worker.states("orders"), worker.http.get("/connectors/orders/status").text
        found = rows(table)
        return found if len(found) >= end else None

    worker.put(
        "orders",
        **{
            "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
            "tasks.max": str(PARTITIONS),
            "topics": topic,
            "value.converter": JSON,
            "value.converter.schemas.enable": "false",
            "consumer.override.auto.offset.reset": "earliest",
            "iceberg.catalog.type": "hadoop",
            "iceberg.catalog.warehouse": (tmp_path / "warehouse").as_uri(),
            "iceberg.tables": "shop.orders",
            "iceberg.tables.auto-create-enabled": "true",
            "iceberg.control.topic": control,
            "iceberg.control.commit.interval-ms": "1000",
        },
    )
    until(lambda: kafka.sharing("connect-orders") == PARTITIONS, "both tasks have a partition", SECONDS)
    produce(range(100))
    until(lambda: written(100), "the first orders are in the table", SECONDS)
    killed = jvms_of_tasks()
    assert killed, "no JVM of the tasks was found"
    for process in killed:
        os.kill(process.pid, signal.SIGKILL)
    produce(range(100, 250))
    found = until(lambda: written(250), "the others are in the table", SECONDS)
    expected = [{"id": each, "name": f"order {each}", "price": each / 4} for each in range(250)]
    assert sorted(found, key=lambda row: row["id"]) == expected
