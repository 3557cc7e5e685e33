"""What becomes of columns that a table does not have: ``schema.evolution``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConnectError
from penstock.spark.query.settings import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class Evolution:
    """Keeps rows to the columns of the table, or where there is none yet, to those of the first batch."""

    def __init__(self, settings: SinkSettings, session: SparkSession) -> None:
        self._settings, self._session = settings, session
        self._known: set[str] | None = None

    def kept(self, frame: DataFrame) -> DataFrame:
        """What is to be written. Raises ConnectError for columns that the table has not and must not get."""
        policy = self._settings.evolution
        if policy == "add":
            return frame
        if self._known is None:
            self._known = self._columns() or set(map(str.casefold, frame.columns))
        new = [name for name in frame.columns if name.casefold() not in self._known]
        kept = [name for name in frame.columns if name not in new]
        if new and (policy == "fail" or not kept):
            raise ConnectError(
                f"{', '.join(new)}: not among the columns of {self._settings.target}, and schema.evolution={policy}. "
                "Add them to the table, leave them out by a transform or by sql, or set schema.evolution=add"
            )
        return frame.select(*(f"`{name}`" for name in kept)) if new else frame

    def _columns(self) -> set[str] | None:
        """Those of the table; None if there is none."""
        settings = self._settings
        reader: Any = self._session.read.format(settings.format).options(**settings.options)
        if settings.format in ("parquet", "orc"):
            reader = reader.option("mergeSchema", "true")
        try:
            table = self._session.table(settings.table) if settings.table is not None else reader.load(settings.path)
            return set(map(str.casefold, table.columns)) or None
        except Exception:
            return None  # whatever else is the matter, the write will tell
