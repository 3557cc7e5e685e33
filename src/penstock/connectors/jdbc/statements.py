"""The statement of a shape, and the table that keeps the numbers of batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.connectors.jdbc.dialects.base import Dialect, Statement


def statement_of(dialect: Dialect, mode: str, shape: RowShape) -> Statement:
    """``mode``: the setting ``insert.mode``. Raises ConnectError where there is nothing to change."""
    table = dialect.table_name(shape.table)
    if shape.delete:
        return dialect.delete(table, shape.keys)
    match mode:
        case "upsert":
            return dialect.upsert(table, shape.keys, shape.others)
        case "update":
            if not shape.others:
                raise ConnectError(f"insert.mode=update has no column of {shape.table} to change beside its key")
            return dialect.update(table, shape.keys, shape.others)
    return dialect.insert(table, shape.columns)


def _column(name: str, kind: ColumnKind, *, key: bool = False) -> SinkColumn:
    return SinkColumn(name, kind, RecordPart.KAFKA, None, key)


_KEYS = (
    _column("sink", ColumnKind.STRING, key=True),
    _column("topic", ColumnKind.STRING, key=True),
    _column("part", ColumnKind.INT32, key=True),
)
_STATE = (
    _column("epoch", ColumnKind.STRING),
    _column("batch", ColumnKind.INT64),
    _column("next_offset", ColumnKind.INT64),
)


@dataclass(frozen=True, slots=True)
class LedgerStatements:
    """SQL of the table with a row for each partition of a topic: the last batch that was written of it, and the offset
    after its last record.
    """

    create: str
    select: str
    update: str
    insert: str
    known: str
    """The batches of one sink."""
    stored: str
    """The partitions of one sink, with their batches and offsets."""
    fence: str
    """Finds the generation of a run, and keeps it from being changed up to the commit; see ``penstock.jdbc.Ledger``."""

    @classmethod
    def of(cls, dialect: Dialect, table: str) -> Self:
        name = dialect.table_name(table)
        q = dialect.quoted
        where = " AND ".join(f"{q(column.name)} = ?" for column in _KEYS)
        unchanged = f"{q('batch')} = ? AND {q('next_offset')} = ?"
        # The row of the generation has no partition.
        partitions = f"{q('sink')} = ? AND {q('part')} >= 0"
        state = ", ".join(q(column.name) for column in _STATE)
        change = ", ".join(f"{q(column.name)} = ?" for column in _STATE)
        return cls(
            dialect.create(name, [*_KEYS, *_STATE]),
            f"SELECT {state} FROM {dialect.table(name)} WHERE {where}",
            f"UPDATE {dialect.table(name)} SET {change} WHERE {where} AND {unchanged}",
            dialect.insert(name, [*_STATE, *_KEYS]).sql,
            f"SELECT {q('epoch')}, {q('batch')} FROM {dialect.table(name)} WHERE {partitions}",
            f"SELECT {q('topic')}, {q('part')}, {state} FROM {dialect.table(name)} WHERE {partitions}",
            dialect.locked(dialect.table(name), q("next_offset"), f"{where} AND {q('epoch')} = ?"),
        )
