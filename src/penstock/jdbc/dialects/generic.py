"""Any database: only what the SQL standard and the driver tell."""

from __future__ import annotations

from penstock.jdbc.columns import SinkColumn
from penstock.jdbc.dialects.base import Dialect


class Generic(Dialect):
    """Its tables are read, and rows are inserted, updated and deleted. It knows no types of columns, so it creates and
    alters no tables, and no upsert.
    """

    name = "GenericDatabaseDialect"
    subprotocols = ()
    driver = ""
    types = {}
    has_booleans = True

    def binding(self, column: SinkColumn) -> str:
        return column.kind.value
