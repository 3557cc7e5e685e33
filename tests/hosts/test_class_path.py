"""Plugins on the class path that the variable ``CLASSPATH`` names."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import orjson
import pytest

from hosts.plugins import HERE
from penstock.api.processes import CLASS_PATH, child_environment
from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import class_path, entries, kafka_class_path, pass_on_class_path, user_class_path
from penstock.hosts.jvm.plugins import catalogue
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.plugins.locations import class_path_files
from support.jars import listed, require
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import PLAIN, QUICK_JAVA, WorkerProcess

pytestmark = pytest.mark.integration

JARS = HERE / "jars" / "connect-test-plugins.jars"
TOOLS = "org.apache.kafka.connect.tools."


@pytest.fixture
def on_class_path(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Kafka's test plugins are in ``CLASSPATH``, with what they need of its broker."""
    require(JARS)
    found = [*listed(JARS), *(jar for jar in jars("kafka") if jar.name.startswith("kafka-server-common-"))]
    monkeypatch.setenv("CLASSPATH", os.pathsep.join(map(str, found)))
    monkeypatch.setenv(CLASS_PATH, "")
    pass_on_class_path()
    return [Path(os.path.realpath(each)) for each in found]


def test_the_variable_is_read_as_java_reads_it(tmp_path: Path) -> None:
    files = [tmp_path / "lib" / name for name in ("a.jar", "b.jar", "c.txt")]
    (tmp_path / "lib").mkdir()
    for each in files:
        each.write_bytes(b"")
    named = (files[1], "", tmp_path / "none.jar", tmp_path / "lib" / "*", tmp_path / "gone" / "*", tmp_path / "lib")
    variable = os.pathsep.join(map(str, named))
    assert entries(variable) == [files[1], files[0], tmp_path / "lib"]
    assert entries("") == []


def test_links_and_relative_entries_are_resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").mkdir()
    jar = tmp_path / "store" / "a.bin"
    jar.write_bytes(b"")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.jar").symlink_to(jar)
    monkeypatch.chdir(tmp_path / "lib")
    assert entries("*") == entries("a.jar") == entries("../store/../lib/a.jar") == [jar]
    assert entries("../store") == [tmp_path / "store"]


def test_only_what_the_worker_has_read_counts_in_its_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "spark.jar"
    jar.write_bytes(b"")
    monkeypatch.setenv(CLASS_PATH, "")
    monkeypatch.setenv("CLASSPATH", str(jar))  # as YARN does in containers
    assert user_class_path() == []
    assert find(()) is None
    pass_on_class_path()
    assert user_class_path() == [jar]
    assert child_environment()[CLASS_PATH] == str(jar)
    monkeypatch.setenv("CLASSPATH", "")
    pass_on_class_path()
    assert CLASS_PATH not in os.environ


def test_folders_on_the_class_path_count_by_their_classes_and_services(tmp_path: Path) -> None:
    folder = tmp_path / "classes"
    for name in ("a/A.class", "lib/b.jar", "META-INF/services/c.C", "notes.txt", ".git/D.class"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(b"")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "E.class").write_bytes(b"")
    (folder / "linked").symlink_to(tmp_path / "out")
    assert {str(each.relative_to(folder)) for each in class_path_files(folder)} == {
        "a/A.class",
        "META-INF/services/c.C",
    }


def test_a_folder_without_classes_has_no_plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").write_bytes(b"")
    (tmp_path / "b.jar").write_bytes(b"")
    monkeypatch.setenv(CLASS_PATH, str(tmp_path))
    assert user_class_path() == [tmp_path]
    assert find(()) is None


def test_plugins_of_a_link_to_a_jar_are_found(
    on_class_path: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    linked = tmp_path / "lib"
    linked.mkdir()
    for each in on_class_path:
        (linked / each.name).symlink_to(each)
    (tmp_path / "link").symlink_to(linked)
    with zipfile.ZipFile(linked / "new.jar", "w") as unknown:  # so that all is scanned again
        unknown.writestr("path.txt", str(tmp_path))
    monkeypatch.setenv("CLASSPATH", f"{tmp_path}/link/../link/*")
    pass_on_class_path()
    found = find(())
    assert found is not None
    assert f"{TOOLS}VerifiableSourceConnector" in [each.name for each in found.plugins]


def test_its_plugins_are_found_once_and_those_of_kafka_are_not_among_them(
    on_class_path: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert class_path() == [*kafka_class_path(), *on_class_path]
    found = find(())
    assert found is not None
    names = ("MockSink", "MockSource", "SchemaSource", "VerifiableSink", "VerifiableSource")
    assert [each.name for each in found.plugins] == [f"{TOOLS}{name}Connector" for name in names]
    assert {(each.url, each.version, each.kinds("hybrid_warn")) for each in found.plugins} == {
        ("classpath", "4.3.1", ("sink",)),
        ("classpath", "4.3.1", ("source",)),
    }
    monkeypatch.setattr(catalogue, "SCAN_SECONDS", 0)  # no scan would end in time
    again = find(())
    assert again is not None
    assert again.plugins == found.plugins
    monkeypatch.delenv(CLASS_PATH)
    assert find(()) is None


def test_a_connector_on_the_class_path_moves_records(
    on_class_path: list[Path], kafka: Kafka, bootstrap: str, tmp_path: Path
) -> None:
    topic = kafka.create_topic()
    settings = {"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m", **PLAIN}
    with WorkerProcess(bootstrap, tmp_path, **settings) as worker:
        listed_names = {each["class"] for each in worker.http.get("/connector-plugins").json()}
        assert f"{TOOLS}VerifiableSourceConnector" in listed_names
        own = {"id": "7", "throughput": "100", "value.converter": "org.apache.kafka.connect.json.JsonConverter"}
        worker.put(
            "numbers", **{"connector.class": "VerifiableSource", "topic": topic, "tasks.max": "1", **own},
            **{"value.converter.schemas.enable": "false"},
        )  # fmt: skip
        worker.running("numbers")
        until(lambda: len(kafka.values(topic)) >= 3, "records")
    assert [orjson.loads(value) for value in kafka.values(topic)[:3]] == [0, 1, 2]
