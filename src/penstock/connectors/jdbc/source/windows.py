"""The SELECTs of a read: what is new in a table since its position, in ranges that can be read at the same time.

A range begins after a value and goes up to and including another, so that ranges meet without a gap. Each is in the
order of the mode, and the ranges are in that order too.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Self

from penstock.connectors.jdbc.dialects.base import Dialect
from penstock.connectors.jdbc.source.offsets import NANOS, TablePosition

_BEGINNING = TablePosition()


@dataclass(frozen=True, slots=True)
class Select:
    """A SELECT; its parameters are in the format of Java's class ``Query``."""

    sql: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Extent:
    """The least and the greatest value of the column by which ranges are split, and the number of rows.

    ``bounds``: what the database knows of the values, in their order: about as many rows between any two neighbours, of
    ``described`` rows in all.
    """

    low: int
    high: int
    rows: int
    bounds: tuple[int, ...] = ()
    described: int = 0

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> Self | None:
        """Parse the row of ``Window.extent``; None if there are no rows."""
        if len(texts) < 3 or texts[0] is None or texts[1] is None or texts[2] is None:
            return None
        return cls(value_of(texts[0]), value_of(texts[1]), value_of(texts[2]))

    def cuts(self, most: int, unit: int = 1) -> list[int]:
        """Return the ends of ranges of about ``most`` rows, except the last one; multiples of ``unit``. Ranges between
        two bounds, or without any, are equally long.
        """
        count = -(-self.rows // most)
        points = [self.low, *sorted({bound for bound in self.bounds if self.low < bound < self.high}), self.high]
        each = max(1, self.described // max(1, len(self.bounds) - 1))
        inner = len(points) - 2
        # Rows that have come since the database looked are behind the last bound.
        ends = list(accumulate([each] * inner + [max(each, self.rows - each * inner)]))
        found = set()
        for i in range(1, count):
            # The place of the i-th cut is counted in rows and multiplied by ``count``, to stay whole.
            place = ends[-1] * i
            at = bisect_left(ends, place, key=lambda end: end * count)
            begin, end = points[at], points[at + 1]
            before = ends[at - 1] if at else 0
            found.add(
                (begin + (end - begin) * (place - before * count) // ((ends[at] - before) * count)) // unit * unit
            )
        return sorted(cut for cut in found if self.low <= cut < self.high)


@dataclass(frozen=True, slots=True)
class Window:
    """The rows of one read: ``source`` is a SELECT without WHERE, ``number`` and ``times`` are columns as SQL.

    ``after``: the position; ``until``: times before this one; ``upto``: numbers not greater than this one.
    ``key``: of a whole table, the column by which it is split.
    """

    dialect: Dialect
    source: str
    number: str | None = None
    times: tuple[str, ...] = ()
    after: TablePosition = _BEGINNING
    until: int | None = None
    upto: int | None = None
    key: str | None = None
    suffix: str = ""

    @property
    def axis(self) -> str | None:
        """The column by which it is split into ranges."""
        if self.times:
            return self.times[0] if len(self.times) == 1 else f"COALESCE({','.join(self.times)})"
        return self.number or self.key

    @property
    def kinds(self) -> str:
        """The kinds by which Java reads the columns of ``extent``'s row."""
        return "TTN" if self.times else "NNN"

    def extent(self, table: str) -> Select:
        """Return the SELECT of the rows' Extent."""
        conditions, parameters = self._conditions(None, None)
        sql = f"SELECT MIN({self.axis}), MAX({self.axis}), COUNT(*) FROM {table}"
        return Select(sql + _where(conditions), tuple(parameters))

    def greatest(self, table: str) -> Select:
        """Return the SELECT of the rows' greatest number alone, which an index answers at once."""
        conditions, parameters = self._conditions(None, None)
        return Select(f"SELECT MAX({self.number}) FROM {table}{_where(conditions)}", tuple(parameters))

    def selects(self, cuts: Sequence[int]) -> list[Select]:
        """The ranges between these values; without any one for all rows."""
        ends: list[int | None] = [*cuts, None]
        begins: list[int | None] = [None, *cuts]
        return [self._select(begin, end) for begin, end in zip(begins, ends, strict=True)]

    def _select(self, begin: int | None, end: int | None) -> Select:
        conditions, parameters = self._conditions(begin, end)
        order = [self.axis, self.number] if self.times and self.number else [self.axis]
        sql = self.source + _where(conditions)
        if self.axis is not None:
            sql += " ORDER BY " + ",".join(f"{column} ASC" for column in order)
        return Select(f"{sql} {self.suffix}".rstrip(), tuple(parameters))

    def _conditions(self, begin: int | None, end: int | None) -> tuple[list[str], list[str]]:
        axis, kind = self.axis, self.kinds[0]
        conditions, parameters = self._after() if begin is None else ([f"{axis} > ?"], [text_of(kind, begin)])
        if end is not None:
            conditions.append(f"{axis} <= ?")
            parameters.append(text_of(kind, end))
        elif self.until is not None:
            conditions.append(f"{axis} < ?")
            parameters.append(text_of("T", self.until))
        elif self.upto is not None:
            conditions.append(f"{axis} <= ?")
            parameters.append(text_of("N", self.upto))
        if self.number is not None and (self.times or not conditions):
            # Without a number a row has no place.
            conditions.append(f"{self.number} IS NOT NULL")
        return conditions, parameters

    def _after(self) -> tuple[list[str], list[str]]:
        number, time = self.after.number, self.after.time
        if self.times:
            if time is None:
                return [], []
            moment = text_of("T", time)
            if self.number is None or number is None:
                # A time that comes from the settings has rows of its own, of which none has been read.
                return [f"{self.axis} {'>' if self.number is None else '>='} ?"], [moment]
            both = f"(({self.axis} = ? AND {self.number} > ?) OR {self.axis} > ?)"
            return [both], [moment, text_of("N", number), moment]
        if self.number is None or number is None:
            return [], []
        return [f"{self.number} > ?"], [text_of("N", number)]


def text_of(kind: str, value: int) -> str:
    """A parameter for Java: N and a number, or T and a time in nanoseconds."""
    return f"N{value}" if kind == "N" else f"T{value // NANOS}.{value % NANOS}"


def value_of(text: str) -> int:
    """The number, or the time in nanoseconds, of such a parameter."""
    if text.startswith("N"):
        return int(text[1:])
    seconds, _, nanos = text[1:].partition(".")
    return int(seconds) * NANOS + int(nanos)


def _where(conditions: Sequence[str]) -> str:
    return " WHERE " + " AND ".join(conditions) if conditions else ""
