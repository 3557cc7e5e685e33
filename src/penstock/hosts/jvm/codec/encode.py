"""Python's values to columns of bytes.

A schema says what a value is in Java: the width of a number, map or struct. A value that is not what its schema says
crosses as what it is, so that Java's own checks refuse it in Java's words; so does a value without a schema.
"""

from __future__ import annotations

import datetime as dt
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from itertools import chain
from types import NoneType
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DECIMAL_NAME, Schema, SchemaType
from penstock.hosts.jvm.codec import tags
from penstock.values.logical import milliseconds

_TAGS = {
    SchemaType.INT8: tags.INT8,
    SchemaType.INT16: tags.INT16,
    SchemaType.INT32: tags.INT32,
    SchemaType.INT64: tags.INT64,
    SchemaType.FLOAT32: tags.FLOAT32,
    SchemaType.FLOAT64: tags.FLOAT64,
    SchemaType.BOOLEAN: tags.BOOLEAN,
    SchemaType.STRING: tags.STRING,
    SchemaType.BYTES: tags.BYTES,
    SchemaType.ARRAY: tags.ARRAY,
    SchemaType.MAP: tags.MAP,
    SchemaType.STRUCT: tags.STRUCT,
}
_PLAIN: dict[type, int] = {
    bool: tags.BOOLEAN,
    int: tags.INT64,
    float: tags.FLOAT64,
    str: tags.STRING,
    bytes: tags.BYTES,
    bytearray: tags.BYTES,
    memoryview: tags.BYTES,
    list: tags.ARRAY,
    tuple: tags.ARRAY,
    dict: tags.MAP,
    Decimal: tags.DECIMAL,
    dt.date: tags.DATE,
    dt.time: tags.DATE,
    dt.datetime: tags.DATE,
}
_INTEGERS = (tags.INT8, tags.INT16, tags.INT32, tags.INT64)


class Encoder:
    """Writes columns one after the other to ``parts``; ``number`` gives the number of a schema, 0 for None."""

    def __init__(self, number: Callable[[Schema | None], int]) -> None:
        self._number = number
        self.parts: list[bytes] = []

    def schema_column(self, column: Sequence[Schema | None]) -> None:
        first = column[0] if column else None
        n = len(column)
        if _one(column):
            self.parts.append(bytes((1,)) + _i32(n) + (_i32(self._number(first)) if n else b""))
        else:
            self.parts.append(bytes((0,)) + _i32(n) + array("i", map(self._number, column)).tobytes())

    def columns(self, schemas: Sequence[Schema | None], values: Sequence[Any] | Table) -> None:
        """Write a column whose values have these schemas."""
        first = schemas[0] if schemas else None
        if _one(schemas):
            self.column(first, values)
        else:
            rows = list(values)
            numbers = list(map(self._number, schemas))
            by_number = dict(zip(numbers, schemas, strict=True))
            self._groups(rows, numbers, by_number.__getitem__)

    def column(self, schema: Schema | None, values: Sequence[Any] | Table) -> None:
        if isinstance(values, Table):
            if schema is not None and schema.type is SchemaType.STRUCT:
                self._head(tags.STRUCT, len(values))
                self._struct_columns(schema, values.as_dict(), len(values))
                return
            values = values.rows()
        n = len(values)
        if schema is None and n and isinstance(values, range) and values.step == 1:
            self.parts.append(bytes((tags.SEQUENCE,)) + _i32(n) + struct.pack("<q", values[0]))
            return
        if n > 1 and type(values[0]) in (str, int) and self._repeated(schema, values):
            return
        present: Sequence[Any] = values
        nulls = b""
        kinds = set(map(type, values))
        if not kinds - {NoneType}:
            self.parts.append(bytes((tags.NULLS,)) + _i32(n))
            return
        if NoneType in kinds:
            kinds.remove(NoneType)
            nulls = bytes([each is None for each in values])
            present = [each for each in values if each is not None]
        if len(kinds) > 1:
            kind_numbers = {kind: i for i, kind in enumerate(kinds)}
            rows = list(values)
            self._groups(rows, [-1 if v is None else kind_numbers[type(v)] for v in rows], lambda _: schema)
            return
        tag = _tag(schema, kinds.pop())
        mark = len(self.parts)
        try:
            self._head(tag, n, nulls)
            self._values(tag, schema, present)
        except RecursionError as error:
            del self.parts[mark:]
            raise DataError("A value is nested too deeply to be given to Java") from error
        except (OverflowError, TypeError, AttributeError) as error:
            del self.parts[mark:]
            raise DataError(f"A value of {_shown(schema)} can't be given to Java: {error}") from error

    def _repeated(self, schema: Schema | None, values: Sequence[Any]) -> bool:
        """Write a column of equal values, as most topics and partitions are, as one value; return False for others."""
        first, n = values[0], len(values)
        if values[-1] != first or values.count(first) < n:
            return False
        if type(first) is int and len(set(map(type, values))) > 1:  # True equals 1, and 1.0
            return False
        mark = len(self.parts)
        self.parts.append(bytes((tags.REPEATED,)) + _i32(n))
        try:
            self.column(schema, values[:1])
        except DataError:
            del self.parts[mark:]
            raise
        return True

    def _head(self, tag: int, n: int, nulls: bytes = b"") -> None:
        self.parts.append(bytes((tag,)) + _i32(n) + (b"\1" if nulls else b"\0") + nulls)

    def _groups(self, rows: list[Any], kinds: list[int], schema_of: Callable[[int], Schema | None]) -> None:
        groups: dict[int, list[Any]] = {}
        firsts: list[int] = []
        for i, (kind, value) in enumerate(zip(kinds, rows, strict=True)):
            if kind not in groups:
                groups[kind] = []
                firsts.append(i)
            groups[kind].append(value)
        numbers = {kind: i for i, kind in enumerate(groups)}
        numbered = [numbers[kind] for kind in kinds]
        data = bytes(numbered) if len(groups) <= tags.MAX_SMALL else array("i", numbered).tobytes()
        self.parts.append(bytes((tags.MIXED,)) + _i32(len(rows)) + _i32(len(groups)) + data)
        for first, (kind, values) in zip(firsts, groups.items(), strict=True):
            self.parts.append(_i32(first))
            self.column(schema_of(kind), values)

    def _values(self, tag: int, schema: Schema | None, values: Sequence[Any]) -> None:
        match tag:
            case tags.DATE:
                self.parts.append(array("q", map(milliseconds, values)).tobytes())
            case tags.BOOLEAN:
                self.parts.append(bytes(values))
            case tags.STRING:
                self._strings(values)
            case tags.BYTES:
                self._blobs(values)
            case tags.ARRAY:
                self._lengths(values)
                self.column(None if schema is None else schema.value_schema, list(chain.from_iterable(values)))
            case tags.MAP:
                self._lengths(values)
                self.column(None if schema is None else schema.key_schema, list(chain.from_iterable(values)))
                self.column(
                    None if schema is None else schema.value_schema,
                    list(chain.from_iterable(each.values() for each in values)),
                )
            case tags.STRUCT:
                assert schema is not None
                columns = {field.name: [each.get(field.name) for each in values] for field in schema.fields}
                self._struct_columns(schema, columns, len(values))
            case tags.DECIMAL:
                pairs = list(map(_unscaled, values))
                self.parts.append(array("i", [scale for scale, _ in pairs]).tobytes())
                self._blobs([unscaled for _, unscaled in pairs])
            case _:
                self.parts.append(array(tags.NUMBERS[tag], values).tobytes())

    def _struct_columns(self, schema: Schema, columns: Mapping[str, Sequence[Any]], n: int) -> None:
        self.parts.append(_i32(self._number(schema)))
        for field in schema.fields:
            self.column(field.schema, columns.get(field.name) or [None] * n)

    def _strings(self, values: Sequence[str]) -> None:
        text = "".join(values).encode("utf-8", "replace")
        if len(text) == sum(map(len, values)):
            self._lengths(values)
            self.parts.append(text)
        else:
            self._blobs([each.encode("utf-8", "replace") for each in values])

    def _blobs(self, values: Sequence[Any]) -> None:
        self._lengths(values)
        self.parts.append(b"".join(values))

    def _lengths(self, values: Sequence[Any]) -> None:
        self.parts.append(struct.pack(f"<{len(values)}i", *map(len, values)))


def _one(schemas: Sequence[Schema | None]) -> bool:
    """Return whether all schemas are the same object."""
    if schemas and schemas[0] is None:
        return schemas.count(None) == len(schemas)
    return len(set(map(id, schemas))) <= 1


def _tag(schema: Schema | None, kind: type) -> int:
    """Return the tag of values of this Python type with this schema."""
    plain = _PLAIN.get(kind)
    if plain is None:
        plain = next((tag for each, tag in _PLAIN.items() if issubclass(kind, each)), None)
        if plain is None:
            raise DataError(f"Values of type {kind.__qualname__} have no counterpart in Connect")
    if schema is None:
        return plain
    wanted = _TAGS[schema.type]
    if plain == wanted or plain in (tags.DATE, tags.DECIMAL):
        return plain
    if plain == tags.INT64 and wanted in (*_INTEGERS, tags.FLOAT32, tags.FLOAT64):
        return wanted
    if (plain, wanted) in ((tags.FLOAT64, tags.FLOAT32), (tags.MAP, tags.STRUCT)):
        return wanted
    return plain


def _unscaled(value: Decimal) -> tuple[int, bytes]:
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise DataError(f"{value} is no number that a Decimal can hold")
    number = int("".join(map(str, digits)) or "0")
    number = -number if sign else number
    size = (number if number >= 0 else -number - 1).bit_length() // 8 + 1
    return -exponent, number.to_bytes(size, "big", signed=True)


def _shown(schema: Schema | None) -> str:
    if schema is None:
        return "no schema"
    if schema.name == DECIMAL_NAME:
        return "type decimal"
    return f"type {schema.type.value}"


def _i32(number: int) -> bytes:
    return number.to_bytes(4, "little", signed=True)
