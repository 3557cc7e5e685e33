"""Arrow arrays of rows made into those of a table's columns, by their names at every depth."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.api.errors import DataError

_MICROSECONDS = 1_000
"""Microseconds of a millisecond, in which Connect counts times of a day."""
_DAY = 86_400_000


class TableShape:
    """Makes arrays of the columns of ``schema``, which has the field IDs; picklable."""

    def __init__(self, schema: pa.Schema, *, ignores_case: bool) -> None:
        self.schema, self._ignores_case = schema, ignores_case

    def rows(self, rows: pa.StructArray) -> pa.StructArray:
        """Return the same rows with all columns of the table.

        Raises DataError and Arrow's errors for a value that its column can't hold.
        """
        return self._struct(rows, pa.struct(list(self.schema)), "")

    def _struct(self, array: pa.StructArray, kind: pa.StructType, path: str) -> pa.StructArray:
        given = {self._key(each.name): number for number, each in enumerate(array.type)}
        missing = array.is_null() if array.null_count else None
        arrays = []
        for field in kind:
            place = f"{path}{field.name}"
            number = given.get(self._key(field.name))
            if number is None:
                made = pa.nulls(len(array), field.type)
            else:
                made = self._array(array.field(number), field.type, place)
            if not field.nullable and made.null_count and _has_null(made, missing):
                raise DataError(f"Column {place} of the table is required, and the record has no value for it")
            arrays.append(made)
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=missing)

    def _array(self, array: pa.Array, kind: pa.DataType, path: str) -> pa.Array:
        if pa.types.is_struct(kind):
            return self._struct(array, kind, f"{path}.")
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            return self._list(array, kind, path)
        if pa.types.is_map(kind):
            return self._map(array, kind, path)
        if array.type == kind:
            return array
        if pa.types.is_time(kind):
            return _times(array, path).cast(kind)
        if isinstance(kind, pa.UuidType):
            return _uuids(array, path).cast(kind)
        if pa.types.is_fixed_size_binary(kind):
            return _fixed(array, kind, path)
        return array.cast(kind)

    def _list(self, array: pa.Array, kind: Any, path: str) -> pa.Array:
        field, array = kind.value_field, _whole(array)
        values = self._array(array.values, field.type, f"{path}[]")
        if not field.nullable and values.null_count:
            raise DataError(f"Column {path} of the table has required elements, and the record has one without a value")
        offsets = array.offsets.cast(pa.int64()) if pa.types.is_large_list(kind) else array.offsets
        made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
        missing = array.is_null() if array.null_count else None
        return made.from_arrays(offsets, values, type=kind, mask=missing)

    def _map(self, array: pa.MapArray, kind: pa.MapType, path: str) -> pa.MapArray:
        array = _whole(array)
        keys = self._array(array.keys, kind.key_type, f"{path} (key)")
        items = self._array(array.items, kind.item_type, f"{path}{{}}")
        if not kind.item_field.nullable and items.null_count:
            raise DataError(f"Column {path} of the table has required values, and the record has a key without one")
        missing = array.is_null() if array.null_count else None
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=missing)

    def _key(self, name: str) -> str:
        return name.casefold() if self._ignores_case else name


def renamed(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the same rows with the names of ``schema`` at every depth, which has the same types otherwise."""
    return pa.record_batch(_Renamed(rows, schema))


@dataclass(frozen=True, slots=True)
class _Renamed:
    """Rows as Arrow's interface between libraries hands them over: by position, without a copy."""

    rows: pa.RecordBatch
    schema: pa.Schema

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]:
        return self.schema.__arrow_c_schema__(), self.rows.__arrow_c_array__()[1]


def _has_null(array: pa.Array, missing: pa.BooleanArray | None) -> bool:
    """Return whether a value is null though what contains it is there."""
    return missing is None or bool(pc.any(pc.and_not(array.is_null(), missing)).as_py())


def _times(array: pa.Array, path: str) -> pa.Array:
    """Return microseconds since midnight of milliseconds."""
    given = array.cast(pa.int64())
    bounds = pc.min_max(given).as_py()
    for each in (bounds["min"], bounds["max"]):
        if each is not None and not 0 <= each < _DAY:
            raise DataError(f"Column {path} of the table takes times of a day, as milliseconds since midnight: {each}")
    return pc.multiply(given, _MICROSECONDS)


def _whole(array: pa.Array) -> pa.Array:
    """Return the same values as an array of their own, which is no part of a larger one."""
    return pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array


def _uuids(array: pa.Array, path: str) -> pa.Array:
    try:
        values = [None if each is None else uuid.UUID(each).bytes for each in array.to_pylist()]
    except (ValueError, AttributeError, TypeError) as error:
        raise DataError(f"Column {path} of the table takes UUIDs: {error}") from error
    return pa.array(values, pa.binary(16))


def _fixed(array: pa.Array, kind: pa.FixedSizeBinaryType, path: str) -> pa.Array:
    lengths = pc.unique(pc.binary_length(array).drop_null()).to_pylist()
    if any(each != kind.byte_width for each in lengths):
        raise DataError(f"Column {path} of the table takes {kind.byte_width} bytes, not {max(lengths)}")
    return array.cast(kind)
