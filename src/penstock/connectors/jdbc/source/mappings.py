"""The types of databases and the fields of Connect that they become: one table for each dialect, as data.

The source looks the fields of its columns up here. The reference page of types is made from these tables, and tests
declare a column of every type in real databases and compare.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from penstock.api import schema as s
from penstock.connectors.jdbc.source.source_type import (
    ARRAY,
    BIGINT,
    BINARY,
    BIT,
    BOOLEAN,
    COMPLEX,
    DATE,
    DECIMAL,
    DOUBLE,
    FLOAT,
    INTEGER,
    MOMENT,
    MOMENT_ZONED,
    NUMERIC,
    OTHER,
    REAL,
    REFUSED,
    SMALLINT,
    TEXTS,
    TIME,
    TIME_TEXTS,
    TIME_ZONED,
    TINYINT,
    Reading,
    SourceType,
)

_YEARS = "0001-01-01 to 9999-12-31"
_FRACTIONS = "; Connect's Timestamp has milliseconds, timestamp.granularity keeps more digits"
_NUMBER = "as many digits after the point as the column's scale"
_MORE_DIGITS = f"more digits after the point: {REFUSED}"

_STANDARD = (
    SourceType("BOOLEAN", Reading.BOOLEAN, s.BOOLEAN, (BOOLEAN,)),
    SourceType("BIT", Reading.INT8, s.INT8, (BIT,)),
    SourceType("TINYINT", Reading.INT8, s.INT8, (TINYINT,), unsigned=False),
    SourceType("TINYINT UNSIGNED", Reading.INT16, s.INT16, (TINYINT,), unsigned=True),
    SourceType("SMALLINT", Reading.INT16, s.INT16, (SMALLINT,), unsigned=False),
    SourceType("SMALLINT UNSIGNED", Reading.INT32, s.INT32, (SMALLINT,), unsigned=True),
    SourceType("INTEGER", Reading.INT32, s.INT32, (INTEGER,), unsigned=False),
    SourceType("INTEGER UNSIGNED", Reading.INT64, s.INT64, (INTEGER,), unsigned=True),
    SourceType("BIGINT", Reading.INT64, s.INT64, (BIGINT,)),
    SourceType("REAL", Reading.FLOAT32, s.FLOAT32, (REAL,)),
    SourceType("FLOAT, DOUBLE PRECISION", Reading.FLOAT64, s.FLOAT64, (FLOAT, DOUBLE)),
    SourceType("NUMERIC", Reading.NUMBER, s.decimal(0), (NUMERIC,), range=_NUMBER, beyond=_MORE_DIGITS),
    SourceType("DECIMAL", Reading.DECIMAL, s.decimal(0), (DECIMAL,), range=_NUMBER, beyond=_MORE_DIGITS),
    SourceType("CHAR, VARCHAR, CLOB, the same with N, DATALINK, SQLXML", Reading.STRING, s.STRING, TEXTS),
    SourceType("BINARY, VARBINARY, BLOB", Reading.BYTES, s.BYTES, BINARY),
    SourceType("DATE", Reading.DATE, s.DATE, (DATE,), range=_YEARS, beyond=REFUSED),
    SourceType("TIME", Reading.TIME, s.TIME, (TIME, TIME_ZONED), range="milliseconds of a day"),
    SourceType(
        "TIMESTAMP", Reading.MOMENT, s.TIMESTAMP, (MOMENT, MOMENT_ZONED), range=_YEARS + _FRACTIONS, beyond=REFUSED
    ),
)
"""The types of JDBC, for databases that are not known, and for what a driver reports of columns of a query."""


def _items(reading: Reading, items: s.Schema, *types: str) -> SourceType:
    return SourceType(
        ", ".join(f"{each.upper()}[]" for each in types),
        reading,
        s.array(items.with_(optional=True)),
        (ARRAY,),
        frozenset(f"_{each}" for each in types),
        range="arrays of one dimension",
        beyond=f"arrays of arrays: {REFUSED}",
        needs=COMPLEX,
        declared=tuple(f"{each}[]" for each in types),
    )


_POSTGRESQL = (
    SourceType("SMALLINT, SMALLSERIAL", Reading.INT16, s.INT16, (SMALLINT,), declared=("smallint", "smallserial")),
    SourceType("INTEGER, SERIAL", Reading.INT32, s.INT32, (INTEGER,), declared=("integer", "serial")),
    SourceType("BIGINT, BIGSERIAL, OID", Reading.INT64, s.INT64, (BIGINT,), declared=("bigint", "bigserial", "oid")),
    SourceType("REAL", Reading.FLOAT32, s.FLOAT32, (REAL,), declared=("real",)),
    SourceType("DOUBLE PRECISION", Reading.FLOAT64, s.FLOAT64, (DOUBLE,), frozenset({"float8"}), declared=("float8",)),
    SourceType(
        "MONEY",
        Reading.MONEY,
        s.FLOAT64,
        (DOUBLE,),
        frozenset({"money"}),
        range="about 15 digits, where `lc_monetary` has dollars",
        beyond=f"{REFUSED}; cast it to NUMERIC in `query`",
        declared=("money",),
    ),
    SourceType(
        "NUMERIC",
        Reading.NUMBER,
        s.decimal(0),
        (NUMERIC,),
        range=f"{_NUMBER}; 127 if its type names none",
        beyond=f"NaN, Infinity, {_MORE_DIGITS}",
        declared=("numeric", "numeric(12)", "numeric(12, 3)", "numeric(3, -2)"),
    ),
    SourceType("BOOLEAN, BIT(1)", Reading.BOOLEAN, s.BOOLEAN, (BIT,), precisions=(-1, 1), declared=("boolean", "bit")),
    SourceType(
        "BIT(2) to BIT(8)",
        Reading.BITS,
        s.INT8,
        (BIT,),
        precisions=(2, 8),
        range="the bits, of which the eighth is the sign",
        declared=("bit(2)", "bit(8)"),
    ),
    SourceType(
        "BIT(9) and more",
        Reading.BYTES,
        s.BYTES,
        (BIT,),
        precisions=(9, 2**31),
        range="a byte 0x30 or 0x31 for each bit",
        declared=("bit(9)",),
    ),
    SourceType(
        "CHAR, VARCHAR, TEXT, NAME, enums",
        Reading.STRING,
        s.STRING,
        (1, 12, -1),
        declared=("char(5)", "varchar", "varchar(9)", "text", "name", '"char"'),
    ),
    SourceType("XML", Reading.STRING, s.STRING, (2009,), declared=("xml",)),
    SourceType(
        "JSON, JSONB, UUID",
        Reading.STRING,
        s.STRING,
        (OTHER,),
        frozenset({"json", "jsonb", "uuid"}),
        declared=("json", "jsonb", "uuid"),
    ),
    SourceType("BYTEA", Reading.BYTES, s.BYTES, BINARY, declared=("bytea",)),
    SourceType(
        "DATE",
        Reading.DATE,
        s.DATE,
        (DATE,),
        range=_YEARS,
        beyond=f"infinity, years before 1 and after 9999: {REFUSED}",
        declared=("date",),
    ),
    SourceType(
        "TIME",
        Reading.TIME,
        s.TIME,
        (TIME, TIME_ZONED),
        range="milliseconds of a day; of TIMETZ, in UTC",
        beyond=f"24:00: {REFUSED}; {TIME_TEXTS} sends all as text",
        declared=("time", "time(3)", "timetz"),
    ),
    SourceType(
        "TIMESTAMP, TIMESTAMPTZ",
        Reading.MOMENT,
        s.TIMESTAMP,
        (MOMENT, MOMENT_ZONED),
        range=_YEARS + _FRACTIONS,
        beyond=f"infinity, years before 1 and after 9999: {REFUSED}",
        declared=("timestamp", "timestamp(3)", "timestamptz"),
    ),
    SourceType(
        "INTERVAL",
        Reading.TIME_TEXT,
        s.STRING,
        (OTHER,),
        frozenset({"interval"}),
        needs=TIME_TEXTS,
        declared=("interval",),
    ),
    _items(Reading.BOOLEANS, s.BOOLEAN, "bool"),
    _items(Reading.INT16S, s.INT16, "int2"),
    _items(Reading.INT32S, s.INT32, "int4"),
    _items(Reading.INT64S, s.INT64, "int8"),
    _items(Reading.FLOAT32S, s.FLOAT32, "float4"),
    _items(Reading.FLOAT64S, s.FLOAT64, "float8"),
    _items(Reading.STRINGS, s.STRING, "text", "varchar", "bpchar", "uuid", "json", "jsonb"),
    SourceType(
        "other arrays, BIT VARYING, INET, CIDR, MACADDR, geometric types, ranges, TSVECTOR, PG_LSN, composite types",
        Reading.NONE,
        s.STRING,
        (OTHER, ARRAY, 2002),
        declared=("varbit", "inet", "cidr", "macaddr", "point", "int4range", "tsvector", "pg_lsn", "inet[]"),
    ),
)

_UNSIGNED_BITS = f"greater values: {REFUSED}; cast it to UNSIGNED in `query`"
_MYSQL = (
    SourceType(
        "BOOLEAN, TINYINT(1), BIT(1)",
        Reading.BOOLEAN,
        s.BOOLEAN,
        (BOOLEAN,),
        range="0 and 1",
        beyond=f"other numbers: {REFUSED}; cast it to SIGNED in `query`",
        declared=("BOOLEAN", "TINYINT(1)", "BIT(1)"),
    ),
    SourceType("TINYINT", Reading.INT8, s.INT8, (TINYINT,), unsigned=False, declared=("TINYINT",)),
    SourceType("TINYINT UNSIGNED", Reading.INT16, s.INT16, (TINYINT,), unsigned=True, declared=("TINYINT UNSIGNED",)),
    SourceType("SMALLINT", Reading.INT16, s.INT16, (SMALLINT,), unsigned=False, declared=("SMALLINT",)),
    SourceType(
        "SMALLINT UNSIGNED", Reading.INT32, s.INT32, (SMALLINT,), unsigned=True, declared=("SMALLINT UNSIGNED",)
    ),
    SourceType("MEDIUMINT, INT", Reading.INT32, s.INT32, (INTEGER,), unsigned=False, declared=("MEDIUMINT", "INT")),
    SourceType(
        "MEDIUMINT UNSIGNED, INT UNSIGNED",
        Reading.INT64,
        s.INT64,
        (INTEGER,),
        unsigned=True,
        declared=("MEDIUMINT UNSIGNED", "INT UNSIGNED"),
    ),
    SourceType(
        "BIGINT, BIGINT UNSIGNED",
        Reading.INT64,
        s.INT64,
        (BIGINT,),
        range="up to 9223372036854775807",
        beyond=f"greater values: {REFUSED}; cast it to DECIMAL in `query`",
        declared=("BIGINT", "BIGINT UNSIGNED"),
    ),
    SourceType("BIT(2) to BIT(7)", Reading.INT8, s.INT8, (BIT,), precisions=(-1, 7), declared=("BIT(2)", "BIT(7)")),
    SourceType(
        "BIT(8) to BIT(64)",
        Reading.BITS,
        s.INT8,
        (BIT,),
        precisions=(8, 64),
        range="0 to 127",
        beyond=_UNSIGNED_BITS,
        declared=("BIT(8)", "BIT(9)", "BIT(64)"),
    ),
    SourceType("FLOAT", Reading.FLOAT32, s.FLOAT32, (REAL,), declared=("FLOAT",)),
    SourceType("DOUBLE", Reading.FLOAT64, s.FLOAT64, (FLOAT, DOUBLE), declared=("DOUBLE",)),
    SourceType("DECIMAL, NUMERIC", Reading.DECIMAL, s.decimal(0), (DECIMAL,), declared=("DECIMAL(65, 30)",)),
    SourceType(
        "CHAR, VARCHAR, TEXT, ENUM, SET, JSON",
        Reading.STRING,
        s.STRING,
        TEXTS,
        declared=("CHAR(5)", "VARCHAR(9)", "TINYTEXT", "TEXT", "LONGTEXT", "ENUM('a','b')", "SET('a','b')", "JSON"),
    ),
    SourceType("UUID", Reading.STRING, s.STRING, (OTHER,), frozenset({"uuid"}), declared=("UUID",)),
    SourceType(
        "BINARY, VARBINARY, BLOB",
        Reading.BYTES,
        s.BYTES,
        BINARY,
        declared=("BINARY(4)", "VARBINARY(9)", "BLOB", "LONGBLOB"),
    ),
    SourceType(
        "DATE, YEAR",
        Reading.DATE,
        s.DATE,
        (DATE,),
        range=f"{_YEARS}; a year is its first day",
        beyond=f"0000-00-00, days and months of 0, year 0: {REFUSED}",
        declared=("DATE", "YEAR"),
    ),
    SourceType(
        "TIME",
        Reading.TIME,
        s.TIME,
        (TIME,),
        range="milliseconds of a day",
        beyond=f"negative times, 24:00 and more: {REFUSED}; {TIME_TEXTS} sends all as text",
        declared=("TIME", "TIME(6)"),
    ),
    SourceType(
        "DATETIME, TIMESTAMP",
        Reading.MOMENT,
        s.TIMESTAMP,
        (MOMENT,),
        range=_YEARS + _FRACTIONS,
        beyond=f"0000-00-00, days and months of 0: {REFUSED}",
        declared=("DATETIME", "DATETIME(6)", "TIMESTAMP NULL"),
    ),
)

_ANY_TYPE = f"values of another type, which SQLite stores in any column: {REFUSED}"
_SQLITE = (
    SourceType("INTEGER, INT, MEDIUMINT", Reading.INT64, s.INT64, (INTEGER,), beyond=_ANY_TYPE, declared=("INTEGER",)),
    SourceType("BIGINT, INT8", Reading.INT64, s.INT64, (BIGINT,), beyond=_ANY_TYPE, declared=("BIGINT", "INT8")),
    SourceType(
        "SMALLINT, INT2",
        Reading.INT32,
        s.INT32,
        (SMALLINT,),
        range="-2147483648 to 2147483647",
        beyond=_ANY_TYPE,
        declared=("SMALLINT", "INT2"),
    ),
    SourceType(
        "TINYINT", Reading.INT16, s.INT16, (TINYINT,), range="-32768 to 32767", beyond=_ANY_TYPE, declared=("TINYINT",)
    ),
    SourceType(
        "BOOLEAN", Reading.BOOLEAN, s.BOOLEAN, (BOOLEAN,), range="0 and 1", beyond=_ANY_TYPE, declared=("BOOLEAN",)
    ),
    SourceType(
        "REAL, FLOAT, DOUBLE",
        Reading.FLOAT64,
        s.FLOAT64,
        (REAL, FLOAT, DOUBLE),
        beyond=_ANY_TYPE,
        declared=("REAL", "FLOAT", "DOUBLE"),
    ),
    SourceType(
        "NUMERIC, and types that SQLite does not know",
        Reading.NUMBER,
        s.decimal(0),
        (NUMERIC,),
        range=_NUMBER,
        beyond=f"{_MORE_DIGITS}; {_ANY_TYPE}",
        declared=("NUMERIC", "NUMERIC(5, 2)", "JSON"),
    ),
    SourceType(
        "DECIMAL",
        Reading.DECIMAL,
        s.decimal(0),
        (DECIMAL,),
        range=_NUMBER,
        beyond=f"{_MORE_DIGITS}; {_ANY_TYPE}",
        declared=("DECIMAL(10, 2)",),
    ),
    SourceType(
        "TEXT, VARCHAR, CHAR, CLOB",
        Reading.STRING,
        s.STRING,
        (1, 12, -1, 2005),
        beyond=_ANY_TYPE,
        declared=("TEXT", "VARCHAR(9)", "CHAR(3)", "CLOB"),
    ),
    SourceType("BLOB", Reading.BYTES, s.BYTES, (2004,), beyond=_ANY_TYPE, declared=("BLOB",)),
    SourceType(
        "DATE, DATETIME",
        Reading.DATE,
        s.DATE,
        (DATE,),
        range=f"{_YEARS}, as texts in ISO 8601 or milliseconds since 1970",
        beyond=REFUSED,
        declared=("DATE", "DATETIME"),
    ),
    SourceType(
        "TIMESTAMP",
        Reading.MOMENT,
        s.TIMESTAMP,
        (MOMENT,),
        range=f"{_YEARS}, as texts in ISO 8601 or milliseconds since 1970{_FRACTIONS}",
        beyond=REFUSED,
        declared=("TIMESTAMP",),
    ),
)

_SQL_SERVER = (
    SourceType("DATETIMEOFFSET", Reading.MOMENT, s.TIMESTAMP, (-155,), range=_YEARS + _FRACTIONS, beyond=REFUSED),
)

SOURCE_TYPES: dict[str, tuple[SourceType, ...]] = {
    "PostgreSqlDatabaseDialect": _POSTGRESQL,
    "MySqlDatabaseDialect": _MYSQL,
    "SqliteDatabaseDialect": _SQLITE,
    "SqlServerDatabaseDialect": (*_SQL_SERVER, *_STANDARD),
}
"""By the name of the dialect; other dialects have JDBC's."""


def types_of(dialect: str) -> Sequence[SourceType]:
    """Return the types of a database that has a dialect of this name."""
    return SOURCE_TYPES.get(dialect, _STANDARD)


def source_type(dialect: str, number: int, name: str, signed: bool, precision: int) -> SourceType | None:
    """Return the type of a column as the driver describes it, or None if Connect has nothing for it."""
    every: Iterator[SourceType] = (each for table in (types_of(dialect), _STANDARD) for each in table)
    return next((each for each in every if each.takes(number, name, signed, precision)), None)
