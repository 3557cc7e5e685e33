"""Java's class files: what a class defines and refers to (The Java Virtual Machine Specification, chapter 4)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

_MAGIC = b"\xca\xfe\xba\xbe"
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2}
"""Bytes of each kind of constant after its tag, but for texts."""
_TEXT, _CLASS = 1, 7
_MEMBERS = (9, 10, 11)
"""References to fields, methods of classes, methods of interfaces."""
_WIDE = (5, 6)
"""Constants that take two places of the pool."""


class ClassFileError(Exception):
    """The bytes are no class file."""


@dataclass(frozen=True, slots=True, order=True)
class MemberReference:
    """A method or field that a class refers to; names with slashes, as in class files."""

    owner: str
    name: str
    descriptor: str


class ClassFile:
    """A class file. Raises ClassFileError, when it is made or read further, for what is none."""

    def __init__(self, content: bytes) -> None:
        if content[:4] != _MAGIC:
            raise ClassFileError("It does not begin with CAFEBABE")
        self._content = content
        try:
            self._tags, self._places, self._end = _pool(content)
        except (IndexError, KeyError, struct.error) as error:
            raise ClassFileError("Its constants cannot be read") from error

    def _number(self, place: int) -> int:
        return int.from_bytes(self._content[place : place + 2], "big")

    def _place(self, index: int) -> int:
        if not 0 < index < len(self._places):
            raise ClassFileError("It refers to a constant that it lacks")
        return self._places[index]

    def _text(self, index: int) -> str:
        place = self._place(index)
        return self._content[place + 2 : place + 2 + self._number(place)].decode("utf-8", "replace")

    def _class(self, index: int) -> str:
        return self._text(self._number(self._place(index)))

    @cached_property
    def _head(self) -> tuple[str, str, tuple[str, ...], int]:
        """The name of the class, of its superclass (empty for Object) and interfaces, and where its fields begin."""
        try:
            _, own, parent, count = struct.unpack_from(">4H", self._content, self._end)
            interfaces = struct.unpack_from(f">{count}H", self._content, self._end + 8)
            named = tuple(self._class(each) for each in interfaces)
            return self._class(own), self._class(parent) if parent else "", named, self._end + 8 + 2 * count
        except struct.error as error:
            raise ClassFileError("Its head cannot be read") from error

    @property
    def name(self) -> str:
        """Its name with slashes."""
        return self._head[0]

    @property
    def parents(self) -> tuple[str, ...]:
        """Its superclass and its interfaces."""
        _, parent, interfaces, _ = self._head
        return (*((parent,) if parent else ()), *interfaces)

    @cached_property
    def members(self) -> frozenset[tuple[str, str]]:
        """Names and descriptors of its own fields and methods."""
        found, place = set(), self._head[3]
        try:
            for _ in range(2):  # the fields, then the methods
                count, place = self._number(place), place + 2
                for _ in range(count):
                    _, name, descriptor, attributes = struct.unpack_from(">4H", self._content, place)
                    found.add((self._text(name), self._text(descriptor)))
                    place += 8
                    for _ in range(attributes):
                        place += 6 + struct.unpack_from(">I", self._content, place + 2)[0]
        except struct.error as error:
            raise ClassFileError("Its members cannot be read") from error
        return frozenset(found)

    def classes(self) -> Iterator[str]:
        """Yield the classes that it refers to, itself among them; of arrays their elements' classes."""
        for index, tag in enumerate(self._tags):
            if tag == _CLASS:
                name = self._class(index)
                if name.startswith("["):
                    name = name.lstrip("[")
                    if not name.startswith("L"):  # of numbers
                        continue
                    name = name[1:].rstrip(";")
                yield name

    def references(self) -> Iterator[MemberReference]:
        """Yield the methods and fields that it refers to."""
        for index, tag in enumerate(self._tags):
            if tag in _MEMBERS:
                place = self._places[index]
                owner, pair = self._class(self._number(place)), self._place(self._number(place + 2))
                yield MemberReference(owner, self._text(self._number(pair)), self._text(self._number(pair + 2)))


def _pool(content: bytes) -> tuple[list[int], list[int], int]:
    """Return the tag of each constant and where its content begins, by index, and where the pool ends."""
    (count,), place = struct.unpack_from(">H", content, 8), 10
    tags, places = [0] * count, [0] * count
    index = 1
    while index < count:
        tag = content[place]
        tags[index], places[index] = tag, place + 1
        if tag == _TEXT:
            place += 3 + int.from_bytes(content[place + 1 : place + 3], "big")
        else:
            place += 1 + _SIZES[tag]
        index += 2 if tag in _WIDE else 1
    return tags, places, place
