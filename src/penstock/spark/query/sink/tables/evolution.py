"""The columns that a table has, and what becomes of those that it lacks."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException

from penstock.api.drift import DRIFT, SchemaDrift
from penstock.api.errors import ConnectError
from penstock.connectors.spark.sink_settings import EVOLUTION, SinkSettings
from penstock.spark.query.sink.tables.delta import quoted
from penstock.spark.versions import condition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NO_TABLE = frozenset(
    {
        "PATH_NOT_FOUND",
        "UNABLE_TO_INFER_SCHEMA",  # a folder without files
        "TABLE_OR_VIEW_NOT_FOUND",
        "DELTA_TABLE_NOT_FOUND",
        "_LEGACY_ERROR_TEMP_1135",  # a format that can be written, not read
    }
)
"""Spark's conditions for a table that does not exist yet, or whose columns can't be read at all."""
NO_SQL_TABLE = re.compile(r"42P01|42S02|42X05|S0002|ORA-00942|no such table")
"""The same of databases: SQLSTATE of PostgreSQL, MySQL and H2, Derby, SQL Server; messages of Oracle and SQLite."""


_ADDS = {EVOLUTION: "add", DRIFT: SchemaDrift.EVOLVE}
"""The values of settings with which the table gets the columns that it lacks."""


class Evolution:
    """Restricts rows to the columns of the table, as ``schema.drift`` or ``schema.evolution`` says.

    Rows that are written before there is a table keep all of their columns.
    """

    def __init__(self, settings: SinkSettings, session: SparkSession) -> None:
        self._settings, self._session = settings, session
        self._known: set[str] | None = None

    def kept(self, frame: DataFrame, besides: Collection[str] = ()) -> DataFrame:
        """Return the rows to write; the columns ``besides`` are not the table's.

        Raises ConnectError for columns that the table lacks and must not get, and Spark's error if the table's columns
        can't be read now.
        """
        drift = self._settings.drift
        if drift is SchemaDrift.EVOLVE or (known := self._columns()) is None:
            return frame
        new = [name for name in frame.columns if name.casefold() not in known and name not in besides]
        kept = [name for name in frame.columns if name not in new]
        if new and (drift is not SchemaDrift.IGNORE or not kept):
            setting, value = self._settings.drift_setting
            raise ConnectError(
                f"{', '.join(new)}: not among the columns of {self._settings.target}, and {setting}={value}. Add them "
                f"to the table, leave them out by a transform or by sql, or set {setting}={_ADDS[setting]}"
            )
        return frame.select(*map(quoted, kept)) if new else frame

    def accepted(self) -> frozenset[str] | None:
        """Return the columns that records may have, in lower case, if others make them dead letters; None: any."""
        if self._settings.drift is not SchemaDrift.DEAD_LETTER or (known := self._columns()) is None:
            return None
        return frozenset(known)

    def _columns(self) -> set[str] | None:
        """Return the columns of the table, in lower case; None if there is no table yet."""
        if self._known is None:
            found = columns_of_table(self._settings, self._session)
            self._known = set(map(str.casefold, found)) if found is not None else None
        return self._known


def columns_of_table(settings: SinkSettings, session: SparkSession) -> list[str] | None:
    """None if there is no table. Raises Spark's error if they can't be read now."""
    reader: Any = session.read.format(settings.format).options(**settings.options)
    if settings.format in ("parquet", "orc"):
        reader = reader.option("mergeSchema", "true")
    try:
        table = session.table(settings.table) if settings.table is not None else reader.load(settings.path)
        return list(table.columns) or None
    except AnalysisException as error:
        if condition(error) in NO_TABLE:
            return None
        raise
    except Py4JJavaError as error:
        if _is_of_missing_table(session, error.java_exception):
            return None
        raise


def _is_of_missing_table(session: SparkSession, java: Any) -> bool:
    gateway = session.sparkContext._gateway
    while java is not None and not is_instance_of(gateway, java, "java.sql.SQLException"):
        java = java.getCause()
    return java is not None and NO_SQL_TABLE.search(f"{java.getSQLState()} {java.getMessage()}") is not None
