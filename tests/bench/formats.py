"""Throughput of records with five fields and a schema: Avro, JSON Schema and Protobuf with a registry, and JSON in
its envelope beside them.

A source's records have the line, the topic, and three texts that transforms insert. A sink's records have the fields
of the lines' JSON objects: integers, a number and texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

import orjson

from bench.connect import JSON, CaseError, Cluster
from bench.copying import Copy, sink, source
from bench.setting import Setting
from penstock.api.converter import Converter
from penstock.api.schema import FLOAT64, INT64, STRING, struct
from penstock.pipeline.converters import AvroConverter, JsonConverter, JsonSchemaConverter, ProtobufConverter

_SMT = "org.apache.kafka.connect.transforms."
_INSERTED = ("one", "two", "three")
_FIVE_FIELDS = {
    "transforms": f"hoist,topic,{','.join(_INSERTED)}",
    "transforms.hoist.type": f"{_SMT}HoistField$Value",
    "transforms.hoist.field": "line",
    "transforms.topic.type": f"{_SMT}InsertField$Value",
    "transforms.topic.topic.field": "topic",
    **{f"transforms.{name}.type": f"{_SMT}InsertField$Value" for name in _INSERTED},
    **{f"transforms.{name}.static.field": name for name in _INSERTED},
    **{f"transforms.{name}.static.value": f"the value of {name}" for name in _INSERTED},
}
_ROW = struct(("id", INT64), ("user", STRING), ("amount", FLOAT64), ("ts", INT64), ("note", STRING), name="Row")
_CHUNK = 10_000

CONVERTERS: dict[str, type[Converter]] = {
    "envelope": JsonConverter,
    "avro": AvroConverter,
    "json-schema": JsonSchemaConverter,
    "protobuf": ProtobufConverter,
}
_JAVA_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"
"""The only one of these converters that is available for Java. Its jars have to be in a folder of the worker's
``plugin.path``: ``io.apicurio:apicurio-registry-utils-converter:2.6.2.Final`` and its dependencies except
``org.apache.kafka``.
(3.0.9 needs ``apicurio-registry-java-sdk``, which Maven Central does not have.)
"""
WITHOUT_JAVA = ("json-schema", "protobuf")
"""Formats for which Java's converters are not available."""


def to_topic(format: str, cluster: Cluster, setting: Setting) -> dict[str, float]:
    copy = Copy(f"source-{format}", {**_FIVE_FIELDS, **_converter(format, cluster, setting)}, canonical=_sized)
    return {"records/s": source(copy, cluster, setting).rate}


def from_topic(format: str, cluster: Cluster, setting: Setting) -> dict[str, float]:
    topic = setting.input(format, lambda: _filled(format, setting))
    copy = Copy(f"sink-{format}", _converter(format, cluster, setting), topic=topic)
    return {"records/s": sink(copy, cluster, setting).rate}


def _sized(value: bytes) -> bytes:
    """Return a record's size: records of the clusters differ in topic name and schema ID, but have the same length."""
    return str(len(value)).encode()


def _converter(format: str, cluster: Cluster, setting: Setting) -> dict[str, str]:
    if format == "envelope":
        return {"value.converter": JSON}
    if cluster.name == "java":
        if format != "avro":
            raise CaseError(f"Java's converter for {format} can't be had")
        return {
            "value.converter": _JAVA_AVRO,
            "value.converter.apicurio.registry.url": setting.registry.replace("/apis/ccompat/v7", "/apis/registry/v2"),
            "value.converter.apicurio.registry.auto-register": "true",
            "value.converter.apicurio.registry.as-confluent": "true",
            "value.converter.apicurio.registry.use-id": "contentId",
            "value.converter.apicurio.registry.headers.enabled": "false",
        }
    return {
        "value.converter": CONVERTERS[format].java_name,
        "value.converter.schema.registry.url": setting.registry,
    }


def _filled(format: str, setting: Setting) -> str:
    """Make a topic of the lines as records of this format."""
    topic = setting.create_topic(setting.name(f"input-{format}"))
    converter = CONVERTERS[format]()
    converter.configure({} if format == "envelope" else {"schema.registry.url": setting.registry}, False)
    try:
        setting.produce(topic, _messages(converter, topic, setting))
    finally:
        converter.close()
    return topic


def _messages(converter: Converter, topic: str, setting: Setting) -> Iterator[bytes]:
    with setting.lines().open("rb") as lines:
        while values := [orjson.loads(line) for line in islice(lines, _CHUNK)]:
            n = len(values)
            for message in converter.from_connect_batch([topic] * n, [()] * n, [_ROW] * n, values):
                assert message is not None
                yield message


SOURCES = {f"source-{format}": partial(to_topic, format) for format in CONVERTERS}
SINKS = {f"sink-{format}": partial(from_topic, format) for format in CONVERTERS}
