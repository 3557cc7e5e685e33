"""Objects of JSON as a ``Table``: if all have the same keys, each field is read as a column, and what is of one kind
and in its range, as nearly always, is left as it is.

Nodes are those of orjson. They are not changed before it is certain that they become a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from penstock.api.columns import Table
from penstock.api.schema import Schema
from penstock.java.jackson.node import Node
from penstock.pipeline.converters.scalar_nodes import Read
from penstock.values.hash_map import order_of_keys

_LONG = 2**63
"""orjson reads integers below its negative as floats."""
_NONE = type(None)
_AS_THEY_ARE = frozenset((str, bool, _NONE))
_INTEGERS = frozenset((int, _NONE))

Column = Sequence[Any]


def columns_of_maps(nodes: list[Node]) -> dict[str, Column] | None:
    """The columns of objects with the same keys, in the order of a Java ``HashMap``; None for other nodes."""
    first = nodes[0]
    if type(first) is not dict or not first:
        return None
    order = order_of_keys(tuple(first))
    columns = _columns(order.keys, nodes)
    if columns is None or set(map(len, nodes)) != {len(first)}:
        return None
    if not order.certain and not all(map(list(first).__eq__, map(list, nodes))):
        return None
    return columns


def columns_of_structs(schema: Schema, nodes: list[Node]) -> dict[str, Column] | None:
    """The columns of objects that have all fields of a struct; None if one has not."""
    return _columns(tuple(field.name for field in schema.fields), nodes)


def _columns(names: tuple[str, ...], nodes: list[Node]) -> dict[str, Column] | None:
    """None if there are no names, or one of the nodes has not all of them; those that are no objects have none."""
    try:
        return {name: list(map(itemgetter(name), nodes)) for name in names} or None
    except (KeyError, TypeError):
        return None


def read_maps(columns: dict[str, Column], read: Read) -> Table:
    """``read`` is the function for nodes without a schema."""
    return Table.of({name: _free(column, read) for name, column in columns.items()})


def _free(column: Column, read: Read) -> Column:
    kinds = set(map(type, column))
    if kinds <= _AS_THEY_ARE or (kinds <= _INTEGERS and max(_in_range(column, kinds)) < _LONG):
        return column
    if kinds == {float} and min(column) > -_LONG and max(column) < _LONG:
        return _without_negative_zeros(column)
    return list(map(read, column))


def _in_range(column: Column, kinds: set[type]) -> Column:
    """The integers of a column with these classes, as far as their range is concerned: one at least, and no nulls."""
    return [0, *filter(None, column)] if _NONE in kinds else column


def _without_negative_zeros(column: Column) -> Column:
    """Of floats and nulls."""
    return column if all(column) else [value if value is None else value or 0.0 for value in column]


class StructField(NamedTuple):
    """How a field of a struct is read."""

    name: str
    read: Read
    plain: type | None
    """The type whose values are left as they are, but for the range of an ``int`` and zeros of a ``float``."""
    limit: int
    """An ``int`` is below it and not below its negative."""
    nullable: bool
    """Whether a null is left as it is, too."""


def read_structs(columns: dict[str, Column], fields: Sequence[StructField]) -> Table:
    return Table.of({field.name: _typed(columns[field.name], field) for field in fields})


def _typed(column: Column, field: StructField) -> Column:
    kinds = set(map(type, column))
    others = kinds - {field.plain}
    if field.plain is None or (others and not (field.nullable and others == {_NONE})):
        return list(map(field.read, column))
    if field.plain is float:
        return _without_negative_zeros(column)
    if field.plain is int:
        integers = _in_range(column, kinds)
        if max(integers) >= field.limit or (field.limit < _LONG and min(integers) < -field.limit):
            return list(map(field.read, column))
    return column
