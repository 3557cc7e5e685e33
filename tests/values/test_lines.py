"""Lines of packed columns are those of their rows, to the byte."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from penstock.api.columns import Table
from penstock.api.schema import BOOLEAN, FLOAT32, FLOAT64, INT32, INT64, STRING, Schema, array, struct
from penstock.values import lines
from penstock.values.lines import MANY, to_lines
from penstock.values.packed import PackedNumbers, PackedTexts, SharedBytes
from penstock.values.packed_lines import packed_lines
from penstock.values.printing import to_string

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=9)
KINDS: dict[str, tuple[Schema, st.SearchStrategy[Any]]] = {
    "int": (INT32, st.integers(-(2**31), 2**31 - 1)),
    "long": (INT64, st.integers(-(2**63), 2**63 - 1)),
    "double": (FLOAT64, st.floats() | st.integers(-(10**6), 10**6).map(lambda n: n / 100)),
    "float": (FLOAT32, st.floats(width=32)),
    "text": (STRING, TEXTS),
    "flag": (BOOLEAN, st.booleans()),
    "list": (array(INT32), st.lists(st.integers(0, 9), max_size=2)),
}
DTYPES = {"int": "i4", "long": "i8", "double": "f8", "float": "f4"}
ROWS = 3
"""Number of rows of each example."""


@st.composite
def structs(draw: st.DrawFn, depth: int = 2) -> tuple[Schema, Table]:
    """Draw structs of any of these, packed where possible, and of structs."""
    fields: dict[str, Schema] = {}
    columns: list[Sequence[Any]] = []
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from([*KINDS, *(["struct"] * (depth > 0))]))
        name = draw(st.sampled_from(["f", "größe", "{"])) + str(number)
        if kind == "struct":
            fields[name], column = draw(structs(depth - 1))
            columns.append(column)
            continue
        schema, values = KINDS[kind]
        optional = draw(st.booleans())
        fields[name] = schema.with_(optional=optional)
        drawn = [draw(st.none() | values if optional else values) for _ in range(ROWS)]
        columns.append(packed(kind, drawn, optional) if draw(st.booleans()) else drawn)
    return struct(*fields.items()), Table(tuple(fields), columns)


def packed(kind: str, values: list[Any], optional: bool) -> Sequence[Any]:
    there = np.array([value is not None for value in values]) if optional else None
    if kind in DTYPES:
        return PackedNumbers(np.array([value or 0 for value in values], DTYPES[kind]), there)
    if kind != "text":
        return values
    data, first, last = b"\xff", [], []
    for value in values:
        first.append(len(data))
        data += (value or "").encode()
        last.append(len(data))
        data += b"between"
    return PackedTexts(SharedBytes(data), np.array(first), np.array(last), there)


def one_by_one(schema: Schema, table: Table) -> bytes:
    return "".join([to_string(schema, row) + "\n" for row in table]).encode("utf-8", "replace")


@given(structs())
@example((struct(("n", INT64)), Table(["n"], [PackedNumbers(np.array([2**64 - 1] * 2, "u8"))])))
@example((struct(("s", STRING)), Table(["s"], [["\ud800", "?"]])))
@example((struct(("gone", STRING)), Table(["other"], [[1, 2]])))
def test_lines_are_those_of_the_rows(case):
    schema, table = case
    lines = packed_lines(schema, table)
    assert lines is not None
    assert bytes(lines) == one_by_one(schema, table)


def test_invalid_utf_8_is_replaced(monkeypatch):
    monkeypatch.setattr(lines, "MANY", 1)
    texts = PackedTexts(SharedBytes(b"ab\xffc\xc3\xa9"), np.array([0, 3, 5]), np.array([3, 4, 6]))
    schema, table = struct(("s", STRING)), Table(["s"], [texts])
    assert list(texts) == ["ab�", "c", "�"]
    assert packed_lines(schema, table) is None
    assert bytes(to_lines([schema] * 3, table)) == one_by_one(schema, table)


@pytest.mark.parametrize("count", [2, MANY])
def test_columns_of_any_length_and_of_several_schemas(count):
    table = Table(["n"], [PackedNumbers(np.arange(count))])
    one, other = struct(("n", INT64)), struct(("n", INT64), name="Other")
    for schemas in ([one] * count, [one, *[other] * (count - 1)]):
        assert bytes(to_lines(schemas, table)) == one_by_one(one, table)
    assert bytes(to_lines([None] * count, table)) == "".join(f"{{n={n}}}\n" for n in range(count)).encode()
    assert bytes(to_lines([STRING] * 2, ["a", "b"])) == b"a\nb\n"


def test_packed_columns_are_sequences():
    numbers = PackedNumbers(np.array([1, 2, 2]), np.array([True, True, False]))
    assert (list(numbers), len(numbers), numbers[1], numbers[1:], numbers.count(2)) == (
        [1, 2, None],
        3,
        2,
        [2, None],
        1,
    )
    assert numbers == [1, 2, None]
    assert numbers == PackedNumbers(np.array([1, 2, 7]), np.array([True, True, False]))
    assert repr(numbers) == "[1, 2, None]"
