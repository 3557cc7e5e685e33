"""Batches of structs, written column by column, are byte for byte what the formats' own libraries write one by one;
and tables are what their rows are.
"""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import BOOLEAN, FLOAT64, INT32, INT64, OPTIONAL_STRING, STRING, Schema, array, struct
from penstock.pipeline.converters import AvroConverter, JsonConverter, JsonSchemaConverter, ProtobufConverter
from penstock.pipeline.converters.registry.mapping.pieces import joined
from pipeline.converters.registry.connect_data import protobuf_schemas_with_values, schemas_with_values
from pipeline.converters.registry.registry_double import RegistryDouble

HEAD = b"\0head"


def configured(kind: type[Any], shared: RegistryDouble, **config: str) -> Any:
    converter = kind()
    converter.configure({"schema.registry.url": shared.url, **config}, False)
    return converter


@pytest.fixture(scope="module")
def avro(shared: RegistryDouble) -> Any:
    pytest.importorskip("fastavro")
    return configured(AvroConverter, shared)


@pytest.fixture(scope="module")
def protobuf(shared: RegistryDouble) -> Any:
    pytest.importorskip("grpc_tools")
    return configured(ProtobufConverter, shared)


@pytest.fixture(scope="module", params=["optional.for.nullables", "wrapper.for.nullables"])
def nullable_protobuf(request: pytest.FixtureRequest, shared: RegistryDouble) -> Any:
    pytest.importorskip("grpc_tools")
    return configured(ProtobufConverter, shared, **{request.param: "true"})


@pytest.fixture(scope="module")
def jsons(shared: RegistryDouble) -> list[Any]:
    without_schemas = configured(JsonConverter, shared, **{"schemas.enable": "false"})
    return [without_schemas, configured(JsonConverter, shared), configured(JsonSchemaConverter, shared)]


def check(converter: Any, schema: Schema, values: list[dict[str, Any]]) -> None:
    writer = converter.writer(schema, converter.target(schema))
    expected = [writer.one(HEAD, value) for value in values]
    names = [field.name for field in schema.fields]
    table = Table(names, [[value[name] for value in values] for name in names])
    for each in (values, table):
        # Not by `all`, which would write one by one what its columns can't.
        assert joined([HEAD, *writer._columns(each)], len(values)) == expected
        assert writer.all(HEAD, each) == expected


def repeated(pair: tuple[Schema, list[Any]]) -> list[tuple[Schema, list[Any]]]:
    """Yield the values as they are, and each one repeated: columns without and with constants."""
    schema, values = pair
    return [(schema, values), (schema, values[:1] * 3)]


@given(schemas_with_values())
def test_avro(avro, pair):
    for each in repeated(pair):
        check(avro, *each)


@given(protobuf_schemas_with_values())
def test_protobuf(nullable_protobuf, pair):
    for each in repeated(pair):
        check(nullable_protobuf, *each)


LIMITS = {
    INT32: [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2**20, 2**31 - 1, -(2**31)],
    INT64: [0, 2**13, 2**27 - 1, 2**27, 2**28, 2**41, 2**42, 2**49, 2**63 - 1, -(2**63), -(2**41) - 1, -1],
    STRING: ["", "a", "\0", "ü", "\U0001f600", "x" * 63, "x" * 64, "x" * 127, "x" * 128, "x" * 20_000, '",', "\\"],
    FLOAT64: [0.0, -0.0, 1.5, float("inf"), float("nan"), 5e-324, 1e308, -1.0, 0.0, 1e-3, 1e7, 123456.789],
}


@pytest.mark.parametrize("format", ["avro", "protobuf"])
@pytest.mark.parametrize("schema", LIMITS, ids=lambda schema: schema.type.name)
def test_values_at_the_limits(request, format, schema):
    converter = request.getfixturevalue(format)
    optional = schema.with_(optional=True)
    record = struct(("a", schema), ("b", optional), ("c", array(schema)), name="Limits")
    column = LIMITS[schema]
    check(converter, record, [{"a": v, "b": v, "c": [v] * (i % 3)} for i, v in enumerate(column)])
    check(converter, record, [{"a": v, "b": None, "c": column} for v in column])
    for value in column:
        check(converter, record, [{"a": value, "b": value, "c": [value]}] * 2)


@pytest.mark.parametrize("format", ["avro", "protobuf"])
@pytest.mark.parametrize(("schema", "bad"), [(INT32, 2**31), (INT32, True), (INT32, "1"), (STRING, 1), (FLOAT64, 1)])
def test_a_value_that_does_not_fit_is_found_in_a_batch(request, format, schema, bad):
    converter = request.getfixturevalue(format)
    record = struct(("a", schema), name="Bad")
    good = LIMITS[schema][1]
    for column in ([bad], [good, bad], [good, bad, good]):
        table = Table(["a"], [column])
        for values in (table, table.rows()):
            count = len(column)
            with pytest.raises(DataError):
                converter.from_connect_batch(["t"] * count, [()] * count, [record] * count, values)


ODD = ["", '"', '",', '","', '\\","', "\\", ',"', '"",', "\x1f", "\x7f", "ü", "\U0001f600", "null", "1,2", '",null,"']


@given(st.lists(st.sampled_from(ODD) | st.text(st.characters(exclude_categories=("Cs",)), max_size=6), min_size=1))
def test_a_table_as_json_is_what_its_rows_are(jsons, texts):
    count = len(texts)
    table = Table(
        ['na"me', "n", "maybe", "x", "flag", "same"],
        [
            texts,
            [i - 3 for i in range(count)],
            [None if i % 2 else text for i, text in enumerate(texts)],
            [i + 0.5 for i in range(count)],
            [i % 3 == 0 for i in range(count)],
            ["one"] * count,
        ],
    )
    kinds = (STRING, INT32, OPTIONAL_STRING, FLOAT64, BOOLEAN, STRING)
    schema = struct(*zip(table.names, kinds, strict=True))
    columns = ["t"] * count, [()] * count, [schema] * count
    for converter in jsons:
        found = converter.from_connect_batch(*columns, table)
        assert found == converter.from_connect_batch(*columns, table.rows())
    assert [orjson.loads(text) for text in jsons[0].from_connect_batch(*columns, table)] == table.rows()
