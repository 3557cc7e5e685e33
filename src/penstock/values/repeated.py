"""Columns in which values repeat: keys that are all null, topics, timestamps of one poll or of one millisecond."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_BY_VALUE = frozenset((int, str, type(None)))
"""Classes whose values are quick to look up, and the same if they are equal. Moments may be equal though an hour lies
between them, by ``fold``: others repeat if the object is the same.
"""


def only_nulls(column: Any) -> bool:
    """Whether a list has nothing else. Quick if its first entry is no null."""
    return type(column) is list and column[:1] == [None] and column.count(None) == len(column)


def distinct(column: Sequence[str]) -> set[str]:
    """The different texts. Quick if there is one, as there nearly always is of topics."""
    return {column[0]} if column and column.count(column[0]) == len(column) else set(column)


def converted(convert: Callable[[Any], Any], column: Sequence[Any]) -> list[Any]:
    """``convert`` of each value, None of nulls; once of values that repeat. It must depend on nothing but the value,
    and what it gives must be immutable; what it raises is raised.
    """
    column = list(column)  # other sequences may make a new object each time that they are asked
    kinds = set(map(type, column))
    by_value = kinds <= _BY_VALUE
    if by_value and len(kinds) == 1 and column[0] is column[-1] and column.count(column[0]) == len(column):
        return [None if column[0] is None else convert(column[0])] * len(column)
    identities = column if by_value else list(map(id, column))
    values = dict(zip(identities, column, strict=True))
    if len(values) * 2 > len(column):
        return [None if value is None else convert(value) for value in column]
    known = {identity: None if value is None else convert(value) for identity, value in values.items()}
    return list(map(known.__getitem__, identities))
