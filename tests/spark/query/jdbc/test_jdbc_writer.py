"""Tables that a JDBC sink looks up again before a retry; without a database."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.spark.query.jdbc.plan import Stops
from penstock.spark.query.jdbc.writer import JdbcWriter


class Records:
    def selectExpr(self, *_: str) -> Records:
        return self


class Tables:
    def forget(self) -> None:
        pass

    def look_again(self) -> None:
        pass


class Writer(JdbcWriter):
    """A writer whose batches have rows of ``needed``; its first attempt to write fails."""

    def __init__(self, *known: RowShape) -> None:
        given: Any = self
        given._progress, given._tables, given._drifted = None, Tables(), {}
        given._ledger = None
        self._shapes = list(known)
        self.needed, self.fails = known[-1], True
        self.prepared: list[list[str]] = []

    def _pass(self, records: Any, progress: Any) -> Stops:
        self.prepared.append([shape.table for shape in self._shapes])
        if self.needed not in self._shapes:
            return Stops([self.needed], {("t", 0): 0})
        if self.fails:
            self.fails = False
            raise ConnectError("the database has been started again")
        return Stops()


def test_tables_of_earlier_batches_are_not_needed_after_an_error() -> None:
    column = SinkColumn("id", ColumnKind.INT32, RecordPart.VALUE, "id")
    writer: Any = Writer(RowShape("dropped", (column,)), RowShape("kept", (column,)))
    version = BatchVersion("e", 1)
    with pytest.raises(ConnectError, match="started again") as caught:
        writer.write(Records(), version, lambda: None)
    assert caught.value.__cause__ is None
    writer.write(Records(), version, lambda: None)
    assert writer.prepared == [["dropped", "kept"], [], ["kept"]]
