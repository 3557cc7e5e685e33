"""Objects of JSON as a ``Table``: if all have the same keys, each field is read as a column, and what is of one kind
and in its range, as nearly always, is left as it is.

Nodes are those of orjson. They are not changed before it is certain that they become a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
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
_LISTS = frozenset((list, _NONE))

Column = Sequence[Any]
ReadTable = Callable[[list[Node]], Table | None]
"""Returns the objects (at least one) as a table, or None if they differ in form."""


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
    if _are_free(column, kinds) or (kinds <= _LISTS and _are_free(items := _items(column), set(map(type, items)))):
        return column
    if kinds == {float} and min(column) > -_LONG and max(column) < _LONG:
        return _without_negative_zeros(column)
    if dict in kinds and (maps := _inner(column, kinds, True, lambda nodes: _free_maps(nodes, read))) is not None:
        return list(maps)
    return list(map(read, column))


def _are_free(column: Column, kinds: set[type]) -> bool:
    """Whether values of these classes are left as they are."""
    return kinds <= _AS_THEY_ARE or (kinds <= _INTEGERS and max(_in_range(column, kinds)) < _LONG)


def _items(column: Column) -> list[Node]:
    """Return the items of the lists in a column, which may otherwise hold only nulls."""
    return list(chain.from_iterable(filter(None, column)))


def _free_maps(nodes: list[Node], read: Read) -> Table | None:
    columns = columns_of_maps(nodes)
    return None if columns is None else read_maps(columns, read)


class Plain(NamedTuple):
    """Values that are left as they are, but for the range of an ``int`` and zeros of a ``float``."""

    kind: type
    limit: int
    """An ``int`` is below it and not below its negative."""
    nullable: bool
    """Whether nulls are left as they are, too."""


class StructField(NamedTuple):
    """Reader of a field of a struct."""

    name: str
    read: Read
    nullable: bool
    """Whether a null is left as it is."""
    plain: Plain | None
    items: Plain | None
    """The items of an array."""
    inner: ReadTable | None
    """Reads structs that are the values of the field."""


def read_structs(columns: dict[str, Column], fields: Sequence[StructField]) -> Table:
    return Table.of({field.name: _typed(columns[field.name], field) for field in fields})


def _typed(column: Column, field: StructField) -> Column:
    kinds = set(map(type, column))
    if field.plain is not None and _are_plain(column, kinds, field.plain):
        return _without_negative_zeros(column) if field.plain.kind is float else column
    if field.items is not None and kinds <= _LISTS and (field.nullable or _NONE not in kinds):
        items = _items(column)
        without_zeros = field.items.kind is not float or all(items)
        if not items or (without_zeros and _are_plain(items, set(map(type, items)), field.items)):
            return column
    if field.inner is not None and (structs := _inner(column, kinds, field.nullable, field.inner)) is not None:
        return structs
    return list(map(field.read, column))


def _are_plain(column: Column, kinds: set[type], plain: Plain) -> bool:
    others = kinds - {plain.kind}
    if others and not (plain.nullable and others == {_NONE}):
        return False
    if plain.kind is not int:
        return True
    integers = _in_range(column, kinds)
    return max(integers) < plain.limit and (plain.limit == _LONG or -plain.limit <= min(integers))


def _in_range(column: Column, kinds: set[type]) -> Column:
    """The integers of a column with these classes, as far as their range is concerned: one at least, and no nulls."""
    return [0, *filter(None, column)] if _NONE in kinds else column


def _without_negative_zeros(column: Column) -> Column:
    """Return a column of floats and nulls without negative zeros."""
    return column if all(column) else [value if value is None else value or 0.0 for value in column]


def _inner(column: Column, kinds: set[type], nullable: bool, read: ReadTable) -> Column | None:
    """Objects in a column of these classes, with nulls among them if they may be; None if they make no table."""
    if kinds == {dict}:
        return read(list(column))
    if not nullable or kinds != {dict, _NONE}:
        return None
    table = read([node for node in column if node is not None])
    if table is None:
        return None
    rows = iter(table)
    return [None if node is None else next(rows) for node in column]
