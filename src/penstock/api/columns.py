"""The columns of a batch that are not plain lists: ``Table``, ``Late`` and ``SelectedRows``.

A table keeps maps or structs with the same keys as one column per key: a transform that drops, renames, adds or casts
one field touches neither the other fields nor any single record.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self, TypeVar

Value = TypeVar("Value")


class Table(Sequence[dict[str, Any]]):
    """A column of a batch whose values are all dicts with these keys, in this order.

    It has at least one row and one key.
    Columns are never changed in place, nor are the dicts that ``rows`` makes of them.
    """

    __slots__ = ("_rows", "columns", "names")

    def __init__(self, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> None:
        self.names = tuple(names)
        self.columns = tuple(columns)
        self._rows: list[dict[str, Any]] | None = None

    @classmethod
    def of(cls, columns: Mapping[str, Sequence[Any]]) -> Table:
        """Make a table of columns of equal length, by their names."""
        return cls(tuple(columns), tuple(columns.values()))

    def column(self, name: str) -> Sequence[Any]:
        """Return the column of this name; raises ValueError if there is none."""
        return self.columns[self.names.index(name)]

    def as_dict(self) -> dict[str, Sequence[Any]]:
        """Return the columns by their names: a new dict."""
        return dict(zip(self.names, self.columns, strict=True))

    def rows(self) -> list[dict[str, Any]]:
        """Return the values one by one; they are made by the first call."""
        if self._rows is None:
            names = self.names
            self._rows = [dict(zip(names, row, strict=True)) for row in zip(*self.columns, strict=True)]
        return self._rows

    def select(self, rows: Sequence[int]) -> Table | list[Any]:
        """Return the values at these indices, in the order given; an empty list if there are none."""
        return Table(self.names, [[column[i] for i in rows] for column in self.columns]) if len(rows) else []

    def __len__(self) -> int:
        return len(self.columns[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __getitem__(self, row: int) -> dict[str, Any]:  # type: ignore[override]
        return self.rows()[row]

    def __eq__(self, other: object) -> bool:
        return self.rows() == (other.rows() if isinstance(other, Table) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Table({self.rows()!r})"


class Late:
    """A column that is computed on first access, since many sinks never read it."""

    __slots__ = ("_list", "_make")

    def __init__(self, make: Callable[[], list[Any]]) -> None:
        self._make: Callable[[], list[Any]] | None = make
        self._list: list[Any] = []

    def get(self) -> list[Any]:
        """Return the column, which is computed by the first call."""
        if self._make is not None:
            self._list = self._make()
            self._make = None
        return self._list

    def __eq__(self, other: object) -> bool:
        return self.get() == (other.get() if isinstance(other, Late) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.get())


class SelectedRows(Sequence[Value]):
    """A column whose values are elsewhere: these rows of the column it began as, which tell its records apart."""

    __slots__ = ("rows",)

    rows: Sequence[int]

    @abstractmethod
    def select(self, rows: Sequence[int]) -> Self:
        """Return the values at these indices, in the order given."""
