"""Differences between the columns of records and those of a table, at every depth.

They follow from schemas alone: a field whose values are all null is one, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark.sql import types as t

from penstock.spark.query.sink.rows.columns import BITS

Path = tuple[str, ...]
"""The names of a column and of what contains it; ``element``, ``key`` and ``value`` in lists and maps."""
ANY_PRECISION = 38
"""The precision of decimals whose records do not say theirs: whether they fit is seen by their values."""


@dataclass(slots=True)
class Drift:
    """Changes of a table that could then hold all that records of these columns may have."""

    new: list[tuple[Path, t.StructField]] = field(default_factory=list)
    wider: list[tuple[Path, t.DataType]] = field(default_factory=list)
    optional: list[Path] = field(default_factory=list)
    misfits: list[str] = field(default_factory=list)
    """Sentences about columns of types that no change of the table can bring together."""

    @property
    def changes(self) -> bool:
        """Whether the table has to be changed for these records."""
        return bool(self.new or self.wider or self.optional)

    @property
    def refused(self) -> str | None:
        """Why a record of these columns can't be written without changing the table; None if it can."""
        if self.misfits:
            return "; ".join(self.misfits)
        if self.new:
            return f"{', '.join('.'.join(path) for path, _ in self.new)}: not among the columns"
        if self.wider:
            path, kind = self.wider[0]
            return f"{'.'.join(path)} is {kind.simpleString()}, wider than the column"
        return None


def drift(records: t.StructType, table: t.StructType, *, ignores_case: bool) -> Drift:
    """Compare columns of records with those of a table."""
    found = Drift()
    _compare_structs(records, table, (), found, ignores_case)
    return found


def pairs(
    records: t.StructType, table: t.StructType, *, ignores_case: bool
) -> Iterator[tuple[t.StructField, t.StructField | None]]:
    """Yield the fields of records, each with that of the table in which it is written, or None."""
    known = {_key(each.name, ignores_case): each for each in table}
    for each in records:
        yield each, known.get(_key(each.name, ignores_case))


def written(records: t.StructType, table: t.StructType, *, ignores_case: bool) -> t.StructType:
    """Return the columns of rows for a table: of records, those that it has, with names of records and its types."""
    fields = [
        t.StructField(one.name, _written(one.dataType, other.dataType, ignores_case), other.nullable)
        for one, other in pairs(records, table, ignores_case=ignores_case)
        if other is not None
    ]
    return t.StructType(fields)


def _written(one: t.DataType, other: t.DataType, ignores_case: bool) -> t.DataType:
    match one, other:
        case t.StructType(), t.StructType():
            return written(one, other, ignores_case=ignores_case)
        case t.ArrayType(), t.ArrayType():
            return t.ArrayType(_written(one.elementType, other.elementType, ignores_case), other.containsNull)
        case t.MapType(), t.MapType():
            key = _written(one.keyType, other.keyType, ignores_case)
            value = _written(one.valueType, other.valueType, ignores_case)
            return t.MapType(key, value, other.valueContainsNull)
    return other


def _key(name: str, ignores_case: bool) -> str:
    return name.casefold() if ignores_case else name


def _compare_structs(one: t.StructType, other: t.StructType, path: Path, found: Drift, ignores_case: bool) -> None:
    seen: dict[str, str] = {}
    for field_, known in pairs(one, other, ignores_case=ignores_case):
        here = (*path, field_.name)
        if known is None:
            found.new.append((here, field_))
            continue
        if (before := seen.setdefault(known.name, field_.name)) != field_.name:
            found.misfits.append(f"{before} and {field_.name} are both column {known.name}")
            continue
        here = (*path, known.name)
        if field_.nullable and not known.nullable:
            found.optional.append(here)
        _compare(field_.dataType, known.dataType, here, found, ignores_case)
    given = {_key(each.name, ignores_case) for each in one}
    found.optional += [
        (*path, each.name) for each in other if not each.nullable and _key(each.name, ignores_case) not in given
    ]


def _compare(one: t.DataType, other: t.DataType, path: Path, found: Drift, ignores_case: bool) -> None:
    match one, other:
        case t.StructType(), t.StructType():
            _compare_structs(one, other, path, found, ignores_case)
        case t.ArrayType(), t.ArrayType():
            if one.containsNull and not other.containsNull:
                found.optional.append((*path, "element"))
            _compare(one.elementType, other.elementType, (*path, "element"), found, ignores_case)
        case t.MapType(), t.MapType():
            if one.valueContainsNull and not other.valueContainsNull:
                found.optional.append((*path, "value"))
            _compare(one.keyType, other.keyType, (*path, "key"), found, ignores_case)
            _compare(one.valueType, other.valueType, (*path, "value"), found, ignores_case)
        case t.DecimalType(), t.DecimalType() if one.scale == other.scale:
            if other.precision < one.precision < ANY_PRECISION:
                found.wider.append((path, one))
        case _ if type(one) in BITS and type(other) in BITS:
            if max(BITS[type(one)], 32) > BITS[type(other)]:
                found.wider.append((path, one))
        case t.DoubleType(), t.FloatType():
            found.wider.append((path, one))
        case (t.FloatType(), t.DoubleType()) | (t.TimestampType(), t.TimestampNTZType()):
            pass
        case _ if type(one) is not type(other) or isinstance(one, t.DecimalType):
            found.misfits.append(
                f"{'.'.join(path)} is {one.simpleString()} in the records and {other.simpleString()} in the table"
            )
