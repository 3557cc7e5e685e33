"""Columns in which values repeat, as timestamps do: of one poll, of one millisecond. Equal ones are converted once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_BY_VALUE = frozenset((int, str, type(None)))
"""Classes whose values are quick to look up; others repeat if the object is the same."""


def converted(convert: Callable[[Any], Any], column: Sequence[Any]) -> list[Any]:
    """``convert`` of each value, None of nulls. It depends on nothing but the value; what it raises is raised."""
    identities = column if _BY_VALUE.issuperset(map(type, column)) else list(map(id, column))
    distinct = dict(zip(identities, column, strict=True))
    if len(distinct) * 2 > len(column):
        return [None if value is None else convert(value) for value in column]
    known = {identity: None if value is None else convert(value) for identity, value in distinct.items()}
    return list(map(known.__getitem__, identities))
