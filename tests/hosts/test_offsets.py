"""Source offsets and partitions of plugins from jars that are null, or odd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hosts.conducted import Conducted, stored
from penstock.hosts.jvm.messages.base import PluginReference
from penstock.hosts.jvm.messages.from_jvm import PluginMessage, ReadSourceOffsets
from penstock.hosts.jvm.messages.worker import CreateJavaConnector, StartJavaConnector
from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.process import JvmSpec
from penstock.hosts.jvm.session import JvmSession
from support.kafka.client import Kafka
from support.tasks.runs import eventually

pytestmark = pytest.mark.integration


def offset_of(message: PluginMessage, payload: memoryview) -> list[Any]:
    assert isinstance(message, ReadSourceOffsets)
    return [{"next": 4} if each is None else None for each in message.partitions]


@pytest.mark.parametrize(("asked", "found"), [("null", "{next=4}"), ("0", "null")])
def test_the_source_partition_may_be_null(
    open_sessions: Callable[..., JvmSession], jvm_spec: JvmSpec, conduct: str, tmp_path: Path, asked: str, found: str
) -> None:
    catalogue = find((conduct,), None)
    assert catalogue is not None
    spec = replace(jvm_spec, settings={"catalogue": str(catalogue.file), "linger.ms": 1000})
    session = open_sessions(spec=spec, answer=offset_of)
    session.call(CreateJavaConnector(PluginReference("penstock.tests.ConductSource")))
    config = {"topic": "t", "journal": str(tmp_path / "journal"), "look.up": asked}
    session.call(StartJavaConnector("n", config))
    assert f"looked.up {found}" in (tmp_path / "journal").read_text().splitlines()


@pytest.mark.parametrize("null", ["partition", "offset"])
def test_null_as_source_partition_or_offset(
    conducted: Conducted, kafka: Kafka, topic: str, offsets_topic: str, null: str
) -> None:
    """A function in Python between makes other records of them, which are acknowledged all the same."""
    between = {
        "transforms": "same",
        "transforms.same.type": "penstock.transforms.PythonFunction",
        "transforms.same.function": f"{same.__module__}:same",
    }
    with conducted({"records": "4", "null": null, **between}, offsets_topic=offsets_topic) as run:
        eventually(lambda: conducted.calls("commitRecord") == [f"{i} {topic}-0@{i}" for i in range(4)])
        eventually(lambda: stored(kafka, offsets_topic))
    partition, offset = ("null", b'{"next":4}') if null == "partition" else ('{"task":"0"}', None)
    assert stored(kafka, offsets_topic) == [(f'["{run.connector}",{partition}]'.encode(), offset)]
    assert kafka.values(topic) == [b"0", b"1", b"2", b"3"]


def test_the_offset_of_the_source_partition_null_after_a_restart(
    conducted: Conducted, kafka: Kafka, topic: str
) -> None:
    with conducted({"records": "6", "null": "partition"}, offsets=((None, {"next": 4}, None),)):
        eventually(lambda: b"5" in kafka.values(topic))
    assert kafka.values(topic) == [b"4", b"5"]


def same(record: Any) -> Any:
    return record.with_(value=record.value)


def test_an_odd_offset_ends_the_task_and_does_not_hang_it(conducted: Conducted) -> None:
    assert "What a plugin has returned can't be written" in conducted({"records": "1", "odd.offsets": "true"}).failure()
