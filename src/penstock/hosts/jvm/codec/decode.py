"""Columns of bytes to Python's values."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, Schema
from penstock.hosts.jvm.codec import tags
from penstock.values.logical import DAY, day_of, moment_of, time_of


class Decoder:
    """Reads columns one after the other, in the order in which they were written; ``schema_of`` knows their numbers."""

    def __init__(self, data: memoryview, schema_of: Callable[[int], Schema | None]) -> None:
        self._data, self._schema_of = data, schema_of
        self._at = 0

    def schema_column(self) -> list[Schema | None]:
        same, n = self._u8() == 1, self._i32()
        if same:
            return [self._schema_of(self._i32())] * n if n else []
        numbers = self._numbers("i", n)
        known = {number: self._schema_of(number) for number in set(numbers)}
        return [known[number] for number in numbers]

    def columns(self, schemas: list[Schema | None]) -> list[Any] | Table:
        """Read a column whose values have these schemas."""
        if not schemas:
            return self.column(None)
        first = schemas[0]
        if all(schema is first for schema in schemas):
            return self.column(first)
        return self.column(None, schemas)

    def column(self, schema: Schema | None, each: list[Schema | None] | None = None) -> list[Any] | Table:
        """Read a column; ``each``: the schema of each row, if they differ."""
        tag, n = self._u8(), self._i32()
        if tag == tags.NULLS:
            return [None] * n
        if tag == tags.REPEATED:
            return list(self.column(schema)) * n
        if tag == tags.MIXED:
            return self._mixed(schema, each, n)
        if not self._u8():
            return self._values(tag, schema, n)
        nulls = bytes(self._take(n))
        present = iter(self._values(tag, schema, nulls.count(0)))
        return [None if null else next(present) for null in nulls]

    def plain(self) -> list[Any]:
        """Read a column without a schema whose values are no structs."""
        return list(self.column(None))

    def _mixed(self, schema: Schema | None, each: list[Schema | None] | None, n: int) -> list[Any]:
        groups = self._i32()
        rows = list(self._take(n)) if groups <= tags.MAX_SMALL else self._numbers("i", n)
        columns = []
        for _ in range(groups):
            first = self._i32()
            columns.append(iter(self.column(schema if each is None else each[first])))
        return [next(columns[row]) for row in rows]

    def _values(self, tag: int, schema: Schema | None, n: int) -> list[Any] | Table:
        match tag:
            case tags.DATE:
                return self._dates(schema, n)
            case tags.BOOLEAN:
                return list(map(bool, self._take(n)))
            case tags.STRING:
                return self.strings(n)
            case tags.BYTES:
                return self._blobs(n)
            case tags.ARRAY:
                ends = [0, *accumulate(self._numbers("i", n))]
                items = list(self.column(None if schema is None else schema.value_schema))
                return [items[start:end] for start, end in pairwise(ends)]
            case tags.MAP:
                ends = [0, *accumulate(self._numbers("i", n))]
                keys = list(self.column(None if schema is None else schema.key_schema))
                values = list(self.column(None if schema is None else schema.value_schema))
                try:
                    return [dict(zip(keys[s:e], values[s:e], strict=True)) for s, e in pairwise(ends)]
                except TypeError as error:
                    raise DataError(f"A map whose keys are no plain values can't leave the JVM: {error}") from error
            case tags.STRUCT:
                return self._structs(n)
            case tags.DECIMAL:
                return list(map(_decimal, self._numbers("i", n), self._blobs(n)))
            case _:
                return self._numbers(tags.NUMBERS[tag], n)

    def _structs(self, n: int) -> list[Any] | Table:
        schema = self._schema_of(self._i32())
        assert schema is not None
        columns = [self.column(field.schema) for field in schema.fields]
        if not columns or not n:
            return [{} for _ in range(n)]
        lists = [column.rows() if isinstance(column, Table) else column for column in columns]
        return Table([field.name for field in schema.fields], lists)

    def _dates(self, schema: Schema | None, n: int) -> list[Any]:
        millis = self._numbers("q", n)
        name = None if schema is None else schema.name
        if name == DATE_NAME:
            return [day_of(each // DAY) for each in millis]
        return list(map(time_of if name == TIME_NAME else moment_of, millis))

    def strings(self, n: int) -> list[str]:
        lengths = self._numbers("i", n)
        text = str(self._take(self._i32()), "utf-8")
        return [text[start:end] for start, end in pairwise([0, *accumulate(lengths)])]

    def _blobs(self, n: int) -> list[bytes]:
        lengths = self._numbers("i", n)
        data = bytes(self._take(sum(lengths)))
        return [data[start:end] for start, end in pairwise([0, *accumulate(lengths)])]

    def _numbers(self, format: str, n: int) -> list[Any]:
        size = {"b": 1, "h": 2, "i": 4, "f": 4}.get(format, 8)
        return self._take(n * size).cast(format).tolist()  # type: ignore[call-overload]

    def _take(self, size: int) -> memoryview:
        start, self._at = self._at, self._at + size
        return self._data[start : self._at]

    def _u8(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _i32(self) -> int:
        return int.from_bytes(self._take(4), "little", signed=True)


def _decimal(scale: int, unscaled: bytes) -> Decimal:
    number = int.from_bytes(unscaled, "big", signed=True)
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale))
