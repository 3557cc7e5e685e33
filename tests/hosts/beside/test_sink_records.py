"""A sink task from a jar gets the same records as in Java Connect, including every detail of their schemas."""

from __future__ import annotations

from pathlib import Path

import pytest

from hosts.plugins import plugin_path
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from penstock.hosts.jvm.tasks.steps import JavaPredicate, JavaTransformation
from support.jars import require
from support.java_worker import JARS, JavaWorker
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually, register
from support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

SECONDS = 900
RECORDS = 120
SINK = "penstock.tests.everything.DescribingSink"
CONVERTERS = {"key.converter": JSON, "value.converter": JSON}
CHAIN = {
    "transforms": "mark,mask,flat",
    "transforms.mark.type": "penstock.tests.chain.Mark",
    "transforms.mark.predicate": "struct",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "string",
    "transforms.mask.predicate": "struct",
    "transforms.flat.type": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.flat.regex": "(.*)",
    "transforms.flat.replacement": "to-$1",
    "predicates": "struct",
    "predicates.struct.type": "penstock.tests.chain.ValueContains",
    "predicates.struct.text": "Struct{int8=",
}


@pytest.fixture(autouse=True)
def known() -> None:
    """Register the plugins of the chain, as discovery does."""
    for base, name in ((JavaTransformation, "Mark"), (JavaPredicate, "ValueContains")):
        register(type(name, (base,), {"java_name": f"penstock.tests.chain.{name}", "plugin_version": None}))


def lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def test_records_are_described_alike(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    require(JARS)
    path = plugin_path(tmp_path / "plugins", "everything", "chain")
    assert find((path,), None) is not None
    topic = kafka.create_topic()
    with JavaWorker(bootstrap, tmp_path, plugin__path=path) as java:
        source = {"connector.class": "penstock.tests.everything.EverythingSource", "topic": topic}
        java.put("source", **source, **CONVERTERS, records=str(RECORDS))
        until(lambda: len(kafka.read_all(topic)) == RECORDS, f"{RECORDS} records of the source", SECONDS)
        for name, chain in (("plain", {}), ("chained", CHAIN)):
            config = {"topics": topic, "tasks.max": "1", **CONVERTERS, **chain}
            theirs, ours = tmp_path / f"{name}-java", tmp_path / f"{name}-here"
            java.put(name, **{**config, "connector.class": SINK, "file": str(theirs)})
            until(lambda: len(lines(theirs)) == RECORDS, f"{RECORDS} records in Java", SECONDS)  # noqa: B023
            task = {"connector.class": SINK, "task.class": f"{SINK}$DescribingTask"}
            with TaskRun(JavaSinkTask, bootstrap, {**config, **task, "file": str(ours)}, plugin_path=(path,)) as run:
                eventually(lambda: run.check() or len(lines(ours)) == RECORDS, SECONDS)  # noqa: B023
            assert lines(ours) == lines(theirs)
