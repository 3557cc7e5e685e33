"""Types of PostgreSQL as Connect's schemas and values."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import SchemaType
from penstock.connectors.postgres.catalog import PgType, PostgresColumn, RelationName
from penstock.connectors.postgres.pgoutput import UNCHANGED
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values.types import ColumnType, column_type, value_type
from penstock.connectors.postgres.values.value_type import ValueType

GIVEN = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "p"}
TABLE = RelationName("public", "t")


def plain(name: str) -> PgType:
    return PgType(name, "b", 0, -1, 0, ())


NAMES = (
    *("numeric", "money", "bytea", "bit", "varbit", "point", "text", "int4", "bool", "json", "tsvector", "interval"),
    *("date", "timestamptz"),
)
TYPES = {
    **{number: plain(name) for number, name in enumerate(NAMES)},
    100: PgType("_numeric", "b", 0, -1, NAMES.index("numeric"), ()),
    101: PgType("_text", "b", 0, -1, NAMES.index("text"), ()),
    102: PgType("mood", "e", 0, -1, 0, ("sad", "ok")),
    103: PgType("price", "d", NAMES.index("numeric"), ((12 << 16) | 3) + 4, 0, ()),
    104: PgType("_tsvector", "b", 0, -1, NAMES.index("tsvector"), ()),
    105: PgType("_bool", "b", 0, -1, NAMES.index("bool"), ()),
    106: PgType("_int4", "b", 0, -1, NAMES.index("int4"), ()),
}


def typed(oid: int | str, modifier: int = -1, **settings: str) -> ValueType | None:
    settings = {name.replace("_", "."): value for name, value in settings.items()}
    number = NAMES.index(oid) if isinstance(oid, str) else oid
    return value_type(TYPES.__getitem__, PostgresSettings.of({**GIVEN, **settings}), number, modifier)


def read(oid: int | str, text: str, modifier: int = -1, **settings: str) -> Any:
    found = typed(oid, modifier, **settings)
    assert found is not None
    return found.read(text)


@pytest.mark.parametrize(
    ("text", "scale", "value"),
    [
        ("0", 0, b"\x00"),
        ("-0.0500", 2, b"\xfb"),
        ("0.00", 0, b"\x00"),
        ("1200", 0, b"\x04\xb0"),
        ("127", 0, b"\x7f"),
        ("128", 0, b"\x00\x80"),
        ("-128", 0, b"\x80"),
        ("-129", 0, b"\xff\x7f"),
    ],
)
def test_numbers_of_any_scale(text: str, scale: int, value: bytes) -> None:
    assert read("numeric", text) == {"scale": scale, "value": value}


def test_numbers_of_one_scale() -> None:
    modifier = ((12 << 16) | 3) + 4
    found = typed("numeric", modifier)
    assert found is not None
    assert dict(found.schema.parameters) == {"scale": "3", "connect.decimal.precision": "12"}
    assert found.read("1.250") == Decimal("1.250")
    domain = typed(103)
    assert domain is not None
    assert domain.schema == found.schema
    negative = typed("numeric", ((3 << 16) | (-2 & 0x7FF)) + 4)
    assert negative is not None
    assert negative.schema.parameters["scale"] == "-2"
    assert negative.read("1200").as_tuple().exponent == 2


def test_numbers_that_are_not_finite_are_refused_as_decimals() -> None:
    with pytest.raises(DataError, match=r"set decimal\.handling\.mode to string or double"):
        read("numeric", "NaN")
    assert read("numeric", "NaN", decimal_handling_mode="string") == "NaN"
    assert read("numeric", "Infinity", decimal_handling_mode="double") == float("inf")


@pytest.mark.parametrize(("text", "value"), [("$1,234.50", "1234.50"), ("-$0.05", "-0.05"), ("($2.00)", "-2.00")])
def test_money_is_read_with_its_scale(text: str, value: str) -> None:
    assert read("money", text) == Decimal(value)
    assert read("money", text, decimal_handling_mode="string") == value
    assert read("money", text, decimal_handling_mode="double") == float(value)


@pytest.mark.parametrize(
    ("mode", "value"), [("bytes", b"\xfb\xff"), ("hex", "fbff"), ("base64", "+/8="), ("base64-url-safe", "-_8=")]
)
def test_binary_handling_mode_chooses_the_form_of_bytes(mode: str, value: object) -> None:
    assert read("bytea", "\\xfbff", binary_handling_mode=mode) == value


def test_bits_booleans_and_geometric_types_are_read() -> None:
    assert read("bit", "1", 1) is True
    assert read("bit", "000000001", 9) == b"\x01"
    assert read("bool", "t") is True
    assert read("point", "(1.5,-2)") == {
        "x": 1.5,
        "y": -2.0,
        "wkb": bytes.fromhex("0101000000000000000000f83f00000000000000c0"),
        "srid": None,
    }
    assert read(101, '{a,NULL,"b,c"}') == ["a", None, "b,c"]
    mood = typed(102)
    assert mood is not None
    assert mood.schema.parameters == {"allowed": "sad,ok"}
    assert typed("tsvector") is None
    assert typed(104) is None


@pytest.mark.parametrize(("array", "text"), [(105, "{{t,f},{f,t}}"), (106, "[0:0][0:1]={{1,2}}")])
def test_an_array_of_arrays_is_refused(array: int, text: str) -> None:
    with pytest.raises(DataError, match="is an array of several dimensions"):
        read(array, text)


def test_an_array_of_arrays_of_texts_has_their_texts() -> None:
    assert read(101, '{{a,b},{c,"d e"}}') == ["{a,b}", '{c,"d e"}']


def column(name: str, optional: bool, default: str | None = None, oid: int | None = None) -> ColumnType:
    number = NAMES.index(name) if oid is None else oid
    found = column_type(
        TYPES.__getitem__, PostgresSettings.of(GIVEN), TABLE, PostgresColumn("c", number, -1, optional, default, -1), 0
    )
    assert found is not None
    return found


def test_missing_values_get_defaults_the_schema_allows() -> None:
    assert column("int4", optional=True).value(None) is None
    assert column("int4", optional=False).value(None) == 0
    assert column("int4", optional=False, default="7").value(None) == 7
    assert column("int4", optional=False, default="7").schema.default == 7
    assert column("json", optional=False).value(None) == ""
    assert column("money", optional=False).value(None).as_tuple().exponent == -2


@pytest.mark.parametrize(
    ("name", "default", "absent"),
    [
        ("timestamptz", "infinity", "1970-01-01T00:00:00Z"),
        ("date", "-infinity", 0),
        ("numeric", "0", {"scale": 0, "value": b"\0"}),
        ("point", "(1,2)", {"x": 0.0, "y": 0.0}),
    ],
)
def test_defaults_that_schemas_do_not_have(name: str, default: str, absent: Any) -> None:
    found = column(name, optional=False, default=default)
    assert found.schema.default is None
    shown = found.value(None)
    assert (shown if name != "point" else {each: shown[each] for each in absent}) == absent


def test_a_default_that_is_no_decimal_number() -> None:
    assert column("price", optional=True, default="NaN", oid=103).schema.default is None


def test_a_value_that_no_record_can_hold_is_refused_with_the_name_of_its_column() -> None:
    with pytest.raises(DataError, match=r"^Column `c` of table public\.t: infinity is not a time"):
        column("date", optional=True).value("infinity")


def test_money_with_more_digits_than_the_setting_says_is_refused() -> None:
    with pytest.raises(DataError, match=r"more than 0 digits after the point; raise money\.fraction\.digits"):
        read("money", "$1.50", money_fraction_digits="0")
    assert read("money", "$2.00", money_fraction_digits="0") == Decimal(2)


def test_unsent_values_get_a_placeholder() -> None:
    assert column("text", optional=True).value(UNCHANGED) == "__debezium_unavailable_value"
    assert column("bytea", optional=True).value(UNCHANGED) == b"__debezium_unavailable_value"
    assert column("text", optional=True, oid=101).value(UNCHANGED) == ["__debezium_unavailable_value"]
    assert column("bytea", optional=True).schema.type is SchemaType.BYTES
