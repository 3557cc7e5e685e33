"""Values of every type in files: those of a sink are read by others than Spark, and those of others by a source."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import json
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import strategies as st

from soak.drawing import values
from soak.extremes import BYTES, DATES, EPOCH, MICRO, MOMENTS, TEXT, decimals, moments, whole
from support.kafka.client import Kafka
from support.spark import delta
from support.spark.host import Hosted
from support.spark.queries import Sink, Source

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TYPES = {
    "i8": "TINYINT",
    "i16": "SMALLINT",
    "i32": "INT",
    "i64": "BIGINT",
    "f32": "FLOAT",
    "f64": "DOUBLE",
    "flag": "BOOLEAN",
    "price": "DECIMAL(38, 4)",
    "day": "DATE",
    "at": "TIMESTAMP",
    "text": "STRING",
    "data": "BINARY",
}
ARROW = pa.schema(
    {
        "id": pa.int32(),
        "i8": pa.int8(),
        "i16": pa.int16(),
        "i32": pa.int32(),
        "i64": pa.int64(),
        "f32": pa.float32(),
        "f64": pa.float64(),
        "flag": pa.bool_(),
        "price": pa.decimal128(38, 4),
        "day": pa.date32(),
        "at": pa.timestamp("us", "UTC"),
        "text": pa.string(),
        "data": pa.binary(),
    }
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
DIGITS = Context(prec=38)
WITHOUT = {"csv": ("data",)}
"""Types that a format does not have."""
FIRST = dt.date(1582, 10, 15)
"""The first day that SparkSink writes into ORC."""
LAST_SECOND = EPOCH - dt.timedelta(seconds=1)
"""The second before 1970, of which SparkSink writes no instants into ORC."""
OLDEST, NEWEST = dt.datetime(1700, 1, 1, tzinfo=dt.UTC), dt.datetime(2262, 1, 1, tzinfo=dt.UTC)
"""Instants that readers of ORC have, who count nanoseconds."""


def rows_of(format: str, *, micro: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Return rows for a sink (``micro``: instants have microseconds), or for the files that a source reads.

    The strategies draw no value that a format does not have: to filter a row of a list means to draw the list again.
    """
    text, days, at = TEXT, DATES, MOMENTS
    if format == "csv":
        # Spark reads an empty text as null.
        characters = st.characters(exclude_characters="\0\r", exclude_categories=("Cs",))
        text = st.text(characters, min_size=0 if micro else 1, max_size=30)
    if format == "orc":
        days = st.one_of(st.dates(min_value=FIRST), st.sampled_from([FIRST, dt.date(1900, 2, 28), dt.date.max]))
        # Files of PyArrow have no instants before 1970 that Java's reader of ORC accepts.
        at = (
            st.one_of(moments(OLDEST, LAST_SECOND - MICRO), moments(EPOCH, NEWEST)) if micro else moments(EPOCH, NEWEST)
        )
    if not micro:
        at = at.map(lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000))
    of = {
        "i8": whole(8),
        "i16": whole(16),
        "i32": whole(32),
        "i64": whole(64),
        "f32": SINGLES,
        "f64": FLOATS,
        "flag": st.booleans(),
        "price": decimals(38, 4),
        "day": days,
        "at": at,
        "text": text,
        "data": BYTES,
    }
    return st.fixed_dictionaries({name: each for name, each in of.items() if name not in WITHOUT.get(format, ())})


def schema_of(format: str) -> str:
    types = (f"{name} {type}" for name, type in TYPES.items() if name not in WITHOUT.get(format, ()))
    return ", ".join(("id INT", *types))


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    texts: dict[type, Callable[[Any], str]] = {
        Decimal: str,
        dt.date: dt.date.isoformat,
        dt.datetime: lambda at: at.isoformat(),
        bytes: lambda data: base64.b64encode(data).decode(),
    }
    return {name: texts.get(type(value), lambda same: same)(value) for name, value in row.items()}


# -- a sink, and readers of its files


def of_arrow(tables: Iterable[pa.Table]) -> list[dict[str, Any]]:
    rows = []
    for table in tables:
        # Python's dates end before those that pyarrow makes of instants in nanoseconds.
        rows += table.cast(ARROW).to_pylist()
    return rows


def of_texts(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    read: dict[str, Callable[[Any], Any]] = {
        **dict.fromkeys(("id", "i8", "i16", "i32", "i64"), int),
        **dict.fromkeys(("f32", "f64"), float),
        "flag": lambda flag: flag if isinstance(flag, bool) else {"true": True, "false": False}[flag],
        "price": lambda price: Decimal(price).quantize(Decimal("0.0001"), context=DIGITS),
        "day": dt.date.fromisoformat,
        "at": dt.datetime.fromisoformat,
        "data": base64.b64decode,
    }
    return [{name: read.get(name, str)(value) for name, value in row.items()} for row in rows]


def lines(files: list[Path]) -> Iterable[dict[str, Any]]:
    for file in files:
        for line in file.read_text("utf-8").split("\n"):
            if line:
                yield json.loads(line, parse_float=str)


def records(files: list[Path]) -> Iterable[dict[str, Any]]:
    for file in files:
        with file.open(newline="", encoding="utf-8") as text:
            yield from csv.DictReader(text)


def of_duckdb(call: str, format: str, options: str = "") -> Reader:
    """Return the reader that has DuckDB read all files in a folder and those below it."""
    texts = format in ("json", "csv")
    types = {name: DUCKDB.get(type, type) for name, type in {"id": "INT", **TYPES}.items()}
    columns = {
        name: "VARCHAR" if name == "data" else type
        for name, type in types.items()
        if name not in WITHOUT.get(format, ())
    }
    given = f", columns={columns}" if texts else ""
    data = " REPLACE (from_base64(data) AS data)" if format == "json" else ""

    def read(folder: Path) -> list[dict[str, Any]]:
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone='UTC'")
            found = connection.sql(f"SELECT *{data} FROM {call}('{folder}/**/*.{format}'{given}{options})")
            table = found.to_arrow_table()
        return table.cast(pa.schema([ARROW.field(name) for name in table.column_names])).to_pylist()

    return read


Reader = Callable[[Path], list[dict[str, Any]]]
DUCKDB = {"TIMESTAMP": "TIMESTAMPTZ", "STRING": "VARCHAR", "BINARY": "BLOB"}
"""The types of columns that have other names in DuckDB."""
READERS: dict[str, dict[str, Reader]] = {
    "parquet": {
        "pyarrow": lambda folder: of_arrow(map(pq.read_table, files_of(folder, "parquet"))),
        "duckdb": of_duckdb("read_parquet", "parquet"),
    },
    "orc": {"pyarrow": lambda folder: of_arrow(map(orc.read_table, files_of(folder, "orc")))},
    "json": {
        "python": lambda folder: of_texts(lines(files_of(folder, "json"))),
        "duckdb": of_duckdb("read_json", "json", ", format='newline_delimited'"),
    },
    "csv": {
        "python": lambda folder: of_texts(records(files_of(folder, "csv"))),
        "duckdb": of_duckdb(
            "read_csv", "csv", """, header=true, delim=',', quote='"', escape='"', allow_quoted_nulls=false"""
        ),
    },
    "delta": {
        "pyarrow": lambda folder: of_arrow(map(pq.read_table, files_of(folder, "delta"))),
        "deltalake": lambda folder: of_arrow([DeltaTable(folder).to_pyarrow_table()]),
    },
}
OPTIONS = {"csv": {"option_header": "true", "option_escape": '"'}}
"""Options with which quotes in a text are doubled (RFC 4180), as programs other than Spark write them."""


def spark_for(format: str, request: pytest.FixtureRequest) -> Hosted:
    """Return a Spark with Delta for it, and else the one without."""
    hosted: Hosted = request.getfixturevalue("spark" if format == "delta" else "hosted")
    return hosted


def files_of(folder: Path, format: str) -> list[Path]:
    if format == "delta":
        return delta.files(folder)
    return [file for file in folder.rglob(f"*.{format}") if not file.name.startswith((".", "_"))]


def exact(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers of 32 bits as they are in 64; zeros have signs."""
    single = pa.array([row["f32"]], pa.float32())[0].as_py()
    return {**row, "f32": repr(single), "f64": repr(row["f64"])}


def with_json_zeros(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without negative zeros, which JsonConverter reads as 0.0, as Java's decimals do."""
    return {**row, "f32": row["f32"] or 0.0, "f64": row["f64"] or 0.0}


@pytest.mark.parametrize("format", READERS)
def test_values_of_a_sink_are_those_of_a_foreign_reader(
    request: pytest.FixtureRequest, kafka: Kafka, tmp_path: Path, format: str
) -> None:
    written = 0
    with Sink(
        spark_for(format, request),
        kafka,
        kafka.create_topic(),
        tmp_path / "table",
        format=format,
        schema=schema_of(format),
        **OPTIONS.get(format, {}),
    ) as sink:
        sink.start()

        def check(given: list[dict[str, Any]]) -> None:
            nonlocal written
            rows = [{"id": written + i, **with_json_zeros(row)} for i, row in enumerate(given)]
            sink.produce(*map(as_json, rows))
            first, written = written, written + len(rows)
            sink.written(written)
            for reader, read in READERS[format].items():
                found = {row["id"]: row for row in read(sink.folder) if row["id"] >= first}
                assert (reader, [exact(found[row["id"]]) for row in rows]) == (reader, [exact(row) for row in rows])

        values(rows_of(format, micro=True), check)


# -- files of others, and a source


def put(folder: Path, name: str, format: str, rows: list[dict[str, Any]]) -> None:
    file = folder / f".{name}"
    match format:
        case "parquet":
            pq.write_table(pa.Table.from_pylist(rows, ARROW), file)
        case "orc":
            orc.write_table(pa.Table.from_pylist(rows, ARROW), file)
        case "json":
            file.write_text("".join(json.dumps(as_json(row)) + "\n" for row in rows))
        case _:
            with file.open("w", newline="", encoding="utf-8") as text:
                writer = csv.DictWriter(text, list(rows[0]), quoting=csv.QUOTE_ALL, lineterminator="\n")
                writer.writeheader()
                writer.writerows(as_json(row) | {"flag": str(row["flag"]).lower()} for row in rows)
    file.rename(folder / name)


def of_records(row: dict[str, Any]) -> dict[str, Any]:
    """The values of a record of JSON."""
    read: dict[str, Callable[[Any], Any]] = {
        "f32": float,
        "f64": float,
        "price": lambda price: Decimal(price).quantize(Decimal("0.0001"), context=DIGITS),
        "day": lambda days: dt.date.fromordinal(days + dt.date(1970, 1, 1).toordinal()),
        "at": lambda millis: EPOCH + millis * 1000 * MICRO,
        "data": base64.b64decode,
    }
    return {name: read.get(name, lambda same: same)(value) for name, value in row.items()}


@pytest.mark.parametrize("format", READERS)
def test_values_of_a_foreign_writer_arrive_in_the_topic_of_a_source(
    request: pytest.FixtureRequest, kafka: Kafka, tmp_path: Path, format: str
) -> None:
    put_so_far = 0
    more = {**OPTIONS.get(format, {}), **({"option_multiLine": "true"} if format == "csv" else {})}
    more |= {} if format == "delta" else {"schema": schema_of(format)}
    with Source(
        spark_for(format, request),
        kafka,
        tmp_path,
        format=format,
        value_converter_decimal_format="NUMERIC",
        **more,
    ) as source:
        if format == "delta":
            delta.create(source.folder, {"id": "INT", **TYPES})
        source.start()

        def check(given: list[dict[str, Any]]) -> None:
            nonlocal put_so_far
            rows = [{"id": put_so_far + i, **row} for i, row in enumerate(given)]
            if format == "delta":
                put(source.folder, f"{put_so_far}.parquet", "parquet", rows)
                delta.add_file(source.folder, f"{put_so_far}.parquet")
            else:
                put(source.folder, f"{put_so_far}.{format}", format, rows)
            first, put_so_far = put_so_far, put_so_far + len(rows)
            source.wait(put_so_far)
            arrived = (json.loads(value or b"", parse_float=str) for value in kafka.values(source.topic))
            found = {row["id"]: of_records(row) for row in arrived if row["id"] >= first}
            assert [exact(found[row["id"]]) for row in rows] == [exact(row) for row in rows]

        values(rows_of(format, micro=False), check)
