"""Jars that were built for a Kafka in which classes have other names than in that of the host."""

from __future__ import annotations

import runpy
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from hosts.plugins import plugin_path
from penstock.api.batch import Batch
from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import JAR_SETS, KAFKA, SOURCES, jar_set, kafka_version
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from penstock.hosts.jvm.tasks.steps import JavaTransformation
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from support.kafka.client import Kafka
from support.machine import missing
from support.tasks.runs import STRING, TaskRun, eventually
from support.worker_process import QUICK_JAVA

pytestmark = pytest.mark.integration

NEWER = "4.4"
VALUES = ["a%20b", "42", "[newer]", "newer-1", "10", "1", "Exit", "ShellCommandExecutor", "from a file"]
NEWER_SOURCE = {"connector.class": "penstock.tests.newer.NewerSource", "task.class": "penstock.tests.newer.NewerTask"}
FILE_SOURCE = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "task.class": "org.apache.kafka.connect.file.FileStreamSourceTask",
}


@pytest.fixture(scope="module")
def newer_kafka() -> list[Path]:
    """The class path of Java Connect 4.4."""
    try:
        return jars(jar_set(NEWER))
    except EmbeddedError as error:
        missing(f"no jars for this test: {error}")


def newer_plugin(folder: Path, newer_kafka: list[Path]) -> str:
    """Return a plugin path with a connector that was compiled against Kafka 4.4.0."""
    return plugin_path(folder, "newer", compiled_against=newer_kafka)


def run(bootstrap: str, path: str, config: dict[str, str], kafka: str = "4.3") -> TaskRun:
    """A task of a worker with ``penstock.java.kafka.version=kafka``."""
    worker = {KAFKA: kafka, "penstock.java.opts": f"{QUICK_JAVA} -Xmx128m"}
    worker |= {"key.converter": STRING, "value.converter": STRING}
    return TaskRun(JavaSourceTask, bootstrap, config, worker, plugin_path=(path,))


def versions(path: str, kafka: str = "4.3") -> dict[str, str]:
    found = find((path,), None, kafka)
    assert found is not None
    assert found.problems == ()
    return {each.name: each.version for each in found.plugins}


def test_a_connector_built_for_a_newer_kafka_moves_records(
    newer_kafka: list[Path], kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    path = newer_plugin(tmp_path, newer_kafka)
    assert versions(path) == {"penstock.tests.newer.NewerSource": "on 4.3.1"}
    with run(bootstrap, path, {**NEWER_SOURCE, "topic": topic}):
        eventually(lambda: len(kafka.values(topic)) == len(VALUES))
    assert [value.decode() for value in kafka.values(topic)] == VALUES


def test_a_connector_built_for_this_kafka_is_left_as_it_is(
    newer_kafka: list[Path], kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    path = newer_plugin(tmp_path, newer_kafka)
    assert versions(path, NEWER) == {"penstock.tests.newer.NewerSource": "on 4.4.0"}
    with run(bootstrap, path, {**NEWER_SOURCE, "topic": topic}, NEWER):
        eventually(lambda: len(kafka.values(topic)) == len(VALUES))
    assert [value.decode() for value in kafka.values(topic)] == VALUES


def test_classes_in_a_folder_have_that_as_their_source(
    newer_kafka: list[Path], kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    (jar,) = Path(newer_plugin(tmp_path / "jars", newer_kafka), "newer").iterdir()
    with zipfile.ZipFile(jar) as classes:
        classes.extractall(tmp_path / "plugins" / "unpacked")
    path = str(tmp_path / "plugins")
    assert versions(path) == {"penstock.tests.newer.NewerSource": "on 4.3.1"}
    with run(bootstrap, path, {**NEWER_SOURCE, "topic": topic}):
        eventually(lambda: len(kafka.values(topic)) == len(VALUES))
    assert [value.decode() for value in kafka.values(topic)] == [*VALUES[:-1], "from a folder"]


def test_classes_of_kafka_that_a_connector_brings_are_its_own(newer_kafka: list[Path], tmp_path: Path) -> None:
    def moved(path: str) -> list[bool]:
        found = find((path,))
        assert found is not None
        return [each["moved"] for each in orjson.loads(found.file.read_bytes())]

    path = newer_plugin(tmp_path, newer_kafka)
    assert moved(path) == [True]
    (clients,) = [jar for jar in newer_kafka if jar.name.startswith("kafka-clients")]
    (tmp_path / "newer" / clients.name).symlink_to(clients)
    assert moved(path) == [False]


def test_transforms_of_a_newer_kafka_run(newer_kafka: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "plugins" / "transforms"
    folder.mkdir(parents=True)
    for each in newer_kafka:
        if each.name.startswith(("connect-transforms", "connect-json")):
            (folder / each.name).symlink_to(each)
    path = str(folder.parent)
    name = "org.apache.kafka.connect.transforms.ValueToKey"
    found = versions(path)
    assert {found[name], found["org.apache.kafka.connect.json.JsonConverter"]} == {"4.3.1"}  # of AppInfoParser here

    class ValueToKey(JavaTransformation):
        java_name = name
        java_location = str(folder)

    class Run:
        connector, task, plugin_path = "moved", 0, (path,)
        config: dict[str, str] = {}
        connector_config: dict[str, str] = {}
        worker_config = {"penstock.java.opts": f"{QUICK_JAVA} -Xmx128m"}

    with task_jvm(Run()):
        step = ValueToKey()
        step.configure({"fields": "o.n", "field.syntax.version": "V2"})
        assert step.apply_batch(Batch.of("t", [{"o": {"n": 7}}])).keys == [{"o.n": 7}]


@pytest.mark.parametrize("plugin", ["connect-file", "connect-mirror", "debezium-jdbc", "debezium-postgres", "iceberg"])
def test_jars_built_for_an_older_kafka_are_found_on_a_newer_one(
    newer_kafka: list[Path], plugin: str, tmp_path: Path
) -> None:
    assert versions(plugin_path(tmp_path, plugin), NEWER)


@pytest.mark.parametrize("host", sorted(JAR_SETS))
def test_a_connector_built_for_kafka_4_3_moves_records_on_hosts_of_both(
    newer_kafka: list[Path], host: str, kafka: Kafka, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    path = plugin_path(tmp_path / "plugins", "connect-file")
    assert set(versions(path, host).values()) == {kafka_version(host)}  # as the host's AppInfoParser says
    (tmp_path / "in").write_text("one\ntwo\n")
    with run(bootstrap, path, {**FILE_SOURCE, "file": str(tmp_path / "in"), "topic": topic}, host):
        eventually(lambda: len(kafka.values(topic)) == 2)
    assert kafka.values(topic) == [b"one", b"two"]


def test_the_list_is_what_the_script_writes(newer_kafka: list[Path]) -> None:
    script: dict[str, Any] = runpy.run_path(str(Path(__file__).parents[2] / "scripts" / "moved_classes.py"))
    try:
        older = next(jar for jar in jars("connect") if jar.name.startswith("kafka-clients"))
    except EmbeddedError as error:
        missing(f"no jars for this test: {error}")
    newer = next(jar for jar in newer_kafka if jar.name.startswith("kafka-clients"))
    lines, gone = script["moved"](script["classes"](older), script["classes"](newer))
    kept = (SOURCES / "penstock" / "host" / "plugins" / "moved-classes.txt").read_text().splitlines()
    assert sorted(lines) == [line for line in kept if not line.startswith("#")]
    assert len(lines) + len(gone) == 64
    assert "org/apache/kafka/common/utils/CollectionUtils" in gone
