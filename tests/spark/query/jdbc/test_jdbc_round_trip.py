"""10,000 random records of every type into a table and back, in each database."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, JdbcSink, JdbcSource, field

pytestmark = [pytest.mark.integration, pytest.mark.slow]

COUNT = 10_000
DAY = 86_400_000
CONNECT = "org.apache.kafka.connect.data"


def logical(name: str, kind: str, of: str, **more: Any) -> dict[str, Any]:
    return {**field(name, kind), "name": f"{CONNECT}.{of}", "version": 1, **more}


FIELDS = {
    "i8": field("i8", "int8"),
    "i16": field("i16", "int16"),
    "i32": field("i32", "int32"),
    "i64": field("i64", "int64"),
    "f32": field("f32", "float"),
    "f64": field("f64", "double"),
    "flag": field("flag", "boolean"),
    "text": field("text", "string"),
    "data": field("data", "bytes"),
    "price": logical("price", "bytes", "Decimal", parameters={"scale": "3"}),
    "day": logical("day", "int32", "Date"),
    "clock": logical("clock", "int32", "Time"),
    "at": logical("at", "int64", "Timestamp"),
}


def unscaled(number: int) -> str:
    """Return the unscaled value as JSON writes a Decimal's."""
    size = (number if number >= 0 else -number - 1).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, "big", signed=True)).decode()


RANDOM: dict[str, Callable[[random.Random], Any]] = {
    "i8": lambda chance: chance.randrange(-(2**7), 2**7),
    "i16": lambda chance: chance.randrange(-(2**15), 2**15),
    "i32": lambda chance: chance.randrange(-(2**31), 2**31),
    "i64": lambda chance: chance.randrange(-(2**63), 2**63),
    "f32": lambda chance: chance.randrange(-(2**24), 2**24) / 2 ** chance.randrange(30),
    "f64": lambda chance: chance.uniform(-1, 1) * 10 ** chance.randrange(-100, 100),
    "flag": lambda chance: chance.random() < 0.5,
    "text": lambda chance: "".join(chance.choices("aZ0 '\"\\%,;\t\nüß€𝄞漢", k=chance.randrange(20))),
    "data": lambda chance: base64.b64encode(chance.randbytes(chance.randrange(50))).decode(),
    "price": lambda chance: unscaled(chance.randrange(-(10**17), 10**17)),
    "day": lambda chance: chance.randrange(-25_000, 40_000),
    "clock": lambda chance: chance.randrange(DAY),
    "at": lambda chance: chance.randrange(-25_000, 40_000) * DAY + chance.randrange(DAY),
}

Change = dict[str, Callable[[Any], Any]]
SAME: Change = {"f32": lambda value: float(str(np.float32(value)))}
"""JSON has the fewest digits that identify a 32-bit number."""
FLAGS: Change = {**SAME, "flag": int}
"""Databases without booleans."""
SECONDS: Change = {"flag": int, "clock": lambda clock: clock // 1000 * 1000}
"""Derby's times have no fractions of seconds, which it cuts if it may, and its FLOAT has 64 bits."""
NUMBERS: Change = {
    "flag": int,
    **dict.fromkeys(("clock", "at"), unscaled),
    "day": lambda day: unscaled(day * DAY),
}
"""SQLite stores dates and times as numbers of milliseconds."""
LONG: Change = {
    **SAME,
    "price": lambda price: unscaled(int.from_bytes(base64.b64decode(price), "big", signed=True) * 10**124),
}
"""The sink's type of decimals on PostgreSQL does not limit the digits after the point: the source, like Confluent's,
reads it with 127 of them.
"""


@pytest.mark.parametrize(
    ("kind", "without", "change"),
    [
        ("derby", (), SECONDS),
        ("mariadb", (), FLAGS),
        ("postgres", (), LONG),
        # The same holds for SQLite, but there the source reads them as integers.
        ("sqlite", ("price",), NUMBERS),
    ],
)
def test_records_of_every_type_there_and_back(
    spark: Hosted,
    kafka: Kafka,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    kind: str,
    without: tuple[str, ...],
    change: Change,
) -> None:
    match kind:
        case "derby":
            url = f"jdbc:derby:{tmp_path}/derby;create=true"
        case "sqlite":
            url = f"jdbc:sqlite:{tmp_path}/file.db"
        case _:
            server: Postgres | MariaDb = request.getfixturevalue(kind)
            url = server.url
    chance = random.Random(7)
    names = [name for name in FIELDS if name not in without]
    rows = [{"id": i} | {name: RANDOM[name](chance) for name in names} for i in range(COUNT)]
    rows.append({"id": COUNT} | dict.fromkeys(names))
    key = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"}
    key |= {"penstock.coercion": "java"} if kind == "derby" else {}
    with JdbcSink(spark, kafka, url, **key, **{"table.name.format": "there"}) as sink:
        sink.add([ID, *(FIELDS[name] for name in names)], *rows)
        sink.start()
        sink.written(COUNT + 1)
    back = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "there"}
    with JdbcSource(spark, kafka, url, **back, **{"penstock.read.rows": "3000"}) as source:
        source.start()
        found = source.wait("there", COUNT + 1)
    expected = [
        {name: value if value is None else change.get(name, _same)(value) for name, value in row.items()}
        for row in rows
    ]
    assert found == expected


def _same(value: Any) -> Any:
    return value
