"""Batches whose rows Spark makes of Kafka's records by itself, without a Python process.

Texts and bytes that no transform changes take no more than a cast. The rows and the figures are those that ``rows``
would make of them in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as f

from penstock.api.converter import Converter, HeaderConverter
from penstock.api.drift import SchemaDrift
from penstock.api.query import BatchVersion, SinkTarget
from penstock.connectors.spark.sink_settings import IN_FOLDERS, SinkSettings
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters import ByteArrayConverter, SimpleHeaderConverter, StringConverter
from penstock.pipeline.task import TaskFencedError
from penstock.spark.query.dataframes import full_text, narrowed
from penstock.spark.query.sink.rows.columns import VALUE
from penstock.spark.query.sink.tables.constraints import REFUSES
from penstock.spark.query.sink.tables.evolution import Evolution
from penstock.spark.query.sink.totals import BatchTotals
from penstock.spark.query.sink.writer import BatchWriter, raise_not_written
from penstock.spark.versions import observed, text_of_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HEADERS: tuple[type[HeaderConverter], ...] = (SimpleHeaderConverter, StringConverter)
_HAS_VALUE = f"{VALUE} IS NOT NULL"
_CONVERTERS: tuple[type[Converter], ...] = (StringConverter, ByteArrayConverter)
"""None of these converters can fail."""
REPLACE_MALFORMED = "spark.sql.legacy.codingErrorAction"
"""The setting by which ``decode`` replaces bytes that are not UTF-8, as Java's strings do; otherwise it fails."""


def direct_value(conversion: Conversion, chain: Chain) -> str | None:
    """Return a record's value in Spark's SQL, or None if its converters or transforms take Python, or can fail."""
    if chain.steps or type(conversion.key) not in _CONVERTERS or type(conversion.header) not in _HEADERS:
        return None
    if type(conversion.value) is ByteArrayConverter:
        return VALUE
    if type(conversion.value) is not StringConverter or conversion.value.encoding != "utf-8":
        return None
    return text_of_bytes(VALUE)


def goes_direct(settings: SinkSettings) -> bool:
    """Whether rows are added, unchanged, to files or to Delta, which refuse a batch that they have.

    Not to a table of the catalog: when Spark creates one, or Delta has the batch, the figures are those of no rows.
    """
    shaped = settings.sql is not None or settings.schema is not None or settings.keys is not None
    in_folder = settings.path is not None and settings.format in {*IN_FOLDERS, "delta"}
    refuses = settings.drift is SchemaDrift.DEAD_LETTER
    return not shaped and not refuses and settings.mode == "append" and in_folder


class DirectWriter:
    """The ``SinkWriter`` of rows that Spark makes by itself.

    ``value_sql`` is that of ``direct_value``, ``session`` the task's own. ``rows`` writes batches of which the table
    has refused a row, so that its record is known.
    """

    def __init__(
        self,
        value_sql: str,
        settings: SinkSettings,
        session: SparkSession,
        target: SinkTarget,
        may_write: Callable[[], bool],
        rows: BatchWriter,
    ) -> None:
        self._rows = rows
        self._value_sql, self._target, self._may_write = value_sql, target, may_write
        self._session = session
        self._evolution = Evolution(settings, session)
        self._found = False
        """Whether a record had a value; until then the table is left alone."""
        session.conf.set(REPLACE_MALFORMED, "true")

    def later(self, version: BatchVersion) -> BatchVersion | None:
        """Return the last batch that the target knows, see ``SinkTarget.later``."""
        return self._target.later(version)

    def write(self, records: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> BatchTotals:
        """Write a batch, see ``SinkWriter.write``. Raises TaskFencedError if another run of the task may have begun."""
        if not self._may_write():
            raise TaskFencedError("Another run of the task may have begun")
        figures = Observation()
        read = records.observe(
            figures,
            f.count(f.lit(1)).alias("read"),
            f.count(VALUE).alias("written"),
            f.max(f.unix_millis("timestamp")).alias("latest"),
            f.array_join(f.collect_set("topic"), ",").alias("topics"),  # before 4.1, arrays are not read from Java
        )
        rows = narrowed(read.where(_HAS_VALUE).selectExpr(f"{self._value_sql} AS {VALUE}"))
        try:
            self._found = self._found or not records.where(_HAS_VALUE).isEmpty()
            if self._found:
                self._target.add(self._evolution.kept(rows), version, confirm)
            else:
                rows.write.format("noop").mode("overwrite").save()
        except Exception as error:
            if REFUSES.search(full_text(error)):
                return self._rows.write(records, version, confirm)
            raise_not_written(error)
        return _totals(figures, self._session)


def _totals(figures: Observation, session: SparkSession) -> BatchTotals:
    """Empty if Spark has read nothing, since the target had the batch: otherwise it has them when a write returns."""
    found = observed(figures, session)
    if found is None:
        return BatchTotals()
    counts = {"sink-record-read-total": found["read"], "sink-record-send-total": found["written"]}
    return BatchTotals(
        counts, latest=float(found["latest"] or 0), topics=set(filter(None, str(found["topics"]).split(",")))
    )
