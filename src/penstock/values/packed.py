"""Columns of a table as the bytes of messages have them: numbers in an array, texts by their places.

They are sequences like all columns; Python's objects are made of them when the first one is asked for. What handles
columns as a whole, as printing does (``lines``), needs none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


class Packed(Sequence[Any]):
    """``there`` says which values are not None; it is None itself if all are there."""

    __slots__ = ("_values", "there")

    def __init__(self, there: Array | None) -> None:
        self.there = there
        self._values: list[Any] | None = None

    @abstractmethod
    def _made(self) -> list[Any]:
        """The values, with anything where they are None."""

    def values(self) -> list[Any]:
        """Return the values as Python objects, made on first access."""
        if self._values is None:
            made = self._made()
            if self.there is not None:
                made = [value if there else None for value, there in zip(made, self.there.tolist(), strict=True)]
            self._values = made
        return self._values

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())

    def __getitem__(self, row: Any) -> Any:
        return self.values()[row]

    def __contains__(self, value: object) -> bool:
        return value in self.values()

    def count(self, value: Any) -> int:
        return self.values().count(value)

    def __eq__(self, other: object) -> bool:
        return self.values() == (other.values() if isinstance(other, Packed) else other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self.values())


class PackedNumbers(Packed):
    """Integers or floats."""

    __slots__ = ("numbers",)

    def __init__(self, numbers: Array, there: Array | None = None) -> None:
        super().__init__(there)
        self.numbers = numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def _made(self) -> list[Any]:
        return self.numbers.tolist()


class SharedBytes:
    """The bytes that several columns have their texts in."""

    __slots__ = ("_latin", "data", "high")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.high: Array | None = None
        """Number of non-ASCII bytes up to each byte; counted when it is needed."""
        self._latin: str | None = None

    @property
    def latin(self) -> str:
        """A character for each byte."""
        if self._latin is None:
            self._latin = self.data.decode("latin-1")
        return self._latin


class PackedTexts(Packed):
    """Texts from ``first`` to before ``last`` in UTF-8, one behind the other; what is no UTF-8 is replaced, as
    ``bytes.decode`` does.
    """

    __slots__ = ("first", "last", "shared")

    def __init__(self, shared: SharedBytes, first: Array, last: Array, there: Array | None = None) -> None:
        super().__init__(there)
        self.shared, self.first, self.last = shared, first, last

    def __len__(self) -> int:
        return len(self.first)

    def _made(self) -> list[Any]:
        text = self.shared.latin
        found = [text[first:last] for first, last in zip(self.first.tolist(), self.last.tolist(), strict=True)]
        if "".join(found).isascii():
            return found
        return [each if each.isascii() else each.encode("latin-1").decode("utf-8", "replace") for each in found]
