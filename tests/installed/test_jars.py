"""Connectors from jars in a worker that is installed from the wheel, with the classes of each Kafka around them.

The jars were built for Kafka 4.3 or an older one; some classes that they use have other names in Kafka 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.debezium.beside import LOGICAL
from hosts.debezium.copied_table import CopiedTable
from hosts.iceberg_table import rows
from hosts.plugins import plugin_path
from installed.conftest import Installed
from penstock.hosts.jvm.build import JAR_SETS, KAFKA, kafka_version
from support.kafka.client import Kafka
from support.postgres import Postgres, running_server
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import PLAIN, QUICK_JAVA, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
LOCATIONS = ("connect-file", "connect-mirror", "debezium-postgres-3.6", "debezium-jdbc", "iceberg")
SCHEMALESS = {"value.converter": JSON, "value.converter.schemas.enable": "false"}


class InstalledWorker(WorkerProcess):
    """A worker of the wheel."""

    def __init__(self, installed: Installed, bootstrap: str, folder: Path, **settings: str) -> None:
        super().__init__(bootstrap, folder, **settings)
        self._command = str(installed.bin / "penstock")
        self.environment = installed.env

    def command(self, properties: Path) -> list[str]:
        return [self._command, "worker", "distributed", str(properties)]


@pytest.fixture(scope="module", params=sorted(JAR_SETS))
def worker(
    installed: Installed, bootstrap: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("jars")
    settings = {
        KAFKA: request.param,
        "plugin.path": plugin_path(folder / "plugins", *LOCATIONS),
        "penstock.java.process": "worker",
        "penstock.java.opts": f"{QUICK_JAVA} -Xmx512m",
    }
    with InstalledWorker(installed, bootstrap, folder, **PLAIN, **settings) as running:
        yield running


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    yield from running_server(**LOGICAL)


def unless_failed(worker: WorkerProcess, *connectors: str) -> bool:
    for name in connectors:
        assert "FAILED" not in worker.states(name), worker.http.get(f"/connectors/{name}/status").text
    return True


def test_lines_of_a_file_are_mirrored_and_written_to_a_table(
    worker: WorkerProcess, kafka: Kafka, tmp_path: Path
) -> None:
    """``connect-file``, MirrorMaker and Iceberg's sink."""
    listed = {each["class"]: each["version"] for each in worker.get("/connector-plugins")}
    assert listed[FILE_SOURCE] == kafka_version(worker.settings[KAFKA])  # as the host's AppInfoParser says
    topic, control = kafka.create_topic(), kafka.create_topic()
    orders = [{"id": each, "name": f"order {each}"} for each in range(50)]
    (tmp_path / "in").write_text("".join(f"{json.dumps(each)}\n" for each in orders))
    worker.put("lines", **{"connector.class": FILE_SOURCE, "file": str(tmp_path / "in"), "topic": topic})
    mirror = {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": "a",
        "target.cluster.alias": "b",
        "topics": topic,
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        **{f"{side}.cluster.bootstrap.servers": kafka.bootstrap for side in ("source", "target")},
        **dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES),
    }
    until(lambda: len(kafka.values(topic)) == len(orders) or not unless_failed(worker, "lines"), "the lines")
    worker.put("mirror", **mirror)
    copy = f"a.{topic}"
    until(lambda: copy in kafka.topics() or not unless_failed(worker, "mirror"), "the topic of the mirror")
    until(lambda: len(kafka.values(copy)) == len(orders) or not unless_failed(worker, "mirror"), "the copies")
    kafka.commit("connect-orders-coord", control, 0)  # see hosts/test_iceberg.py
    table = tmp_path / "shop" / "orders"
    sink = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "topics": copy,
        "consumer.override.auto.offset.reset": "earliest",
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": tmp_path.as_uri(),
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": "1000",
        **SCHEMALESS,
    }
    worker.put("orders", **sink)
    until(lambda: len(rows(table)) >= len(orders) or not unless_failed(worker, "orders"), "the rows")
    assert sorted(rows(table), key=lambda row: row["id"]) == orders
    for name in ("lines", "mirror", "orders"):
        assert worker.http.delete(f"/connectors/{name}").status_code == 204


def test_a_table_is_copied_by_debezium(worker: WorkerProcess, kafka: Kafka, postgres: Postgres) -> None:
    """Debezium's source for PostgreSQL and its JDBC sink."""
    table = CopiedTable(postgres, f"t{worker.settings[KAFKA].replace('.', '')}", f"{worker.name}-changes")
    table.create()
    kafka.create_topic(table.topic)

    def copied() -> list[list[str]]:
        unless_failed(worker, "changes", "copy")
        return table.copied()

    worker.put("changes", **table.source())
    worker.put("copy", **table.sink())
    until(lambda: copied() == [["1", "one"]], "the row of the snapshot")
    table.change()
    until(lambda: copied() == [["2", "zwei ä"]], "the changes")
    for name in ("changes", "copy"):
        assert worker.http.delete(f"/connectors/{name}").status_code == 204
    postgres.drop_slot(table.name)
