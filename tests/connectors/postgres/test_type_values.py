"""PostgresSource's table of types, and a server: columns of every type, and values that another client has written."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import psycopg2
import psycopg2.extras
import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from penstock.api.errors import DataError
from penstock.connectors.postgres.catalog import PostgresCatalog, RelationName
from penstock.connectors.postgres.connection import connect, driver
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values.mappings import LEFT_OUT, MAPPINGS, mapping
from penstock.connectors.postgres.values.types import ColumnType, column_type
from soak.drawing import values
from soak.extremes import BYTES, DATES, DOUBLES, EPOCH, MICRO, MOMENTS, SINGLES, TEXT, decimals, whole
from support.postgres import LOOPBACK, USER, Postgres

pytestmark = [pytest.mark.integration, pytest.mark.slow]

EXACT = Context(prec=100)
DAY = dt.date(1970, 1, 1)
MICRO_TIMES = st.one_of(st.times(), st.sampled_from([dt.time.min, dt.time.max]))
MILLI_TIMES = MICRO_TIMES.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
SPANS = st.integers(-(10**15), 10**15)
"""Microseconds."""
YEARS = st.tuples(st.integers(-4712, 294_000), st.integers(1, 12), st.integers(1, 28))
"""Years of PostgreSQL's dates, of which 0 is the year before the first."""


def settings_of(server: Postgres, setting: tuple[str, str] | None) -> PostgresSettings:
    config = {
        "database.hostname": LOOPBACK,
        "database.port": str(server.port),
        "database.user": USER,
        "database.dbname": "postgres",
        "topic.prefix": "x",
    }
    return PostgresSettings.of({**config, **dict([setting] if setting else [])})


@dataclass(frozen=True)
class Case:
    """Values of a type: the text that another client writes, and the field of Connect that it becomes."""

    type: str
    of: SearchStrategy[Any]
    text: Callable[[Any], Any] = str
    field: Callable[[Any], Any] = lambda value: value
    setting: tuple[str, str] | None = None

    def __str__(self) -> str:
        return f"{self.type}-{self.setting[1]}" if self.setting else self.type


def iso(value: Any) -> str:
    return str(value.isoformat(" ") if isinstance(value, dt.datetime) else value.isoformat())


def naive(value: dt.datetime) -> str:
    return iso(value.replace(tzinfo=None))


def micros(at: dt.datetime) -> int:
    return (at - EPOCH) // MICRO


def micros_of_day(at: dt.time) -> int:
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 1_000_000 + at.microsecond


def cut(text: str, digits: int = 0) -> str:
    """Return a text in ISO 8601 without zeros at the end of the seconds, but with so many digits."""
    whole, _, fraction = text.partition(".")
    kept = fraction.rstrip("0").ljust(digits, "0")
    return f"{whole}.{kept}" if kept else whole


def iso_timestamp(at: dt.datetime, digits: int = 0) -> str:
    return cut(at.replace(tzinfo=None).isoformat("T"), digits) + "Z"


def days(date: tuple[int, int, int]) -> int:
    """Return days since 1970 by Python's calendar, moved by whole cycles of 400 years."""
    year, month, day = date
    cycles = (year - 1) // 400
    return (dt.date(year - cycles * 400, month, day) - DAY).days + cycles * 146_097


def date_text(date: tuple[int, int, int]) -> str:
    year, month, day = date
    return f"{year:04}-{month:02}-{day:02}" if year > 0 else f"{1 - year:04}-{month:02}-{day:02} BC"


def variable(number: Decimal) -> dict[str, Any]:
    """Return the struct of a decimal with 20 digits after the point."""
    unscaled, scale = int(number.scaleb(20, EXACT)), 20
    while scale and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    size = (unscaled if unscaled >= 0 else ~unscaled).bit_length() // 8 + 1
    return {"scale": scale, "value": unscaled.to_bytes(size, "big", signed=True)}


def bits(text: str) -> bytes:
    return int(text or "0", 2).to_bytes(-(-len(text) // 8), "little").rstrip(b"\0")


def dollars(amount: Decimal) -> str:
    return format(amount, "f")


CONNECT, ISO = ("time.precision.mode", "connect"), ("time.precision.mode", "isostring")
TEXTS, FLOATS = ("decimal.handling.mode", "string"), ("decimal.handling.mode", "double")
CASES = [
    Case("boolean", st.booleans()),
    Case("smallint", whole(16)),
    Case("integer", whole(32)),
    Case("bigint", whole(64)),
    Case("oid", whole(32, unsigned=True)),
    Case("real", SINGLES, repr),
    Case("float8", DOUBLES, repr),
    Case("numeric(12, 3)", decimals(12, 3)),
    Case("numeric(3, -2)", st.integers(-999, 999).map(lambda n: Decimal(n).scaleb(2))),
    Case("numeric(60, 30)", decimals(60, 30)),
    Case("numeric", decimals(60, 20), field=variable),
    Case("numeric", decimals(60, 20), field=lambda number: format(number, "f"), setting=TEXTS),
    Case("numeric", decimals(60, 20), field=float, setting=FLOATS),
    Case("money", decimals(18, 2), dollars),
    Case("money", decimals(18, 2), dollars, dollars, TEXTS),
    Case("money", decimals(18, 2), dollars, float, FLOATS),
    Case("bit", st.booleans(), lambda bit: str(int(bit))),
    Case("bit(9)", st.text("01", min_size=9, max_size=9), field=bits),
    Case("varbit", st.text("01", max_size=70), field=bits),
    Case("text", TEXT),
    Case("char(5)", st.text("aZß漢😀 ", max_size=5), field=lambda text: text.ljust(5)),
    Case("json", st.recursive(st.integers() | TEXT, st.lists, max_leaves=5).map(json.dumps)),
    Case("uuid", st.uuids(), field=str),
    Case("inet", st.ip_addresses(v=4), field=str),
    Case("int8range", st.tuples(whole(32), st.integers(1, 99)), lambda both: f"[{both[0]},{both[0] + both[1]})",
         lambda both: f"[{both[0]},{both[0] + both[1]})"),
    Case("bytea", BYTES, lambda data: data),
    Case("bytea", BYTES, lambda data: data, bytes.hex, ("binary.handling.mode", "hex")),
    Case("point", st.tuples(DOUBLES, DOUBLES), lambda both: f"({both[0]!r},{both[1]!r})", list),
    Case("date", YEARS, date_text, days),
    Case("date", DATES, iso, setting=CONNECT),
    Case("date", DATES, iso, lambda date: f"{date.isoformat()}Z", ISO),
    Case("time(3)", MILLI_TIMES, iso, lambda at: micros_of_day(at) // 1000),
    Case("time", MICRO_TIMES, iso, micros_of_day),
    Case("time", MILLI_TIMES, iso, setting=CONNECT),
    Case("time", MICRO_TIMES, iso, lambda at: f"{cut(at.isoformat())}Z", ISO),
    Case("timetz", st.tuples(MICRO_TIMES, st.integers(-15, 15)), lambda both: f"{both[0].isoformat()}{both[1]:+03}",
         lambda both: cut((dt.datetime.combine(DAY, both[0]) - dt.timedelta(hours=both[1])).time().isoformat()) + "Z"),
    Case("timestamp(3)", MOMENTS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)), naive,
         lambda at: micros(at) // 1000),
    Case("timestamp", MOMENTS, naive, micros),
    Case("timestamp", YEARS, date_text, lambda date: days(date) * 86_400_000_000),
    Case("timestamp", MOMENTS.map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)), naive,
         setting=CONNECT),
    Case("timestamp", MOMENTS, naive, iso_timestamp, ISO),
    Case("timestamptz", MOMENTS, iso, lambda at: iso_timestamp(at, 6)),
    Case("interval", SPANS, lambda us: f"{us} microseconds"),
    Case("int4[]", st.lists(st.none() | whole(32), max_size=5), lambda items: items),
    Case("bool[]", st.lists(st.none() | st.booleans(), max_size=5), lambda items: items),
    # As text: SQL reads -0.0 without quotes as a numeric, which has no such zero.
    Case("float8[]", st.lists(st.none() | DOUBLES, max_size=5),
         lambda items: f"{{{','.join('NULL' if each is None else repr(each) for each in items)}}}", list),
    Case("numeric(12, 3)[]", st.lists(st.none() | decimals(12, 3), max_size=5), lambda items: items),
    Case("text[]", st.lists(st.none() | TEXT, max_size=5), lambda items: items),
]  # fmt: skip


class Writer:
    """Another client, which writes values into the column ``v`` of a table."""

    def __init__(self, server: Postgres) -> None:
        self._connection = psycopg2.connect(host=LOOPBACK, port=server.port, user=USER, dbname="postgres")
        self._connection.autocommit = True
        self._cursor = self._connection.cursor()
        self._cursor.execute("SET TIME ZONE 'UTC'; SET extra_float_digits = 3; SET lc_monetary = 'C'")

    def create(self, type: str) -> None:
        self._cursor.execute(f"DROP TABLE IF EXISTS v; CREATE TABLE v (id INT, v {type})")

    def insert(self, type: str, texts: Sequence[Any]) -> None:
        self._cursor.execute("TRUNCATE v")
        psycopg2.extras.execute_values(
            self._cursor, "INSERT INTO v VALUES %s", list(enumerate(texts)), f"(%s, %s::{type})", 10_000
        )


class Reader:
    """The connector's session: the column's type by its catalog, and values as it reads them."""

    def __init__(self, settings: PostgresSettings) -> None:
        self.settings = settings
        self._connection = connect(settings)
        self.catalog = PostgresCatalog(self._connection)

    def column(self) -> tuple[str, int, ColumnType | None]:
        """Return the name of the column's type, its modifier and its field."""
        ((oid,),) = self.catalog.rows("SELECT 'v'::regclass::oid::bigint")
        found = self.catalog.columns(oid)[1]
        made = column_type(self.catalog.type, self.settings, RelationName("public", "v"), found, 1)
        return self.catalog.type(found.type_oid).name, found.modifier, made

    def values(self) -> list[Any]:
        _, _, column = self.column()
        assert column is not None
        oids = tuple(
            oid for (oid,) in self.catalog.rows("SELECT atttypid::bigint FROM pg_attribute WHERE attname = 'v'")
        )
        with self._connection.cursor() as cursor:
            as_text = driver().extensions.new_type(oids, "AS_TEXT", lambda value, _: value)
            driver().extensions.register_type(as_text, cursor)
            cursor.execute("SELECT v FROM v ORDER BY id")
            return [column.value(text) for (text,) in cursor]

    def close(self) -> None:
        self._connection.close()


@pytest.fixture(scope="module")
def writer(postgres: Postgres) -> Writer:
    return Writer(postgres)


@pytest.fixture
def reader(postgres: Postgres, request: pytest.FixtureRequest) -> Iterator[Reader]:
    made = Reader(settings_of(postgres, getattr(request, "param", None)))
    yield made
    made.close()


DECLARED = [(each, sql) for each in MAPPINGS for sql in each.declared]


def test_columns_of_every_type_are_those_of_the_table_of_types(writer: Writer, reader: Reader) -> None:
    wrong = []
    for expected, sql in DECLARED:
        writer.create(sql)
        type, modifier, _ = reader.column()
        if (found := mapping(type, modifier, reader.settings)) is not expected:
            wrong.append((sql, expected.name, found and found.name))
    assert wrong == []


def test_every_type_of_the_server_has_a_field_or_is_known_to_be_left_out(reader: Reader) -> None:
    types = {
        name
        for (name,) in reader.catalog.rows(
            "SELECT typname FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace AND typtype IN ('b', 'r', 'm')"
            " AND typcategory NOT IN ('A', 'Z')"
            " AND typname !~ '^(reg|pg_(node|ndistinct|dep|mcv|brin)|gtsvector|ref|acl)'"
        )
    }
    assert {name for name in types if mapping(name, -1, reader.settings) is None} == set(LEFT_OUT)


@pytest.mark.parametrize(
    ("case", "reader"), [pytest.param(each, each.setting, id=str(each)) for each in CASES], indirect=["reader"]
)
def test_values_that_another_client_has_written_arrive_unchanged(writer: Writer, reader: Reader, case: Case) -> None:
    writer.create(case.type)

    def check(given: list[Any]) -> None:
        writer.insert(case.type, [case.text(value) for value in given])
        found = reader.values()
        if case.type == "point":
            found = [[each["x"], each["y"]] for each in found]
        assert found == [case.field(value) for value in given]
        assert list(map(str, found)) == [str(case.field(value)) for value in given]  # zeros have signs

    values(case.of, check)


@pytest.mark.parametrize(
    ("type", "text", "reader", "message"),
    [
        ("date", "infinity", None, "infinity is not a time that a record can hold"),
        ("timestamp", "-infinity", None, "-infinity is not a time that a record can hold"),
        ("timestamptz", "0044-03-15 BC", None, "is not in the years 1 to 9999"),
        ("date", "10000-01-01", CONNECT, "is not in the years 1 to 9999"),
        ("timestamp", "10000-01-01", CONNECT, "is not in the years 1 to 9999"),
        ("time", "24:00", CONNECT, "is the end of a day"),
        ("timetz", "24:00+00", None, "is the end of a day"),
        ("interval", "300000 years", None, "set interval.handling.mode to string"),
        ("numeric", "NaN", None, "set decimal.handling.mode to string or double"),
        ("numeric(5, 2)", "NaN", None, "set decimal.handling.mode to string or double"),
        ("money", "1.55", ("money.fraction.digits", "1"), "raise money.fraction.digits"),
        ("int4[]", [[1, 2], [3, 4]], None, "is an array of several dimensions"),
    ],
    indirect=["reader"],
)
def test_a_value_that_no_record_can_hold_is_refused_with_the_name_of_its_column(
    writer: Writer, reader: Reader, type: str, text: Any, message: str
) -> None:
    writer.create(type)
    writer.insert(type, [text])
    with pytest.raises(DataError) as raised:
        reader.values()
    assert str(raised.value).startswith("Column `v` of table public.v: ")
    assert message in str(raised.value)
