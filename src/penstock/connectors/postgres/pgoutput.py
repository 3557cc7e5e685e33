"""The messages of PostgreSQL's output plugin ``pgoutput``, protocol version 1: bytes to objects, and nothing else.

See "Logical Replication Message Formats" in PostgreSQL's manual. Values of columns are text, as types print themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from struct import error as StructError

from penstock.api.errors import DataError

Row = list["str | None"]
"""One entry a column of the relation: its text, None for null, or ``UNCHANGED``."""


class Unchanged(str):
    """A long value out of line (TOAST) that an update has not changed, and which is therefore not sent."""

    __slots__ = ()


UNCHANGED = Unchanged("unchanged")


@dataclass(frozen=True, slots=True)
class Begin:
    """The begin of a transaction.

    ``lsn`` is the position of its commit, which orders transactions; ``time`` in microseconds since 1970.
    """

    lsn: int
    time: int
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """The end of a transaction; ``end`` is the position after it."""

    lsn: int
    end: int
    time: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    name: str
    key: bool
    type_oid: int
    modifier: int


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the changes that follow have it. ``identity`` is ``d`` (default), ``n``, ``f`` (full) or ``i``."""

    oid: int
    schema: str
    name: str
    identity: str
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class RowChange:
    """A change of a row: ``c``, ``u`` or ``d``. ``old`` has only the key's columns unless ``old_is_full``."""

    operation: str
    relation: int
    old: Row | None
    old_is_full: bool
    new: Row | None


@dataclass(frozen=True, slots=True)
class Truncate:
    relations: tuple[int, ...]


Message = Begin | Commit | Relation | RowChange | Truncate

_EPOCH_US = 946_684_800_000_000
"""PostgreSQL counts microseconds from the year 2000."""
_BYTE, _SHORT, _INT = Struct(">b"), Struct(">h"), Struct(">I")
_BEGIN, _COMMIT = Struct(">QqI"), Struct(">bQQq")


def decode(data: bytes) -> Message | None:
    """Decode a message; None for messages that are not about rows: origins, types, logical messages.

    Raises DataError for bytes that are no message.
    """
    try:
        return _decoded(_Reader(data))
    except (StructError, IndexError, ValueError) as error:
        raise DataError(f"PostgreSQL sends a message {data[:1]!r} that can't be read: {error}") from error


def _decoded(reader: _Reader) -> Message | None:
    match reader.letter():
        case "B":
            lsn, time, xid = reader.take(_BEGIN)
            return Begin(lsn, time + _EPOCH_US, xid)
        case "C":
            _, lsn, end, time = reader.take(_COMMIT)
            return Commit(lsn, end, time + _EPOCH_US)
        case "R":
            return reader.relation()
        case "I":
            relation = reader.number()
            reader.letter()
            return RowChange("c", relation, None, False, reader.row())
        case "U":
            return reader.update()
        case "D":
            relation, kind = reader.number(), reader.letter()
            return RowChange("d", relation, reader.row(), kind == "O", None)
        case "T":
            count = reader.number()
            reader.take(_BYTE)
            return Truncate(tuple(reader.number() for _ in range(count)))
        case "O" | "Y" | "M":
            return None
        case other:
            raise DataError(
                f"PostgreSQL sends a message {other!r}, which version 1 of pgoutput's protocol does not have"
            )


class _Reader:
    """Takes values off the front of a message."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, struct: Struct) -> tuple[int, ...]:
        found = struct.unpack_from(self._data, self._at)
        self._at += struct.size
        return found

    def number(self) -> int:
        return self.take(_INT)[0]

    def letter(self) -> str:
        self._at += 1
        return chr(self._data[self._at - 1])

    def text(self) -> str:
        end = self._data.index(0, self._at)
        found = self._data[self._at : end].decode()
        self._at = end + 1
        return found

    def relation(self) -> Relation:
        oid, schema, name, identity = self.number(), self.text(), self.text(), self.letter()
        columns = tuple(self._column() for _ in range(self.take(_SHORT)[0]))
        return Relation(oid, schema or "pg_catalog", name, identity, columns)

    def _column(self) -> RelationColumn:
        (flags,) = self.take(_BYTE)
        name, oid = self.text(), self.number()
        modifier = self.number()
        return RelationColumn(name, bool(flags & 1), oid, modifier - (1 << 32) if modifier >> 31 else modifier)

    def update(self) -> RowChange:
        relation, kind, old = self.number(), self.letter(), None
        if kind in "KO":
            old = self.row()
            self.letter()
        return RowChange("u", relation, old, kind == "O", self.row())

    def row(self) -> Row:
        return [self._value() for _ in range(self.take(_SHORT)[0])]

    def _value(self) -> str | None:
        match self.letter():
            case "n":
                return None
            case "u":
                return UNCHANGED
            case "t":
                size = self.number()
                self._at += size
                if self._at > len(self._data):
                    raise ValueError(f"a text of {size} bytes is announced and is not there")
                return self._data[self._at - size : self._at].decode()
            case other:
                raise DataError(f"PostgreSQL sends a value of kind {other!r}, where null or text was asked for")
