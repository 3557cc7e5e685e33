"""Tasks of connectors that people run, from the jars of their releases, on hosts of each Kafka: records arrive.

The jars were built for Kafka 4.3 or an older one; some classes that they use have other names in Kafka 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hosts.debezium.beside import CONNECTOR as POSTGRES_SOURCE
from hosts.debezium.beside import LOGICAL
from hosts.debezium.copied_table import CopiedTable
from hosts.iceberg_table import rows
from hosts.plugins import plugin_path
from penstock.hosts.jvm.build import JAR_SETS, KAFKA, kafka_version
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from support.kafka.client import Kafka, Record
from support.postgres import Postgres, running_server
from support.tasks.runs import JSON, TaskRun, eventually, new_name
from support.worker_process import QUICK_JAVA

pytestmark = [pytest.mark.integration, pytest.mark.slow]

MIRROR = "org.apache.kafka.connect.mirror.Mirror"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
LOCATIONS = ("connect-mirror", "debezium-postgres-3.6", "debezium-jdbc", "iceberg")


@dataclass(frozen=True, slots=True)
class Host:
    """One JVM with the class path of this Kafka, such as 4.4, for all tasks."""

    kafka: str
    bootstrap: str
    path: str

    def run(self, task: type[JavaSourceTask] | type[JavaSinkTask], config: dict[str, str], name: str = "") -> TaskRun:
        worker = {
            KAFKA: self.kafka,
            "penstock.java.process": "worker",
            "penstock.java.opts": f"{QUICK_JAVA} -Xmx512m",
        }
        return TaskRun(task, self.bootstrap, config, worker, name or None, plugin_path=(self.path,))


@pytest.fixture(scope="module", params=sorted(JAR_SETS))
def host(bootstrap: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Host:
    return Host(request.param, bootstrap, plugin_path(tmp_path_factory.mktemp("kafka"), *LOCATIONS))


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    yield from running_server(**LOGICAL)


def test_plugins_find_the_kafka_of_the_host(host: Host) -> None:
    found = find((host.path,), None, host.kafka)
    assert found is not None
    versions = {each.name: each.version for each in found.plugins}
    assert versions[f"{MIRROR}SourceConnector"] == kafka_version(host.kafka)  # as the host's AppInfoParser says
    assert versions[POSTGRES_SOURCE] == "3.6.1.Final"


def test_mirrors_tasks_copy_records_heartbeats_and_offsets_of_groups(host: Host, kafka: Kafka) -> None:
    topic, alias, group = kafka.create_topic(partitions=2), new_name("source"), new_name("readers")
    target = new_name("target")
    copy, checkpoints = f"{alias}.{topic}", f"{alias}.checkpoints.internal"
    kafka.create_topic(copy, partitions=2)
    for name in (checkpoints, f"mm2-offset-syncs.{target}.internal"):
        kafka.create_topic(name)
    kafka.produce(topic, [Record(b"one", b"k", 0, headers=(("h", b"\x00\x01"),)), Record(b"two", b"k2", 1)])
    config = {
        "task.index": "0",
        "source.cluster.alias": alias,
        "target.cluster.alias": target,
        "task.assigned.partitions": f"{topic}-0,{topic}-1",
        "task.assigned.groups": group,
        **{f"{side}.cluster.bootstrap.servers": kafka.bootstrap for side in ("source", "target")},
        **{f"emit.{kind}.interval.seconds": "1" for kind in ("heartbeats", "checkpoints")},
        **dict.fromkeys(("key.converter", "value.converter", "header.converter"), BYTES),
    }

    def run(kind: str) -> TaskRun:
        classes = {"connector.class": f"{MIRROR}{kind}Connector", "task.class": f"{MIRROR}{kind}Task"}
        return host.run(JavaSourceTask, {**classes, **config})

    def beaten() -> bool:
        """Return whether a heartbeat of this mirror has arrived. The topic's name is the same for all mirrors."""
        return any(alias.encode() in (each.key or b"") for each in kafka.read_all("heartbeats"))

    with run("Source") as source:
        eventually(lambda: source.error or sorted(kafka.values(copy)) == [b"one", b"two"])
        with run("Heartbeat") as beats:
            eventually(lambda: beats.error or ("heartbeats" in kafka.topics() and beaten()))
    kafka.commit(group, topic, 1)
    with run("Checkpoint") as checks:
        eventually(
            lambda: checks.error or any(group.encode() in (each.key or b"") for each in kafka.read_all(checkpoints))
        )
    assert beaten()
    kafka.delete_topic("heartbeats")  # the mirrors of other tests would copy it
    assert any(group.encode() in (each.key or b"") for each in kafka.read_all(checkpoints))
    assert sorted((each.key, each.headers) for each in kafka.read_all(copy)) == [
        (b"k", (("h", b"\x00\x01"),)),
        (b"k2", ()),
    ]


def test_debeziums_source_and_its_jdbc_sink_copy_a_table(host: Host, kafka: Kafka, postgres: Postgres) -> None:
    table = CopiedTable(postgres, f"t{host.kafka.replace('.', '')}", new_name("changes"))
    table.create()
    kafka.create_topic(table.topic)
    changes = {
        **table.source(),
        "task.class": "io.debezium.connector.postgresql.PostgresConnectorTask",
        "task.id": "0",
    }
    copy = {**table.sink(), "task.class": "io.debezium.connector.jdbc.JdbcSinkConnectorTask"}

    with host.run(JavaSourceTask, changes) as source, host.run(JavaSinkTask, copy) as sink:
        eventually(lambda: source.error or sink.error or table.copied() == [["1", "one"]])
        table.change()
        eventually(lambda: source.error or sink.error or table.copied() == [["2", "zwei ä"]])
    assert table.copied() == [["2", "zwei ä"]]


def test_icebergs_sink_writes_a_table(host: Host, kafka: Kafka, tmp_path: Path) -> None:
    topic, control, name = kafka.create_topic(), kafka.create_topic(), new_name("orders")
    kafka.commit(f"connect-{name}-coord", control, 0)  # see test_iceberg.py
    orders = [{"id": each, "name": f"order {each}"} for each in range(50)]
    kafka.produce(topic, [json.dumps(each).encode() for each in orders])
    config = {
        "connector.class": "org.apache.iceberg.connect.IcebergSinkConnector",
        "task.class": "org.apache.iceberg.connect.IcebergSinkTask",
        "topics": topic,
        "value.converter": JSON,
        "value.converter.schemas.enable": "false",
        "consumer.override.auto.offset.reset": "earliest",
        "iceberg.catalog.type": "hadoop",
        "iceberg.catalog.warehouse": tmp_path.as_uri(),
        "iceberg.tables": "shop.orders",
        "iceberg.tables.auto-create-enabled": "true",
        "iceberg.control.topic": control,
        "iceberg.control.commit.interval-ms": "1000",
        "iceberg.coordinator.transactional.suffix": f"-txn-{name}-0",
        "iceberg.kafka.bootstrap.servers": kafka.bootstrap,
    }

    def written() -> list[dict[str, Any]]:
        return sorted(rows(tmp_path / "shop" / "orders"), key=lambda row: row["id"])

    with host.run(JavaSinkTask, config, name) as sink:
        eventually(lambda: sink.error or written() == orders)
    assert written() == orders
