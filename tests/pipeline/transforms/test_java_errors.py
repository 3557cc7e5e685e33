"""Errors, with their causes, that Java's transforms throw for records that have passed others."""

from __future__ import annotations

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import DataError, SchemaBuilderError
from penstock.api.schema import STRING, TIMESTAMP, array, map_of, struct
from penstock.pipeline import transforms
from penstock.pipeline.trace import headline
from penstock.values.logical import moment_of
from pipeline.transforms.applying import applied


@pytest.mark.parametrize(
    ("transform", "config"),
    [
        (transforms.CastValue, {"spec": "a:string"}),
        (transforms.FlattenValue, {}),
        (transforms.HeaderFromValue, {"fields": "a", "headers": "h", "operation": "move"}),
        (transforms.HoistFieldValue, {"field": "f"}),
        (transforms.InsertFieldValue, {"topic_field": "t"}),
        (transforms.MaskFieldValue, {"fields": "a"}),
        (transforms.ReplaceFieldValue, {"exclude": "a"}),
        (transforms.SetSchemaMetadataValue, {"schema_name": "n"}),
        (transforms.TimestampConverterValue, {"field": "a", "target_type": "unix"}),
        (transforms.ValueToKey, {"fields": "left_null"}),
    ],
)
def test_a_required_field_that_was_left_null_is_found_when_the_struct_is_copied(transform, config):
    given = Batch.of("t", [{"a": moment_of(1)}], value_schema=struct(("a", TIMESTAMP)), partitions=[None])
    batch = applied(transforms.InsertFieldValue(), given, partition_field="left_null!")
    assert batch.values == [{"a": moment_of(1), "left_null": None}]
    with pytest.raises(DataError, match=r'null used for required field: "left_null", schema type: INT32'):
        applied(transform(), batch, **config)


@pytest.mark.parametrize(
    ("schema", "value", "what"),
    [
        (array(STRING), ["a", None], "element of array"),
        (array(array(STRING)), [["a"], [None]], "element of array element of array"),
        (map_of(STRING, STRING), {"a": None}, "value of map"),
    ],
)
def test_a_struct_takes_no_list_in_with_a_null_that_its_schema_has_not(schema, value, what):
    expected = f'Invalid value: null used for required {what} field: "f", schema type: STRING'
    with pytest.raises(DataError) as caught:
        applied(transforms.HoistFieldValue(), Batch.of("t", [value], value_schema=schema), field="f")
    assert str(caught.value) == expected


@pytest.mark.parametrize(
    ("text", "target", "cause"),
    [
        ("x", "int32", 'For input string: "x"'),
        ("128", "int8", 'Value out of range. Value:"128" Radix:10'),
        ("99999999999", "int16", 'For input string: "99999999999"'),
        (" x ", "float64", 'For input string: "x"'),
        (" ", "float32", "empty String"),
    ],
)
def test_the_cause_says_why_a_text_is_no_number(text, target, cause):
    with pytest.raises(DataError) as caught:
        applied(transforms.CastValue(), Batch.of("t", [text], value_schema=STRING), spec=target)
    assert headline(caught.value.__cause__) == f"java.lang.NumberFormatException: {cause}"


def test_a_day_that_was_cast_is_no_day():
    batch = applied(transforms.CastValue(), Batch.of("t", [moment_of(7)], value_schema=TIMESTAMP), spec="int8")
    assert (batch.values, batch.value_schemas[0].name) == ([7], TIMESTAMP.name)
    assert applied(transforms.CastValue(), batch, spec="string").values == ["7"]
    with pytest.raises(ValueError, match=r"class java\.lang\.Byte cannot be cast to class java\.util\.Date \(java"):
        applied(transforms.CastValue(), batch, spec="int16")


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("***", 'Character * is neither a decimal digit number, decimal point, nor "e" notation exponential mark.'),
        ("1.2.3", "Character array contains more than one decimal point."),
        (".", "No digits found."),
        ("1e", "Character array is missing \"exponent\" mark 'e' or 'E'."),
        ("1ex", "Not a digit."),
        ("1e99999999999999999999", "Too many nonzero exponent digits."),
        ("1e3000000000", "Exponent overflow."),
        ("0.1e-2147483648", "Scale out of range."),
        ("no number at all, and long", "Character array is missing \"exponent\" mark 'e' or 'E'."),
    ],
)
def test_the_cause_says_why_a_replacement_is_no_number(text, cause):
    with pytest.raises(DataError, match=r" \(class java\.lang\.String\) to a number$") as caught:
        applied(transforms.MaskFieldValue(), Batch.of("t", [{"a": 1}]), fields="a", replacement=text)
    assert headline(caught.value.__cause__) == f"java.lang.NumberFormatException: {cause}"


def test_the_cause_says_why_a_default_is_none_of_the_type():
    day = TIMESTAMP.with_(default=moment_of(7))
    with pytest.raises(SchemaBuilderError, match="Invalid default value") as caught:
        applied(transforms.CastValue(), Batch.of("t", [moment_of(7)], value_schema=day), spec="float32")
    assert str(caught.value.__cause__) == (
        f'Invalid Java object for schema "{TIMESTAMP.name}" with type FLOAT32: class java.lang.Float for value'
    )


def test_the_cause_says_why_a_text_is_no_timestamp():
    config = {"target_type": "unix", "format": "yyyy"}
    with pytest.raises(DataError) as caught:
        applied(transforms.TimestampConverterValue(), Batch.of("t", ["x"], value_schema=STRING), **config)
    assert headline(caught.value.__cause__) == 'java.text.ParseException: Unparseable date: "x"'
