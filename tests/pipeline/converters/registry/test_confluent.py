"""The other side of a topic is Confluent's own serializers and deserializers, the registry a real one."""

from __future__ import annotations

import base64
import datetime as dt
import uuid
from decimal import Decimal
from typing import Any

import pytest

from penstock.api.converter import Converter
from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT64,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIMESTAMP,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.protobuf.files import parse

avro = pytest.importorskip("confluent_kafka.schema_registry.avro")
json_schema = pytest.importorskip("confluent_kafka.schema_registry.json_schema")
protobuf = pytest.importorskip("confluent_kafka.schema_registry.protobuf")
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient  # noqa: E402
from confluent_kafka.serialization import MessageField, SerializationContext  # noqa: E402

pytestmark = pytest.mark.integration

MOMENT = dt.datetime(2024, 2, 29, 12, 30, 0, 123000, tzinfo=dt.UTC)
SCHEMA = struct(
    ("id", INT64), ("name", STRING), ("price", FLOAT64), ("paid", BOOLEAN), ("note", OPTIONAL_STRING),
    ("amount", decimal(2)), ("day", DATE), ("at", TIMESTAMP), ("tags", array(STRING)),
    ("counts", map_of(STRING, INT32)), ("raw", BYTES), ("inner", struct(("x", INT32), name="org.example.Inner")),
    name="org.example.Order",
)  # fmt: skip
VALUE = {
    "id": 2**40, "name": "é😀", "price": 1.5, "paid": True, "note": None, "amount": Decimal("12.34"),
    "day": dt.date(2024, 2, 29), "at": MOMENT, "tags": ["a", "b"], "counts": {"x": 1}, "raw": b"\0\xff",
    "inner": {"x": -1},
}  # fmt: skip


JSON = {
    "id": 2**40, "name": "é😀", "price": 1.5, "paid": True, "note": None, "amount": "BNI=", "day": 19782,
    "at": 1709209800123, "tags": ["a", "b"], "counts": {"x": 1}, "raw": "AP8=", "inner": {"x": -1},
}  # fmt: skip


@pytest.fixture
def topic() -> str:
    return f"orders-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def client(registry_url: str) -> SchemaRegistryClient:
    return SchemaRegistryClient({"url": registry_url})


def converter(kind: type[Converter], registry_url: str, **settings: str) -> Any:
    made = kind()
    made.configure({"schema.registry.url": registry_url, **settings}, is_key=False)
    return made


def context(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_confluents_deserializer_reads_our_avro(registry_url, client, topic):
    data = converter(AvroConverter, registry_url).from_connect(topic, (), SCHEMA, VALUE)
    assert avro.AvroDeserializer(client)(data, context(topic)) == VALUE


def test_we_read_the_avro_of_confluents_serializer(registry_url, client, topic):
    text = converter(AvroConverter, registry_url).target(SCHEMA).text.text
    data = avro.AvroSerializer(client, text)(VALUE, context(topic))
    schema, value = converter(AvroConverter, registry_url).to_connect(topic, (), data)
    assert value == VALUE
    assert (schema.name, schema.version) == ("org.example.Order", 1)
    # Ids are found again: nothing is registered twice.
    assert converter(AvroConverter, registry_url).from_connect(topic, (), SCHEMA, VALUE) == data


def test_avro_schemas_may_refer_to_others(registry_url, client, topic):
    inner = '{"type":"record","name":"Inner","namespace":"org.other","fields":[{"name":"x","type":"int"}]}'
    client.register_schema(f"{topic}-inner", Schema(inner, "AVRO"))
    outer = (
        '{"type":"record","name":"Outer","namespace":"org.other","fields":[{"name":"one","type":"Inner"},'
        '{"name":"many","type":{"type":"array","items":"org.other.Inner"}}]}'
    )
    references = [SchemaReference("org.other.Inner", f"{topic}-inner", 1)]
    value = {"one": {"x": 1}, "many": [{"x": 2}]}
    data = avro.AvroSerializer(client, Schema(outer, "AVRO", references))(value, context(topic))
    schema, found = converter(AvroConverter, registry_url).to_connect(topic, (), data)
    assert found == value
    assert schema.field("one").schema.name == "org.other.Inner"


def test_each_avro_record_is_read_with_its_writers_schema(registry_url, topic):
    older = struct(("id", INT64), name="org.example.Thing")
    newer = struct(("id", INT64), ("name", STRING.with_(optional=True)), name="org.example.Thing")
    ours = converter(AvroConverter, registry_url)
    data = ours.from_connect_batch(
        [topic] * 3, [()] * 3, [older, newer, older], [{"id": 1}, {"id": 2, "name": "b"}, {"id": 3}]
    )
    schemas, values = converter(AvroConverter, registry_url).to_connect_batch([topic] * 3, [()] * 3, data)
    assert values == [{"id": 1}, {"id": 2, "name": "b"}, {"id": 3}]
    assert [schema.version for schema in schemas] == [1, 2, 1]


def test_an_incompatible_schema_is_refused_in_the_registrys_words(registry_url, topic):
    ours = converter(AvroConverter, registry_url)
    ours.from_connect(topic, (), struct(("id", INT64), name="org.example.Thing"), {"id": 1})
    with pytest.raises(DataError, match=rf"subject {topic}-value.*HTTP status 409"):
        ours.from_connect(topic, (), struct(("id", STRING), name="org.example.Thing"), {"id": "x"})


def test_confluents_deserializer_reads_and_checks_our_json(registry_url, client, topic):
    ours = converter(JsonSchemaConverter, registry_url)
    data = ours.from_connect(topic, (), SCHEMA, VALUE)
    text = ours.target(SCHEMA).text.text
    assert json_schema.JSONDeserializer(text, schema_registry_client=client)(data, context(topic)) == JSON


def test_we_read_the_json_of_confluents_serializer(registry_url, client, topic):
    ours = converter(JsonSchemaConverter, registry_url)
    text = ours.target(SCHEMA).text.text
    serializer = json_schema.JSONSerializer(text, client, conf={"auto.register.schemas": True})
    data = serializer(JSON, context(topic))
    schema, value = ours.to_connect(topic, (), data)
    assert value == VALUE
    assert schema == SCHEMA.with_(version=1)
    assert ours.from_connect(topic, (), SCHEMA, VALUE)[:5] == data[:5]


def test_json_schemas_may_refer_to_others(registry_url, client, topic):
    inner = '{"$id":"inner.json","title":"Inner","type":"object","properties":{"x":{"type":"integer"}}}'
    client.register_schema(f"{topic}-inner", Schema(inner, "JSON"))
    outer = (
        '{"title":"Outer","type":"object","properties":{"one":{"$ref":"inner.json"},'
        '"many":{"type":"array","items":{"$ref":"#/definitions/n"}}},"definitions":{"n":{"type":"number"}}}'
    )
    references = [SchemaReference("inner.json", f"{topic}-inner", 1)]
    value = {"one": {"x": 1}, "many": [1.5]}
    serializer = json_schema.JSONSerializer(Schema(outer, "JSON", references), client)
    schema, found = converter(JsonSchemaConverter, registry_url).to_connect(
        topic, (), serializer(value, context(topic))
    )
    assert found == value
    assert schema.field("one").schema.name == "Inner"


def message_class(ours: Any, schema: Any) -> Any:
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(ours.target(schema).parsed.descriptor)


PLAIN = struct(
    ("id", INT64), ("name", STRING), ("price", FLOAT64), ("paid", BOOLEAN), ("tags", array(STRING)), ("raw", BYTES),
    ("inner", struct(("x", INT32), name="Inner")), name="org.example.Order",
)  # fmt: skip
PLAIN_VALUE = {field.name: VALUE[field.name] for field in PLAIN.fields}


class SerializingClient(SchemaRegistryClient):
    """Confluent's registry gives Protobuf schemas as descriptors if it is asked to (``format=serialized``), which
    its Python client relies on; this one gives the text always.
    """

    def get_schema(self, *arguments: Any, **more: Any) -> Schema:
        schema = super().get_schema(*arguments, **more)
        file = parse(schema.schema_str, {})[-1]
        return Schema(base64.b64encode(file.SerializeToString()).decode(), "PROTOBUF")


def test_confluents_deserializer_reads_our_protobuf(registry_url, topic):
    client = SerializingClient({"url": registry_url})
    ours = converter(ProtobufConverter, registry_url)
    data = ours.from_connect(topic, (), PLAIN, PLAIN_VALUE)
    found = protobuf.ProtobufDeserializer(message_class(ours, PLAIN), {"use.deprecated.format": False}, client)(
        data, context(topic)
    )
    assert (found.id, found.name, found.price, list(found.tags), found.inner.x) == (2**40, "é😀", 1.5, ["a", "b"], -1)


def test_we_read_the_protobuf_of_confluents_serializer(registry_url, client, topic):
    ours = converter(ProtobufConverter, registry_url)
    kind = message_class(ours, PLAIN)
    message = kind(id=2**40, name="é😀", price=1.5, paid=True, tags=["a", "b"], raw=b"\0\xff", inner={"x": -1})
    serializer = protobuf.ProtobufSerializer(kind, client, {"use.deprecated.format": False})
    data = serializer(message, context(topic))
    schema, value = ours.to_connect(topic, (), data)
    assert value == PLAIN_VALUE
    assert (schema.name, schema.version) == ("Order", 1)


def test_protobufs_logical_types_by_way_of_a_real_registry(registry_url, topic):
    ours = converter(ProtobufConverter, registry_url)
    data = ours.from_connect(topic, (), SCHEMA, VALUE)
    assert converter(ProtobufConverter, registry_url).to_connect(topic, (), data)[1] == {**VALUE, "note": ""}


def test_protobuf_schemas_may_import_others(registry_url, client, topic):
    client.register_schema(
        f"{topic}-inner", Schema('syntax = "proto3"; package p; message In { int32 x = 1; }', "PROTOBUF")
    )
    text = 'syntax = "proto3"; package p; import "in.proto"; message Out { In one = 1; }'
    references = [SchemaReference("in.proto", f"{topic}-inner", 1)]
    number = client.register_schema(f"{topic}-value", Schema(text, "PROTOBUF", references))
    data = b"\0" + number.to_bytes(4, "big") + b"\0" + b"\x0a\x02\x08\x05"
    assert converter(ProtobufConverter, registry_url).to_connect(topic, (), data)[1] == {"one": {"x": 5}}
