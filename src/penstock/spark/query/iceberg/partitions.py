"""Rows by the partitions of a table: the values of their partition fields, as Iceberg computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import types as i
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)

from penstock.api.errors import ConnectError

Key = tuple[Any, ...]
"""The values of the partition fields, in the forms in which manifests have them."""
_NAN = float("nan")
"""The one object for all numbers that are none: others are not equal to themselves, and would be as many partitions."""
_DAY = 86_400_000_000
_HOUR = 3_600_000_000


class Partitioner:
    """Divides rows by a partition spec. Transforms are computed of each value that differs, not of each row."""

    def __init__(self, schema: Any, spec: Any) -> None:
        self._size = len(spec.fields)
        # A field of a column that was dropped since is left to a spec as void: it has no value in any row.
        self._fields = [
            (place, _path_of(schema, field.source_id), _transform(field.transform, schema.find_type(field.source_id)))
            for place, field in enumerate(spec.fields)
            if not isinstance(field.transform, VoidTransform)
        ]

    def parts(self, rows: pa.RecordBatch) -> Iterator[tuple[Key, pa.RecordBatch]]:
        """Yield the rows of each partition: parts of one copy of the rows."""
        empty = (None,) * self._size
        if not self._fields:
            yield empty, rows
            return
        codes = np.zeros(rows.num_rows, np.int64)
        keys: list[Key] = [empty]
        for place, path, transform in self._fields:
            encoded = _encoded(_column(rows, path))
            found = transform(encoded.dictionary)
            known = {each: number for number, each in enumerate(dict.fromkeys([*found, None]))}
            numbers = np.array([*(known[each] for each in found), known[None]], np.int64)
            indices = encoded.indices.fill_null(len(found)).to_numpy(zero_copy_only=False).astype(np.int64)
            values = list(known)
            # Numbered again after each field, so that the numbers stay below that of the rows.
            present, codes = np.unique(codes * len(values) + numbers[indices], return_inverse=True)
            keys = [
                (*keys[each // len(values)][:place], values[each % len(values)], *empty[place + 1 :])
                for each in present.tolist()
            ]
        if len(keys) == 1:
            yield keys[0], rows
            return
        rows = rows.take(pa.array(np.argsort(codes, kind="stable")))
        start = 0
        for key, end in zip(keys, np.cumsum(np.bincount(codes)).tolist(), strict=True):
            yield key, rows.slice(start, end - start)
            start = end


def _encoded(column: pa.Array) -> pa.DictionaryArray:
    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    return column.dictionary_encode()


def _path_of(schema: Any, id: int) -> list[str]:
    """Return the names that lead to a column, from the outside."""
    parents = {}

    def visit(struct: Any, path: list[str]) -> None:
        for field in struct.fields:
            parents[field.field_id] = [*path, field.name]
            if isinstance(field.field_type, i.StructType):
                visit(field.field_type, [*path, field.name])

    visit(schema.as_struct(), [])
    if id not in parents:
        raise ConnectError(f"The partition field of column {id} is of a column that the table has not any more")
    return parents[id]


def _column(rows: pa.RecordBatch, path: list[str]) -> pa.Array:
    column = rows.column(path[0])
    for name in path[1:]:
        column = pc.struct_field(column, name)
    return column


Transform = Callable[[pa.Array], list[Any]]


def _transform(transform: Any, kind: Any) -> Transform:
    """Return a function from the values that differ to those of the partition field."""
    match transform:
        case IdentityTransform():
            return lambda values: _plain(values, kind)
        case YearTransform():
            return lambda values: pc.subtract(pc.year(values), 1970).to_pylist()
        case MonthTransform():
            return lambda values: _months(values)
        case DayTransform():
            return lambda values: _floored(values, _DAY)
        case HourTransform():
            return lambda values: _floored(values, _HOUR)
        case BucketTransform() | TruncateTransform():
            compute = transform.transform(kind)
            return lambda values: [compute(each) for each in _plain(values, kind)]
    raise ConnectError(f"The table is partitioned by {transform}, which can't be computed here")


def _months(values: pa.Array) -> list[Any]:
    years = pc.multiply(pc.subtract(pc.year(values), 1970), 12)
    return pc.add(years, pc.subtract(pc.month(values), 1)).to_pylist()


def _floored(values: pa.Array, unit: int) -> list[Any]:
    """Return whole units since 1970, of those before it too."""
    if pa.types.is_date(values.type):
        return values.cast(pa.int32()).to_pylist()
    return [None if each is None else each // unit for each in values.cast(pa.int64()).to_pylist()]


def _plain(values: pa.Array, kind: Any) -> list[Any]:
    """Return values in Iceberg's internal form: numbers of days or microseconds, and bytes."""
    if isinstance(kind, i.DateType):
        return values.cast(pa.int32()).to_pylist()
    if isinstance(kind, (i.TimestampType, i.TimestamptzType, i.TimeType)):
        return values.cast(pa.int64()).to_pylist()
    if isinstance(kind, (i.FloatType, i.DoubleType)):
        return [_NAN if each != each else each for each in values.to_pylist()]
    return values.to_pylist()
