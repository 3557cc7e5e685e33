"""Random Connect schemas and values are the same after the way to bytes and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from penstock.api.schema import Schema, SchemaType
from penstock.pipeline.converters import AvroConverter, JsonSchemaConverter, ProtobufConverter
from pipeline.converters.registry.connect_data import protobuf_schemas_with_values, schemas_with_values
from pipeline.converters.registry.registry_double import RegistryDouble


class RoundTrip:
    """A converter that writes and one that reads; the topic is another one for each schema."""

    def __init__(self, kind: type[Any], double: RegistryDouble, **config: str) -> None:
        self.write, self.read = kind(), kind()
        for converter in (self.write, self.read):
            converter.configure({"schema.registry.url": double.url, **config}, False)
        self.wraps = config.get("wrapper.for.nullables") == "true"
        self.topics = 0

    def __call__(self, schema: Schema, values: list[Any]) -> Schema:
        self.topics += 1
        count, topics = len(values), [f"t{self.topics}"] * len(values)
        data = self.write.from_connect_batch(topics, [()] * count, [schema] * count, values)
        assert data == [self.write.from_connect(topics[0], (), schema, value) for value in values]
        schemas, found = self.read.to_connect_batch(topics, [()] * count, data)
        assert found == values
        return schemas[0]


@pytest.fixture(scope="module")
def avro(shared: RegistryDouble) -> RoundTrip:
    pytest.importorskip("fastavro")
    return RoundTrip(AvroConverter, shared)


@given(schemas_with_values())
def test_avro(avro, pair):
    schema, values = pair
    assert avro(schema, values).with_(version=None) == schema


@pytest.fixture(scope="module")
def json_schema(shared: RegistryDouble) -> RoundTrip:
    return RoundTrip(JsonSchemaConverter, shared)


@pytest.fixture(scope="module")
def json_with_numbers(shared: RegistryDouble) -> RoundTrip:
    config = {"decimal.format": "NUMERIC", "json.fail.invalid.schema": "true"}
    return RoundTrip(JsonSchemaConverter, shared, **config)


@given(schemas_with_values())
def test_json_schema(json_schema, pair):
    schema, values = pair
    assert json_schema(schema, values).with_(version=None) == schema


@given(schemas_with_values())
def test_json_schema_with_decimals_as_numbers_and_validation(json_with_numbers, pair):
    schema, values = pair
    assert json_with_numbers(schema, values).with_(version=None) == schema


@pytest.fixture(scope="module", params=["optional.for.nullables", "wrapper.for.nullables"])
def protobuf(request: pytest.FixtureRequest, shared: RegistryDouble) -> RoundTrip:
    pytest.importorskip("grpc_tools")
    return RoundTrip(ProtobufConverter, shared, **{request.param: "true"})


@given(protobuf_schemas_with_values())
def test_protobuf(protobuf, pair):
    """Values only: what is read has tags as parameters, and messages are always optional."""
    schema, values = pair
    found = protobuf(schema, values)
    assert [field.name for field in found.fields] == [field.name for field in schema.fields]
    types = [_type_read(field.schema, protobuf.wraps) for field in schema.fields]
    assert [field.schema.type for field in found.fields] == types


def _type_read(schema: Schema, wraps: bool) -> SchemaType:
    """There is no wrapper message for a byte or a short: an optional one is read from an Int32Value, as an INT32."""
    narrow = schema.type in (SchemaType.INT8, SchemaType.INT16)
    return SchemaType.INT32 if wraps and schema.optional and narrow else schema.type
