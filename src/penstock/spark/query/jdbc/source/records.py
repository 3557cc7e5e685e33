"""Records of the rows that Spark's executors send, with the position in the table after each.

Rows with the same time may be many: the position is behind them only when all of them have been taken.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.api import schema as s
from penstock.api.columns import Table as Columns
from penstock.api.errors import DataError
from penstock.connectors.jdbc.source.offsets import NANOS, TablePosition
from penstock.connectors.jdbc.source.types import SourceField


@dataclass(frozen=True, slots=True)
class ReadShape:
    """The columns of a read."""

    fields: tuple[SourceField, ...]
    schema: s.Schema
    by_number: bool
    by_time: bool

    @classmethod
    def of(cls, fields: Sequence[SourceField], name: str | None, by_number: bool, by_time: bool) -> ReadShape:
        schema = s.struct(*((field.name, field.schema) for field in fields), name=name)
        return cls(tuple(fields), schema, by_number, by_time)

    def values(self, rows: pa.RecordBatch) -> Columns:
        columns = [_values(field, rows.column(i)) for i, field in enumerate(self.fields)]
        return Columns([field.name for field in self.fields], columns)

    def positions(self, rows: pa.RecordBatch) -> RowPositions:
        """Return the position of each row, in the order of the statement."""
        at, nothing = len(self.fields), [None] * rows.num_rows
        numbers: Sequence[int | None] = nothing
        if self.by_number:
            numbers, at = rows.column(at).to_pylist(), at + 1
        if not self.by_time:
            return RowPositions(numbers, nothing)
        seconds, nanos = rows.column(at).to_pylist(), rows.column(at + 1).to_pylist()
        return RowPositions(numbers, [second * NANOS + nano for second, nano in zip(seconds, nanos, strict=True)])


@dataclass(frozen=True, slots=True)
class RowPositions(Sequence[TablePosition]):
    """Positions of rows, by their numbers and times."""

    numbers: Sequence[int | None]
    times: Sequence[int | None]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, row: Any) -> TablePosition:  # type: ignore[override]
        return TablePosition(self.numbers[row], self.times[row])


@dataclass(frozen=True, slots=True)
class RowOffsets(Sequence[dict[str, Any]]):
    """Source offsets of rows, made on access: mostly only the last one is used."""

    positions: RowPositions

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, row: Any) -> dict[str, Any]:  # type: ignore[override]
        return self.positions[row].offset()


@dataclass(frozen=True, slots=True)
class BatchOffsets:
    """Source offsets of a batch's rows.

    ``behind``: the position after its complete groups. ``complete``: how many rows those have.

    ``group``: the position of the last row, which counts when no more rows of its time can come.
    """

    rows: Sequence[Any]
    behind: TablePosition
    complete: int
    group: TablePosition | None


def offsets_of(
    positions: RowPositions, shape: ReadShape, before: TablePosition, group: TablePosition | None
) -> BatchOffsets:
    """Return the offsets of a batch; ``before`` and ``group`` are ``behind`` and ``group`` of the previous one."""
    if shape.by_number:
        return BatchOffsets(RowOffsets(positions), positions[-1], len(positions), None)
    if not shape.by_time:
        return BatchOffsets([None] * len(positions), before, len(positions), None)
    found: list[Any] = []
    behind, offset, complete = before, before.offset(), 0
    last = None if group is None else group.time
    for i, time in enumerate(positions.times):
        if last is not None and time != last:
            behind, complete = TablePosition(time=last), i
            offset = behind.offset()
            if i:
                found[-1] = offset
        last = time
        found.append(offset)
    return BatchOffsets(found, behind, complete, None if last is None else TablePosition(time=last))


def _values(field: SourceField, column: pa.Array) -> list[Any]:
    values: list[Any] = column.to_pylist()
    made = _MAKERS.get(field.schema.name)
    if made is None:
        return values
    try:
        return [None if value is None else made(value) for value in values]
    except OverflowError:
        raise DataError(
            f"Column {field.name} has a value beyond the years 1 to 9999, which Connect's "
            f"{str(field.schema.name).rpartition('.')[2]} can't be here: leave such rows out by `query`"
        ) from None


_EPOCH, _MICRO = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(microseconds=1)
_EPOCH_ORDINAL = _EPOCH.toordinal()


def _day(days: int) -> dt.date:
    try:
        return dt.date.fromordinal(_EPOCH_ORDINAL + days)
    except ValueError as error:
        raise OverflowError from error


def _time(millis: int) -> dt.time:
    seconds, milli = divmod(millis, 1000)
    return dt.time(seconds // 3600, seconds // 60 % 60, seconds % 60, milli * 1000)


def _moment(micros: int) -> dt.datetime:
    return _EPOCH + micros * _MICRO


_MAKERS: dict[str | None, Callable[[Any], Any]] = {
    s.DATE_NAME: _day,
    s.TIME_NAME: _time,
    s.TIMESTAMP_NAME: _moment,
    s.DECIMAL_NAME: Decimal,
}
"""By the name of a schema, how its value is made of what was read; ten times as fast as PyArrow."""
