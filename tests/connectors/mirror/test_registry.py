"""Records of a Schema Registry in a mirrored topic: not a byte differs, and who reads the target finds their schemas by
the ids in them.
"""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from connectors.mirror.test_source import contents, task_config
from penstock.api.errors import DataError
from penstock.api.schema import INT64, OPTIONAL_STRING, STRING, struct
from penstock.connectors.mirror.source.task import MirrorSourceTask
from penstock.pipeline.converters import AvroConverter
from penstock.pipeline.converters.registry.subjects import RECORD
from support.kafka.client import Kafka, Record
from support.mirror.setup import aliases
from support.tasks.runs import TaskRun, eventually

avro = pytest.importorskip("confluent_kafka.schema_registry.avro")
from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: E402
from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: E402

pytestmark = pytest.mark.integration


def converter(registry_url: str, is_key: bool = False, **settings: str) -> AvroConverter:
    made = AvroConverter()
    named = {name.replace("_", "."): value for name, value in settings.items()}
    made.configure({"schema.registry.url": registry_url, **named}, is_key)
    return made


def test_ids_are_those_of_the_source(kafka: Kafka, bootstrap: str, registry_url: str) -> None:
    source, target = aliases()
    topic, name = kafka.create_topic(), f"org.example.User{uuid.uuid4().hex[:8]}"
    remote = f"{source}.{topic}"
    key = converter(registry_url, is_key=True).from_connect(topic, (), STRING, "k")
    by_topic = converter(registry_url)
    by_record = converter(registry_url, value_subject_name_strategy=RECORD)
    older = struct(("id", INT64), name=name)
    newer = struct(("id", INT64), ("note", OPTIONAL_STRING), name=name)
    rows: list[Any] = [(older, {"id": 1}), (newer, {"id": 2, "note": "n"}), (None, None)]
    values = [by_topic.from_connect(topic, (), schema, value) for schema, value in rows]
    # The same ids under the record's subject, as which a reader of topics of any name looks for them.
    assert [by_record.from_connect(topic, (), schema, value) for schema, value in rows] == values
    kafka.produce(topic, [Record(value, key) for value in values])

    with TaskRun(MirrorSourceTask, bootstrap, task_config(bootstrap, topic, source, target)):
        eventually(lambda: len(contents(kafka, remote)) == len(values))
    assert contents(kafka, remote) == contents(kafka, topic)

    mirrored = [record.value for record in kafka.read_all(remote)]
    read = avro.AvroDeserializer(SchemaRegistryClient({"url": registry_url}))
    context = SerializationContext(remote, MessageField.VALUE)
    assert [read(value, context) for value in mirrored] == [value for _, value in rows]
    assert [by_record.to_connect(remote, (), value)[1] for value in mirrored] == [value for _, value in rows]
    # Java's converter asks for the version in the subject that it derives from the topic, and so does this one.
    with pytest.raises(DataError, match=f"subject {remote}-value does not have this schema"):
        by_topic.to_connect(remote, (), mirrored[0])
