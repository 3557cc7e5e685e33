"""The JSON converter beyond the golden cases: batches, the identity of schemas, state kept between calls."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    OPTIONAL_STRING,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.java.numbers import float_text
from penstock.pipeline.converters.simple_header import SimpleHeaderConverter
from penstock.values.numeric import wrapped
from pipeline.converters.json_values import converter, read

ROW = struct(("a", INT64), ("b", STRING))


def write(subject, schemas, values):
    return subject.from_connect_batch(["t"] * len(values), [()] * len(values), schemas, values)


def envelope(schema: bytes, *payloads: bytes) -> list[bytes]:
    return [b'{"schema":' + schema + b',"payload":' + payload + b"}" for payload in payloads]


INT32_JSON, STRING_JSON = b'{"type":"int32","optional":false}', b'{"type":"string","optional":false}'


def test_a_batch_of_mixed_schemas():
    assert write(converter(), [INT32, STRING, None, INT32], [1, "x", None, 2]) == [
        *envelope(INT32_JSON, b"1"),
        *envelope(STRING_JSON, b'"x"'),
        None,
        *envelope(INT32_JSON, b"2"),
    ]


def test_fields_come_in_the_order_of_the_schema():
    head = b'{"type":"struct","fields":[{"type":"int64","optional":false,"field":"a"},'
    head += b'{"type":"string","optional":false,"field":"b"}],"optional":false}'
    rows = [{"a": 1, "b": "x"}, {"b": "y", "a": 2}, {"c": 0, "b": "z", "a": 3}]
    expected = envelope(head, b'{"a":1,"b":"x"}', b'{"a":2,"b":"y"}', b'{"a":3,"b":"z"}')
    assert write(converter(), [ROW] * 3, rows) == expected


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"a": 1}, "Conversion error: null value for field that is required and has no default value"),
        ({"a": "1", "b": "x"}, "Invalid type for INT64: class java.lang.String"),
        ({"a": 1, "b": 2}, "Invalid type for STRING: class java.lang.Long"),
        ({"a": True, "b": "x"}, "Invalid type for INT64: class java.lang.Boolean"),
        (5, "Invalid type for STRUCT: class java.lang.Long"),
    ],
)
def test_a_value_that_does_not_fit_its_schema(row, message):
    with pytest.raises(DataError, match=message):
        write(converter(), [ROW], [row])


@pytest.mark.parametrize(
    ("schema", "row", "cause"),
    [
        (ROW, {"a": "1", "b": "x"}, "The field a is of Python's type str; its schema is INT64, and not optional"),
        (ROW, {"a": 1}, "The field b is None; its schema is STRING, and not optional"),
        (ROW, 5, "It is of Python's type int; its schema is STRUCT, and not optional"),
        (
            struct(("rows", array(ROW))),
            {"rows": [{"a": 1, "b": "x"}, {"a": 1, "b": 2}]},
            "The field rows[1].b is of Python's type int; its schema is STRING, and not optional",
        ),
        (array(INT64), [1, "x"], "The item [1] is of Python's type str; its schema is INT64, and not optional"),
        (
            None,
            {"at": {"time": dt.datetime(2024, 2, 29, tzinfo=dt.UTC)}},
            "The field at.time is of Python's type datetime; "
            "without a schema, expected one of None, bool, int, float, str, bytes, list, dict",
        ),
    ],
)
def test_the_cause_says_which_field_does_not_fit(schema, row, cause):
    with pytest.raises(DataError) as raised:
        write(converter(), [schema], [row])
    assert str(raised.value.__cause__) == cause


def test_writing_does_not_change_the_value():
    row = {"at": dt.datetime(2024, 2, 29, tzinfo=dt.UTC), "n": 1e10}
    before = dict(row)
    write(converter(), [struct(("at", TIMESTAMP), ("n", FLOAT64))], [row])
    assert row == before


def test_equal_schemas_are_one_object():
    subject = converter()
    spellings = [b'{"type":"int32","optional":false}', b'{"type":"int32"}', b'{ "optional" : false, "type":"int32" }']
    schemas, values = read(subject, *(envelope(spelling, b"1")[0] for spelling in spellings * 2))
    assert values == [1] * 6
    assert all(schema is schemas[0] for schema in schemas)


def test_the_head_of_an_envelope_is_known_by_its_bytes_only_where_it_is_whole():
    data = [
        *envelope(INT32_JSON, b"1", b"2"),
        *envelope(STRING_JSON, b'"x"', b"null"[:0] + b'"\\"payload\\":"'),
        *envelope(INT32_JSON, b" 3 "),
        *envelope(INT32_JSON, b'4,"payload":5'),
    ]
    schemas, values = read(converter(), *data)
    assert values == [1, 2, "x", '"payload":', 3, 5]
    assert [schema.type.value for schema in schemas] == ["int32", "int32", "string", "string", "int32", "int32"]


def test_a_schema_that_is_given_twice_is_the_last_one():
    twice = b'{"schema":' + INT32_JSON + b',"payload":1,"schema":' + STRING_JSON + b"}"
    subject = converter(penstock_coercion="java")
    schemas, values = read(subject, *envelope(INT32_JSON, b"1"), twice, *envelope(INT32_JSON, b"2"))
    assert values == [1, None, 2]
    assert [schema.type.value for schema in schemas] == ["int32", "string", "int32"]


def test_a_struct_whose_default_is_null_has_none():
    head = b'{"type":"struct","optional":true,"default":null,"fields":[{"field":"a","type":"int32"}]}'
    schemas, values = read(converter(), *envelope(head, b'{"a":1}', b"null"))
    assert schemas == [struct(("a", INT32)).with_(optional=True)] * 2
    assert list(values) == [{"a": 1}, None]


@pytest.mark.parametrize(("text", "payload"), [('[1,"a"]', b'[1,"a"]'), ("[]", b"[]"), ("[null]", b"[null]")])
def test_a_header_whose_elements_have_no_type_in_common_is_written(text, payload):
    schema, value = SimpleHeaderConverter().to_connect_header("t", "h", text.encode())
    head = b'{"type":"array","items":null,"optional":false}'
    assert write(converter(), [schema] * 2, [value] * 2) == envelope(head, payload, payload)


def test_a_map_whose_values_have_no_type_in_common_is_written_but_not_one_whose_keys_have_none():
    schema, value = SimpleHeaderConverter().to_connect_header("t", "h", b'{"a":1,"b":"c"}')
    head = b'{"type":"map","keys":{"type":"string","optional":false},"values":null,"optional":false}'
    assert write(converter(), [schema], [value]) == envelope(head, b'{"a":1,"b":"c"}')
    schema, value = SimpleHeaderConverter().to_connect_header("t", "h", b"{}")
    with pytest.raises(DataError, match="without a type of its keys"):
        write(converter(), [schema], [value])


def test_a_bad_record_in_a_batch_raises():
    with pytest.raises(DataError, match="failed due to serialization error"):
        read(converter(), *envelope(INT32_JSON, b"1"), b"{")
    with pytest.raises(DataError, match=r"with schemas\.enable requires"):
        read(converter(), *envelope(INT32_JSON, b"1"), b"{}")


def test_tombstones_in_a_batch():
    assert read(converter(schemas_enable="false"), b"1", None) == ([None, None], [1, None])
    assert read(converter(), None, None) == ([None, None], [None, None])


def test_nulls_with_a_schema_have_an_envelope_and_others_are_null():
    assert write(converter(), [None] * 2, [None, None]) == [None, None]
    null = b'{"schema":{"type":"string","optional":true},"payload":null}'
    assert write(converter(), [None, OPTIONAL_STRING], [None, None]) == [None, null]


def test_maps_come_in_the_order_of_a_hash_map():
    _, (value,) = read(converter(schemas_enable="false"), b'{"zeile":1,"b":{"y":1,"x":2},"a":3}')
    assert list(value) == ["zeile", "a", "b"]
    assert list(value["b"]) == ["x", "y"]


def test_decimals_keep_the_digits_they_were_spelled_with():
    schema = b'{"type":"bytes","name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"}}'
    _, values = read(converter(), *envelope(schema, b"12.340", b"1e3", b"12345678901234567890.12", b'"BNI="'))
    assert list(map(str, values)) == ["12.340", "1E+3", "12345678901234567890.12", "12.34"]


def test_schemas_beyond_the_size_of_the_cache():
    subject = converter(schemas_cache_size="2")
    schemas = [struct((f"f{i}", INT8)) for i in range(5)]
    values = [{f"f{i}": i} for i in range(5)]
    data = write(subject, schemas * 2, values * 2)
    assert read(subject, *data) == (schemas * 2, values * 2)


EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MILLIS = st.integers(-62_135_596_800_000, 253_402_300_799_999).map(lambda ms: EPOCH + dt.timedelta(milliseconds=ms))
SCALARS: list[tuple[Schema, st.SearchStrategy[object]]] = [
    (INT8, st.integers(-(2**7), 2**7 - 1)),
    (INT64, st.integers(-(2**63), 2**63 - 1)),
    (FLOAT64, st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number or 0.0)),
    (BOOLEAN, st.booleans()),
    (STRING, st.text()),
    (OPTIONAL_STRING, st.none() | st.text()),
    (BYTES, st.binary()),
    (decimal(2), st.integers(-(10**27), 10**27).map(lambda number: Decimal(number).scaleb(-2))),
    (DATE, st.dates()),
    (TIME, MILLIS.map(lambda moment: moment.time())),
    (TIMESTAMP, MILLIS),
]


@st.composite
def data(draw, depth: int = 2):
    """Draw a schema and a value of it."""
    kind = draw(st.sampled_from(["scalar", "array", "map", "struct"] if depth else ["scalar"]))
    if kind == "scalar":
        schema, values = draw(st.sampled_from(SCALARS))
        return schema, draw(values)
    parts = [draw(data(depth - 1)) for _ in range(draw(st.integers(1, 3)))]
    item_schema, item = parts[0]
    match kind:
        case "array":
            return array(item_schema), [item] * draw(st.integers(0, 2))
        case "map":
            return map_of(STRING, item_schema), dict.fromkeys(draw(st.lists(st.text(), max_size=3, unique=True)), item)
    names = draw(st.lists(st.text(min_size=1), min_size=len(parts), max_size=len(parts), unique=True))
    fields = [(name, schema) for name, (schema, _) in zip(names, parts, strict=True)]
    return struct(*fields, name="s", version=1), {name: value for name, (_, value) in zip(names, parts, strict=True)}


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data())
def test_json_survives_a_round_trip(both):
    schema, value = both
    for decimals in ("BASE64", "numeric"):
        subject = converter(decimal_format=decimals)
        written = write(subject, [schema] * 2, [value] * 2)
        assert read(subject, *written) == ([schema] * 2, [value] * 2)
        assert subject.to_connect("t", (), written[0]) == (schema, value)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.lists(PLAIN, max_size=3))
def test_plain_values_are_read_again(values):
    subject = converter(schemas_enable="false")
    written = write(subject, [None] * len(values), values)
    assert read(subject, *written) == ([None] * len(values), values)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"a\xc0\x80b", "a\0b"),
        (b"\xc1\x81\xe0\x81\x81\xf0\x9f\x98\x80\xc3\xa9", "AA😀é"),
        (b"\xf7\xbf\xbf\xbf", "\udfbf\udfff"),
    ],
)
def test_utf_8_is_read_as_leniently_as_by_jackson(data, text):
    subject = converter(schemas_enable="false")
    assert read(subject, b'"%b"' % data) == ([None], [text])
    assert read(subject, b'{"%b":1}' % data) == ([None], [{text: 1}])


def test_maps_with_keys_of_32_bits_are_in_javas_order():
    schema = b'{"type":"map","keys":{"type":"float"},"values":{"type":"boolean"}}'
    _, values = read(converter(), *envelope(schema, b"[[0.1,true],[5.0,true],[1.0,true]]"))
    assert list(map(float_text, values[0])) == ["5.0", "1.0", "0.1"]


def test_floats_are_rounded_once():
    schema = b'{"type":"struct","fields":[{"type":"float","field":"a"}]}'
    payloads = b'{"a":1.0000000596046447753906251}', b'{"a":1.000000059604644775390625}', b'{"a":1152921573326323713}'
    _, values = read(converter(), *envelope(schema, b'{"a":0.5}', *payloads))
    assert [value["a"] for value in values] == [0.5, 1 + 2.0**-23, 1.0, 2.0**60 + 2.0**37]


def test_numbers_of_as_many_digits_as_jackson_reads():
    subject = converter(schemas_enable="false", penstock_coercion="java")
    assert read(subject, b"1" * 1000)[1] == [wrapped(int("1" * 1000), 64)]


@given(st.binary(max_size=12) | st.text(alphabet='{}[]",:0123e.-truefalsn \\u', max_size=12).map(str.encode))
def test_whatever_is_no_json_is_a_data_error(data):
    subject = converter(schemas_enable="false")
    problem = None
    try:
        read(subject, data)
    except DataError as error:
        problem = str(error)
    assert problem in (None, "Converting byte[] to Kafka Connect data failed due to serialization error: ")


def test_numbers_may_have_leading_zeros():
    (_, values) = read(converter(**{"schemas.enable": "false"}), b'{"a":007,"b":[-01,00.5]}', b"0012")
    assert values == [{"a": 7, "b": [-1, 0.5]}, 12]
    (_, values) = read(converter(), *envelope(INT32_JSON, b"007"))
    assert values == [7]


@pytest.mark.parametrize(
    ("text", "double", "integer"),
    [
        ("0.1234567890123456789", 0.12345678901234568, None),
        ("9007199254740993", 9007199254740992.0, 9007199254740993),
        ("9007199254740993.0", 9007199254740992.0, 9007199254740993),
        ("1e-400", 0.0, None),
        ("9223372036854775808", 9223372036854775808.0, None),
    ],
)
def test_numbers_are_the_nearest_of_a_float_and_exact_otherwise(text: str, double: float, integer: int | None) -> None:
    """Java's ``doubleValue``, ``longValue`` and ``decimalValue`` of Jackson's number."""

    def read(schema: str) -> object:
        found = converter()
        return found.to_connect("t", (), f'{{"schema":{schema},"payload":{text}}}'.encode())[1]

    assert read('{"type":"double"}') == double
    name = '"name":"org.apache.kafka.connect.data.Decimal","version":1,"parameters":{"scale":"2"}'
    assert read(f'{{"type":"bytes",{name}}}') == Decimal(text)
    if integer is not None:
        assert read('{"type":"int64"}') == integer
    else:
        with pytest.raises(DataError, match="INT64 cannot hold"):
            read('{"type":"int64"}')
