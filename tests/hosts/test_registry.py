"""Schemas and records that a Java worker's converter wrote are reused: the same subjects, IDs and bytes.

The Java converter is Apicurio's, whose mapping of Avro equals that of Confluent's.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from hosts.plugins import plugin_path
from penstock.api.schema import FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING, TIMESTAMP, Schema, array, map_of, struct
from penstock.hosts.jvm.tasks.steps import JavaConverter
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.pipeline.converters import AvroConverter
from penstock.values.logical import moment_of
from support.worker_process import QUICK_JAVA

pytest.importorskip("fastavro")
pytestmark = pytest.mark.integration


@dataclass
class Run:
    plugin_path: tuple[str, ...]
    connector: str = "registry"
    task: int = 0
    config: dict[str, str] = field(default_factory=dict)
    connector_config: dict[str, str] = field(default_factory=dict)
    worker_config: dict[str, str] = field(default_factory=lambda: {"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"})


class Apicurio(JavaConverter):
    java_name = "io.apicurio.registry.utils.converter.AvroConverter"


@pytest.fixture(scope="module")
def java(registry_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConverter]:
    path = plugin_path(tmp_path_factory.mktemp("plugins"), "apicurio")
    with task_jvm(Run((path,))):
        converter = Apicurio()
        settings = {
            "url": registry_url.replace("/apis/ccompat/v7", "/apis/registry/v2"),
            "auto-register": "true",
            "as-confluent": "true",
            "use-id": "contentId",
            "headers.enabled": "false",
        }
        converter.configure({f"apicurio.registry.{name}": value for name, value in settings.items()}, False)
        yield converter
        converter.close()


@pytest.fixture
def ours(registry_url: str) -> Iterator[AvroConverter]:
    converter = AvroConverter()
    converter.configure({"schema.registry.url": registry_url}, False)
    yield converter
    converter.close()


def versions(registry_url: str, topic: str) -> list[int]:
    return httpx.get(f"{registry_url}/subjects/{topic}-value/versions", timeout=900).json()


INNER = struct(("a", INT32), ("b", OPTIONAL_STRING), name="org.example.Inner")
ROW = struct(
    ("id", INT64),
    ("name", STRING.with_(default="-", doc="of a person")),
    ("price", FLOAT64.with_(optional=True)),
    ("at", TIMESTAMP),
    ("tags", array(STRING)),
    ("counts", map_of(STRING, INT32)),
    ("inner", INNER),
    name="org.example.Row",
    version=3,
)
VALUE = {"id": 7, "name": "ä", "price": None, "at": moment_of(1_700_000_000_123), "tags": ["x", ""], "counts": {"n": 1},
         "inner": {"a": -1, "b": "b"}}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "value"),
    [(ROW, VALUE), (ROW.with_(name=None, version=None), VALUE), (INT64, 5), (array(OPTIONAL_STRING), ["a", None])],
    ids=["record", "without a name", "integer", "array"],
)
def test_schemas_registered_by_java_are_used_again(
    java: JavaConverter, ours: AvroConverter, registry_url: str, schema: Schema, value: Any
) -> None:
    topic = f"java-{uuid.uuid4().hex[:8]}"
    written = java.from_connect(topic, (), schema, value)
    assert versions(registry_url, topic) == [1]
    assert ours.from_connect(topic, (), schema, value) == written
    assert versions(registry_url, topic) == [1]
    assert written is not None
    id = int.from_bytes(written[1:5], "big")
    assert ours.registered(topic) == [{"subject": f"{topic}-value", "version": 1, "id": id, "type": "AVRO"}]
    assert ours.to_connect(topic, (), written)[1] == value


def test_java_uses_schemas_registered_by_penstock(java: JavaConverter, ours: AvroConverter, registry_url: str) -> None:
    topic = f"java-{uuid.uuid4().hex[:8]}"
    java.from_connect(topic, (), INNER, {"a": 1, "b": None})
    newer = struct(("a", INT32), ("b", OPTIONAL_STRING), ("c", OPTIONAL_STRING), name=INNER.name)
    value = {"a": 1, "b": "b", "c": "c"}
    written = ours.from_connect(topic, (), newer, value)
    assert java.from_connect(topic, (), newer, value) == written
    assert versions(registry_url, topic) == [1, 2]
    assert java.to_connect(topic, (), written)[1] == value
