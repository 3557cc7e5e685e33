"""Plugins on the class path that the variable ``CLASSPATH`` names."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from hosts.plugins import HERE
from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import class_path, kafka_class_path, user_class_path
from penstock.hosts.jvm.plugins import catalogue
from penstock.hosts.jvm.plugins.catalogue import find
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
    return found


def test_the_variable_is_read_as_java_reads_it(tmp_path: Path) -> None:
    files = [tmp_path / "lib" / name for name in ("a.jar", "b.jar", "c.txt")]
    (tmp_path / "lib").mkdir()
    for each in files:
        each.write_bytes(b"")
    entries = (files[1], "", tmp_path / "none.jar", tmp_path / "lib" / "*", tmp_path / "gone" / "*", tmp_path / "lib")
    variable = os.pathsep.join(map(str, entries))
    assert user_class_path({"CLASSPATH": variable}) == [files[1], files[0], tmp_path / "lib"]
    assert user_class_path({}) == []


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
    monkeypatch.delenv("CLASSPATH")
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
