"""Columns of values as Java prints them: what ``printing`` does of one value, a field of all structs at a time.

No ``dict`` is made of the rows of a table. Numbers that orjson spells as Java does are printed by it, a whole column at
once, which takes a fifth of the time that Python takes for one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

import orjson

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import Schema, SchemaType
from penstock.values.printing import printer, to_string

Texts = Sequence[str | None]
"""The texts of a column, None for nulls."""

_NONE = type(None)
_TEXTS = {str, _NONE}
_FEWEST = 4
"""With fewer maps for each set of keys they are printed one by one."""
NUMBERS = {
    int: {SchemaType.INT8, SchemaType.INT16, SchemaType.INT32, SchemaType.INT64},
    float: {SchemaType.FLOAT64},
    bool: {SchemaType.BOOLEAN},
}
"""Types that orjson may print: types of schemas by the class of their values."""


def to_strings(schemas: Sequence[Schema | None], values: Sequence[Any] | Table) -> list[str]:
    """``to_string`` of columns of equal length. Raises DataError for a value that is nested too deeply."""
    try:
        return _to_strings(schemas, values)
    except RecursionError as error:
        raise DataError("A value is nested too deeply to be printed") from error


def _to_strings(schemas: Sequence[Schema | None], values: Sequence[Any] | Table) -> list[str]:
    if not values:
        return []
    if schemas.count(schemas[0]) < len(schemas):
        there = [row for row, value in enumerate(values) if value is not None]
        if not 0 < len(there) < len(values):
            return list(map(to_string, schemas, values))
        texts = iter(_to_strings([schemas[row] for row in there], [values[row] for row in there]))
        return ["null" if value is None else next(texts) for value in values]
    return _or_null(*texts_of(schemas[0], values))


def texts_of(schema: Schema | None, column: Sequence[Any]) -> tuple[Texts, bool]:
    """The texts, and whether there are nulls among them."""
    if isinstance(column, Table):
        return _maps(column) if schema is None else _structs(schema, column.as_dict(), len(column)), False
    kinds = set(map(type, column))
    if kinds <= _TEXTS:
        return column, _NONE in kinds
    if _NONE in kinds:
        texts = iter(texts_of(schema, there)[0] if (there := [value for value in column if value is not None]) else ())
        return [None if value is None else next(texts) for value in column], True
    if kinds == {dict} and schema is not None and schema.type is SchemaType.STRUCT:
        fields = {field.name: [row.get(field.name) for row in column] for field in schema.fields}
        return _structs(schema, fields, len(column)), False
    if kinds == {dict} and schema is None:
        return _maps_of_any_keys(column), False
    if kinds == {list} and (schema is None or schema.type is SchemaType.ARRAY):
        return _lists(None if schema is None else schema.value_schema, column), False
    return numbers(schema, column, kinds) or list(map(printer(schema), column)), False


def _or_null(texts: Texts, nulls: bool) -> list[str]:
    return ["null" if text is None else text for text in texts] if nulls else list(texts)  # type: ignore[arg-type]


def numbers(schema: Schema | None, column: Sequence[Any], kinds: set[type]) -> list[str] | None:
    """The texts of numbers; None unless orjson spells all of these as Java does. ``kinds`` are the column's classes."""
    if len(kinds) != 1:
        return None
    (kind,) = kinds
    if kind not in NUMBERS or (schema is not None and schema.type not in NUMBERS[kind]):
        return None
    if kind is float and not _without_exponents(column):
        return None
    try:
        return orjson.dumps(list(column))[1:-1].decode().split(",")
    except TypeError:  # more than 64 bits
        return None


def _without_exponents(doubles: Sequence[float]) -> bool:
    """Whether Java prints none of these with an exponent, and none is infinite or NaN."""
    if min(doubles) >= 1e-3 and max(doubles) < 1e7 and sum(doubles) > 0:  # a sum shows NaN, min and max may not
        return True
    return all(1e-3 <= abs(double) < 1e7 or double == 0 for double in doubles)


def _maps(table: Table) -> list[str]:
    pieces: list[Iterable[str]] = []
    text = "{"
    for place, (name, column) in enumerate(zip(table.names, table.columns, strict=True)):
        text += f"{', ' if place else ''}{to_string(None, name)}="
        if (constant := _constant(column)) is not None:
            text += constant
        else:
            pieces += repeat(text), _or_null(*texts_of(None, column))
            text = ""
    return _joined(pieces, text + "}", len(table))


def _maps_of_any_keys(maps: Sequence[dict[Any, Any]]) -> list[str]:
    """Print maps that have the same string keys, in the same order, as a table."""
    rows: dict[tuple[Any, ...], list[int]] = {}
    for row, keys in enumerate(map(tuple, maps)):
        rows.setdefault(keys, []).append(row)
    if len(rows) * _FEWEST > len(maps):
        return list(map(printer(None), maps))
    texts = [""] * len(maps)
    for names, places in rows.items():
        group = [maps[row] for row in places]
        if set(map(type, names)) == {str}:
            shown = _maps(Table(names, [list(map(itemgetter(name), group)) for name in names]))
        else:
            shown = list(map(printer(None), group))
        for row, text in zip(places, shown, strict=True):
            texts[row] = text
    return texts


def _lists(schema: Schema | None, lists: Sequence[list[Any]]) -> list[str]:
    items = list(chain.from_iterable(lists))
    texts, nulls = texts_of(schema, items) if items else (items, False)
    if texts is items and not nulls:
        return [f"[{', '.join(each)}]" for each in lists]
    shown = iter(_or_null(texts, nulls))
    return [f"[{', '.join(islice(shown, size))}]" for size in map(len, lists)]


def _structs(schema: Schema, columns: Mapping[str, Sequence[Any]], count: int) -> list[str]:
    """Null fields are left out, and so are those without a column."""
    shown = [(f.name, *texts_of(f.schema, columns[f.name])) for f in schema.fields if f.name in columns]
    certain = next((place for place, (_, _, nulls) in enumerate(shown) if not nulls), len(shown))
    """The first field that all structs have: commas go behind the fields before it, and before those behind it."""
    pieces: list[Iterable[str]] = []
    text = "Struct{"
    for place, (name, texts, nulls) in enumerate(shown):
        before, after = f"{',' if place > certain else ''}{name}=", "," if place < certain else ""
        if nulls:
            pieces += repeat(text), ["" if each is None else f"{before}{each}{after}" for each in texts]
            text = ""
        elif (constant := _constant(texts)) is not None:
            text += before + constant
        else:
            pieces += repeat(text + before), texts  # type: ignore[arg-type]
            text = ""
    if certain == len(shown):
        return [f"{row.removesuffix(',')}}}" for row in _joined(pieces, text, count)]
    return _joined(pieces, text + "}", count)


def _constant(column: Sequence[Any]) -> str | None:
    """The text that all values of a column are; None if they differ, or are no texts."""
    if type(column) is not list or type(column[0]) is not str or column[0] != column[-1]:
        return None
    text: str = column[0]
    return text if column.count(text) == len(column) else None


def _joined(pieces: list[Iterable[str]], end: str, count: int) -> list[str]:
    return list(map("".join, zip(*pieces, repeat(end), strict=False))) if pieces else [end] * count
