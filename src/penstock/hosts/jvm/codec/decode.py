"""Columns of bytes to Python's values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import accumulate, pairwise
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, Schema
from penstock.hosts.jvm.codec import tags
from penstock.values.logical import DAY, day_of, moment_of, time_of

MAX_ROWS = 1 << 25
"""Rows of all columns whose rows have no bytes of their own: nulls, repeated values, empty structs."""
_UNREADABLE = (IndexError, KeyError, ValueError, TypeError, ArithmeticError, StopIteration, RecursionError)


class Decoder:
    """Reads columns one after the other, in the order in which they were written; ``schema_of`` knows their numbers.

    All methods raise DataError for bytes that are no columns.
    """

    def __init__(self, data: memoryview, schema_of: Callable[[int], Schema | None]) -> None:
        self._data, self._schema_of = data, schema_of
        self._at = 0
        self._rows = 0
        """Rows so far that have no bytes of their own."""

    def schema_column(self) -> list[Schema | None]:
        with _reading():
            return self._schema_column()

    def _schema_column(self) -> list[Schema | None]:
        same, n = self._u8() == 1, self._i32()
        if same:
            return [self._schema_of(self._i32())] * self._without_bytes(n) if n else []
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
        with _reading():
            return self._column(schema, each)

    def _column(self, schema: Schema | None, each: list[Schema | None] | None = None) -> list[Any] | Table:
        tag, n = self._u8(), self._i32()
        if tag == tags.NULLS:
            return [None] * self._without_bytes(n)
        if tag == tags.REPEATED:
            repeated = list(self._column(schema))
            return repeated * (self._without_bytes(n * len(repeated)) // max(len(repeated), 1))
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
            columns.append(iter(self._column(schema if each is None else each[first])))
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
                ends = self._ends(n)
                items = list(self._column(None if schema is None else schema.value_schema))
                return [items[start:end] for start, end in pairwise(ends)]
            case tags.MAP:
                ends = self._ends(n)
                keys = list(self._column(None if schema is None else schema.key_schema))
                values = list(self._column(None if schema is None else schema.value_schema))
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
        if schema is None:
            raise DataError("A column of structs from the JVM has no schema")
        columns = [self._column(field.schema) for field in schema.fields]
        if not columns or not n:
            return [{} for _ in range(self._without_bytes(n))]
        lists = [column.rows() if isinstance(column, Table) else column for column in columns]
        if any(len(each) != n for each in lists):
            raise DataError(f"A column of {n} structs from the JVM has fields of other lengths")
        return Table([field.name for field in schema.fields], lists)

    def _dates(self, schema: Schema | None, n: int) -> list[Any]:
        millis = self._numbers("q", n)
        name = None if schema is None else schema.name
        if name == DATE_NAME:
            return [day_of(each // DAY) for each in millis]
        return list(map(time_of if name == TIME_NAME else moment_of, millis))

    def strings(self, n: int) -> list[str]:
        ends = self._ends(n)
        text = str(self._take(self._i32()), "utf-8")
        return [text[start:end] for start, end in pairwise(ends)]

    def _blobs(self, n: int) -> list[bytes]:
        ends = self._ends(n)
        data = bytes(self._take(ends[-1]))
        return [data[start:end] for start, end in pairwise(ends)]

    def _ends(self, n: int) -> list[int]:
        """Read lengths; return 0 and where each of the pieces ends."""
        lengths = self._numbers("i", n)
        if lengths and min(lengths) < 0:
            raise DataError("A column from the JVM has a negative length")
        return [0, *accumulate(lengths)]

    def _numbers(self, format: str, n: int) -> list[Any]:
        size = {"b": 1, "h": 2, "i": 4, "f": 4}.get(format, 8)
        return self._take(n * size).cast(format).tolist()  # type: ignore[call-overload]

    def _take(self, size: int) -> memoryview:
        start, self._at = self._at, self._at + size
        if size < 0 or self._at > len(self._data):
            raise DataError(f"Columns from the JVM end after {len(self._data)} bytes, where {size} more are announced")
        return self._data[start : self._at]

    def _without_bytes(self, n: int) -> int:
        """Return the number of rows, if there may be so many."""
        self._rows += n
        if n < 0 or self._rows > MAX_ROWS:
            raise DataError(f"Columns from the JVM announce {n} rows without bytes; {MAX_ROWS} are accepted")
        return n

    def _u8(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _i32(self) -> int:
        return int.from_bytes(self._take(4), "little", signed=True)


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise DataError(f"Columns from the JVM can't be read: {type(error).__name__}: {error}") from error


def _decimal(scale: int, unscaled: bytes) -> Decimal:
    number = int.from_bytes(unscaled, "big", signed=True)
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -scale))
