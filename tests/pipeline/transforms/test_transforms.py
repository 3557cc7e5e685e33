"""Transforms as they are used: lists in, lists out. What they do in all detail is in ``test_golden``."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.errors import ConfigError, DataError, SchemaBuilderError
from penstock.api.schema import (
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_INT32,
    OPTIONAL_INT64,
    OPTIONAL_STRING,
    STRING,
    TIMESTAMP,
    array,
    decimal,
    struct,
)
from penstock.pipeline import transforms
from pipeline.transforms.applying import DAY, applied, values_of

LINE = struct(("line", STRING))
ORDER = struct(("id", INT64), ("price", FLOAT64), ("note", OPTIONAL_STRING), name="Order", version=2)
ORDERS = [{"id": 1, "price": 1.5, "note": "x"}, {"id": 2, "price": -2.75}]


def test_hoist_field():
    batch = applied(transforms.HoistFieldValue(), Batch.of("t", ["a", "b"], value_schema=STRING), field="line")
    assert values_of(batch) == (LINE, [{"line": "a"}, {"line": "b"}])
    assert batch.keys == [None, None]


def test_hoist_a_key_that_is_not_there():
    batch = applied(transforms.HoistFieldKey(), Batch.of("t", ["a"]), field="k")
    assert (batch.keys, batch.key_schemas) == ([{"k": None}], [None])


def test_insert_a_static_field():
    batch = applied(
        transforms.InsertFieldValue(), Batch.of("t", ORDERS, value_schema=ORDER), static_field="s!", static_value="v"
    )
    assert values_of(batch) == (
        struct(("id", INT64), ("price", FLOAT64), ("note", OPTIONAL_STRING), ("s", STRING), name="Order", version=2),
        [{**ORDERS[0], "s": "v"}, {**ORDERS[1], "s": "v"}],
    )


def test_insert_where_a_record_comes_from():
    sink = Batch.of(
        ["t", "u"],
        [{"a": 1}, {"a": 2}],
        value_schema=struct(("a", INT32)),
        partitions=[0, 1],
        timestamps=[1709164800000, None],
        origin=SinkOrigin(["t", "u"], [0, 1], [5, 6], ["CreateTime"] * 2),
    )
    batch = applied(
        transforms.InsertFieldValue(),
        sink,
        topic_field="t",
        partition_field="p",
        offset_field="o!",
        timestamp_field="at",
    )
    assert batch.value_schemas[0] == struct(
        ("a", INT32),
        ("t", OPTIONAL_STRING),
        ("p", OPTIONAL_INT32),
        ("o", INT64),
        ("at", TIMESTAMP.with_(optional=True)),
    )
    assert batch.values == [
        {"a": 1, "t": "t", "p": 0, "o": 5, "at": DAY},
        {"a": 2, "t": "u", "p": 1, "o": 6, "at": None},
    ]


def test_no_offset_of_a_source_record():
    message = r"Only SinkRecord supported for \[field insertion\], found: org.apache.kafka.connect.source.SourceRecord"
    with pytest.raises(DataError, match=message):
        applied(transforms.InsertFieldValue(), Batch.of("t", [{}]), offset_field="o")


def test_a_field_inserted_twice():
    with pytest.raises(SchemaBuilderError, match="Cannot create field because of field name duplication line"):
        applied(transforms.InsertFieldValue(), Batch.of("t", [{"line": "a"}], value_schema=LINE), topic_field="line")


def test_entries_of_maps_are_in_the_order_of_a_hash_map():
    values = [{"zeta": 2, "alpha": 3, "k": 1}, {"k": 1}]
    batch = applied(transforms.InsertFieldValue(), Batch.of("t", values), static_field="s", static_value="v")
    assert [list(value) for value in batch.values] == [["zeta", "k", "s", "alpha"], ["k", "s"]]


def test_nulls_pass_with_their_schemas():
    schemas = [LINE, None, LINE, None]
    batch = Batch.of("t", [{"line": "1"}, None, None, {"line": "x"}], value_schema=schemas)
    changed = applied(transforms.InsertFieldValue(), batch, topic_field="t")
    assert changed.values == [{"line": "1", "t": "t"}, None, None, {"line": "x", "t": "t"}]
    with_topic = struct(("line", STRING), ("t", OPTIONAL_STRING))
    assert changed.value_schemas == [with_topic, None, LINE, None]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"exclude": "price,note"}, (struct(("id", INT64), name="Order", version=2), [{"id": 1}, {"id": 2}])),
        (
            {"include": "id", "renames": "id:key"},
            (struct(("key", INT64), name="Order", version=2), [{"key": 1}, {"key": 2}]),
        ),
    ],
)
def test_replace_field(config, expected):
    assert (
        values_of(applied(transforms.ReplaceFieldValue(), Batch.of("t", ORDERS, value_schema=ORDER), **config))
        == expected
    )


def test_cast_fields():
    batch = applied(transforms.CastValue(), Batch.of("t", ORDERS, value_schema=ORDER), spec="id:int8,price:string")
    assert values_of(batch) == (
        struct(("id", INT8), ("price", STRING), ("note", OPTIONAL_STRING), name="Order", version=2),
        [{"id": 1, "price": "1.5", "note": "x"}, {"id": 2, "price": "-2.75"}],
    )


def test_cast_whole_values():
    batch = applied(transforms.CastValue(), Batch.of("t", ["70000", "-1"], value_schema=STRING), spec="int32")
    assert values_of(batch) == (INT32, [70000, -1])
    assert applied(transforms.CastKey(), Batch.of("t", [0, 0], keys=[300, 1.9]), spec="int8").keys == [44, 1]


@pytest.mark.parametrize(("text", "target"), [("x", "int32"), ("128", "int8"), (" 1", "int64"), ("1_0", "float32")])
def test_cast_what_is_no_number(text, target):
    with pytest.raises(DataError) as caught:
        applied(transforms.CastValue(), Batch.of("t", [text], value_schema=STRING), spec=target)
    assert str(caught.value) == f"Value ({text}) was out of range for requested data type"


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INT64, 1152921573326323713, 2.0**60 + 2.0**37),
        (STRING, " 1.0000000596046447753906251f", 1 + 2.0**-23),
        (STRING, "-1.0000000596046447753906250", -1.0),
        (STRING, "1e99999999999999999999", float("inf")),
        (decimal(25), Decimal("1.0000000596046447753906251"), 1 + 2.0**-23),
    ],
)
def test_numbers_are_rounded_to_float32_once(schema, value, expected):
    batch = Batch.of("t", [value] * 2, value_schema=schema)
    assert applied(transforms.CastValue(), batch, spec="float32").values == [expected] * 2


def test_schemaless_float32_prints_as_one():
    assert applied(transforms.CastValue(), Batch.of("t", ["1.1"]), spec="float32").values == [1.1]


def test_flatten():
    nested = struct(("o", struct(("line", STRING), ("i", struct(("n", INT32))), optional=True)), ("x", INT32))
    values = [{"o": {"line": "a", "i": {"n": 1}}, "x": 2}, {"o": None, "x": 3}]
    batch = applied(transforms.FlattenValue(), Batch.of("t", values, value_schema=nested), delimiter="-")
    schema, flat = values_of(batch)
    assert schema == struct(("o-line", OPTIONAL_STRING), ("o-i-n", OPTIONAL_INT32), ("x", INT32))
    assert flat == [{"o-line": "a", "o-i-n": 1, "x": 2}, {"x": 3}]
    assert applied(transforms.FlattenValue(), Batch.of("t", [{"a": {"b": {"c": 1}}}])).values == [{"a.b.c": 1}]


def test_extract_a_nested_field():
    value = {"a.b": {"c": 1}}
    config = {"field": "`a.b`.c", "field.syntax.version": "V2"}
    assert applied(transforms.ExtractFieldValue(), Batch.of("t", [value, None]), **config).values == [1, None]
    schema = struct(("a.b", struct(("c", OPTIONAL_INT64))))
    assert values_of(
        applied(transforms.ExtractFieldValue(), Batch.of("t", [value], value_schema=schema), **config)
    ) == (OPTIONAL_INT64, [1])


def test_extract_a_field_that_is_not_there():
    with pytest.raises(ValueError, match=r"^Unknown field: nope$") as caught:
        applied(transforms.ExtractFieldValue(), Batch.of("t", [{}], value_schema=LINE), field="nope")
    assert caught.value.java_name == "java.lang.IllegalArgumentException"


def test_defaults_replace_nulls_unless_configured_otherwise():
    schema = struct(("n", INT32.with_(optional=True, default=7)))
    batch = Batch.of("t", [{"n": None}, {}, {"n": 1}], value_schema=schema)
    assert applied(transforms.ExtractFieldValue(), batch, field="n").values == [7, 7, 1]
    kept = {"field": "n", "replace.null.with.default": "false"}
    assert applied(transforms.ExtractFieldValue(), batch, **kept).values == [None, None, 1]


def test_maps_are_masked_in_a_batch_as_each_alone():
    kinds = [1, 2.5, "x", True, None, [1], {"k": 1}, Decimal("1.5"), DAY]
    maps = [{"b": i, "a": value, "c": kinds[-i]} for i, value in enumerate(kinds)] + [{"d": 1}, {"a": 1}]

    def masked(values):
        return applied(transforms.MaskFieldValue(), Batch.of("t", values), fields="a,c").values

    given = [dict(each) for each in maps]
    assert list(map(repr, masked(maps))) == [repr(masked([each])[0]) for each in maps]
    assert maps == given


def test_mask():
    masked = applied(transforms.MaskFieldValue(), Batch.of("t", ORDERS, value_schema=ORDER), fields="price,note")
    assert masked.values == [{"id": 1, "price": 0.0, "note": ""}, {"id": 2, "price": 0.0}]
    replaced = applied(
        transforms.MaskFieldValue(), Batch.of("t", [{"a": [1], "b": "x"}]), fields="b", replacement="***"
    )
    assert replaced.values == [{"a": [1], "b": "***"}]
    columns = Table.of({"a": [1, True, None, "x"], "b": [2, 3, 4, 5]})
    masked = applied(transforms.MaskFieldValue(), Batch.of("t", columns), fields="a,b")
    assert list(map(repr, masked.values)) == list(
        map(repr, [{"a": 0, "b": 0}, {"a": False, "b": 0}, {"a": None, "b": 0}, {"a": "", "b": 0}])
    )


@pytest.mark.parametrize("form", [list, lambda rows: Table.of({"a": [row["a"] for row in rows]})])
@pytest.mark.parametrize("schema", [None, struct(("a", array(INT32)))])
def test_a_list_that_masks_another_is_that_of_one_record(form, schema):
    batch = Batch.of("t", form([{"a": [1]}, {"a": [2]}]), value_schema=schema)
    masked = applied(transforms.MaskFieldValue(), batch, fields="a").values
    masked[0]["a"].append(3)
    assert masked == [{"a": [3]}, {"a": []}]
    assert applied(transforms.MaskFieldValue(), batch, fields="a").values == [{"a": []}] * 2


def test_value_to_key():
    batch = applied(transforms.ValueToKey(), Batch.of("t", ORDERS, value_schema=ORDER), fields="note,id")
    assert batch.key_schemas == [struct(("note", OPTIONAL_STRING), ("id", INT64))] * 2
    assert batch.keys == [{"note": "x", "id": 1}, {"note": None, "id": 2}]
    with pytest.raises(DataError, match=r"^Field does not exist: nope$"):
        applied(transforms.ValueToKey(), Batch.of("t", ORDERS, value_schema=ORDER), fields="nope")


def test_value_to_key_of_nested_fields():
    config = {"fields": "o.`a.b`,id", "field.syntax.version": "v2"}
    values = [{"o": {"a.b": 1}, "id": 7}, {"o": None, "id": 8}]
    maps = applied(transforms.ValueToKey(), Batch.of("t", values), **config)
    assert maps.keys == [{"o.`a.b`": 1, "id": 7}, {"o.`a.b`": None, "id": 8}]
    inner = struct(("a.b", OPTIONAL_INT64), optional=True)
    batch = Batch.of("t", values, value_schema=struct(("o", inner), ("id", INT64)))
    structs = applied(transforms.ValueToKey(), batch, **config)
    assert structs.key_schemas == [struct(("o.`a.b`", OPTIONAL_INT64), ("id", INT64))] * 2
    assert structs.keys == maps.keys
    columns = Table.of({"o": [each["o"] for each in values], "id": [7, 8]})
    assert applied(transforms.ValueToKey(), Batch.of("t", columns), **config).keys == maps.keys
    whole = {"fields": "o.a", "field.syntax.version": "V1"}
    assert applied(transforms.ValueToKey(), Batch.of("t", [{"o.a": 3}]), **whole).keys == [{"o.a": 3}]


def test_value_to_key_of_nested_fields_that_do_not_exist():
    nested = {"field.syntax.version": "V2"}
    schema = struct(("o", struct(("a", INT64), optional=True)), ("id", INT64))
    batch = Batch.of("t", [{"o": None, "id": 1}], value_schema=schema)
    with pytest.raises(DataError, match=r"^Field does not exist: o\.b$"):
        applied(transforms.ValueToKey(), batch, fields="o.b", **nested)
    with pytest.raises(DataError, match=r"^Cannot look up fields on non-struct type$"):
        applied(transforms.ValueToKey(), batch, fields="id.b", **nested)
    with pytest.raises(DataError, match=r'^Invalid value: null used for required field: "o\.a", schema type: INT64$'):
        applied(transforms.ValueToKey(), batch, fields="o.a", **nested)
    with pytest.raises(DataError, match=r"^Only Map objects supported in absence of schema for \[nested field access"):
        applied(transforms.ValueToKey(), Batch.of("t", [{"o": 1}]), fields="o.b", **nested)
    with pytest.raises(ConfigError, match=r"^Incomplete backtick pair in path: \[`o\.b\]"):
        applied(transforms.ValueToKey(), batch, fields="`o.b", **nested)


def test_name_and_version_of_a_schema():
    config = {"schema.name": "my.Line", "schema.version": "3"}
    batch = applied(transforms.SetSchemaMetadataValue(), Batch.of("t", [{"line": "a"}], value_schema=LINE), **config)
    assert values_of(batch) == (LINE.with_(name="my.Line", version=3), [{"line": "a"}])


@pytest.mark.parametrize("name", [name for name in transforms.__all__ if name.endswith(("Key", "Value"))])
def test_an_empty_batch_stays_empty(name):
    config = {
        "field": "a", "fields": "a", "headers": "b", "operation": "move", "spec": "a:int8", "topic.field": "t",
        "schema.name": "n", "target.type": "unix", "renames": "a:b",
    }  # fmt: skip
    transform = getattr(transforms, name)()
    transform.configure(config)
    assert len(transform.apply_batch(Batch.of("t", []))) == 0
