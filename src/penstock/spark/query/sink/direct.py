"""Batches whose rows Spark makes of Kafka's records by itself, without a Python process.

Texts and bytes that no transform changes take no more than a cast. The rows and the figures are those that ``rows``
would make of them in Python.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Observation
from pyspark.sql import functions as f

from penstock.api.converter import Converter, HeaderConverter
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.converters import ByteArrayConverter, SimpleHeaderConverter, StringConverter
from penstock.pipeline.task import FencedError
from penstock.spark.query.dataframes import narrowed
from penstock.spark.query.sink.progress import Version
from penstock.spark.query.sink.rows.columns import VALUE
from penstock.spark.query.sink.rows.plan import RECORD_TIME, TOPIC, Totals
from penstock.spark.query.sink.settings import IN_FOLDERS, SinkSettings
from penstock.spark.query.sink.tables.evolution import Evolution
from penstock.spark.query.sink.tables.target import Target
from penstock.spark.query.sink.writer import not_written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FIGURES_SECONDS = 1.0
"""How long figures of a batch are waited for, which come some milliseconds after it; of a batch that the table had
already there are none.
"""
_HEADERS: tuple[type[HeaderConverter], ...] = (SimpleHeaderConverter, StringConverter)
_TEXT = f"CAST({VALUE} AS STRING)"
_VALUES: dict[type[Converter], str] = {
    StringConverter: f"CASE WHEN is_valid_utf8({_TEXT}) THEN {_TEXT} ELSE decode({VALUE}, 'UTF-8') END",
    ByteArrayConverter: VALUE,
}
"""What Spark makes of a value; none of these converters can fail."""
MALFORMED_REPLACED = "spark.sql.legacy.codingErrorAction"
"""Whether ``decode`` replaces bytes that are no UTF-8, by as many characters as Java's strings; otherwise it fails.

``make_valid_utf8`` replaces half of a surrogate pair by three.
"""


def direct_value(conversion: Conversion, chain: Chain) -> str | None:
    """A record's value in Spark's SQL; None if its converters or transforms take Python, or can fail."""
    if chain.steps or type(conversion.key) not in _VALUES or type(conversion.header) not in _HEADERS:
        return None
    if isinstance(conversion.value, StringConverter) and conversion.value.encoding != "utf-8":
        return None
    return _VALUES.get(type(conversion.value))


def goes_direct(settings: SinkSettings) -> bool:
    """Whether rows are just added, unchanged, to a table that refuses batches of a run that has been replaced."""
    shaped = settings.sql is not None or settings.schema is not None or settings.keys is not None
    in_folder = settings.format in IN_FOLDERS and settings.path is not None
    return not shaped and settings.mode == "append" and (in_folder or settings.format == "delta")


class DirectWriter:
    """Writes batches of one run to ``target``, as ``BatchWriter`` does.

    ``value`` is that of ``direct_value``, ``session`` the task's own.
    """

    def __init__(
        self, value: str, settings: SinkSettings, session: SparkSession, target: Target, may_write: Callable[[], bool]
    ) -> None:
        self._value, self._target, self._may_write = value, target, may_write
        self._evolution = Evolution(settings, session)
        session.conf.set(MALFORMED_REPLACED, "true")

    def later(self, version: Version) -> Version | None:
        """As ``Target.later``."""
        return self._target.later(version)

    def write(self, records: DataFrame, version: Version, confirm: Callable[[], None]) -> Mapping[str, Any]:
        """As ``BatchWriter.write``. Raises FencedError if another run of the task may have begun."""
        if not self._may_write():
            raise FencedError("Another run of the task may have begun")
        figures = Observation()
        read = records.observe(
            figures,
            f.count(f.lit(1)).alias("read"),
            f.count(VALUE).alias("written"),
            f.max(f.unix_millis("timestamp")).alias("latest"),
            f.collect_set("topic").alias("topics"),
        )
        rows = narrowed(read.where(f"{VALUE} IS NOT NULL").selectExpr(f"{self._value} AS {VALUE}"))
        try:
            self._target.add(self._evolution.kept(rows), version, confirm)
        except Exception as error:
            not_written(error)
        return _totals(figures)


def _totals(figures: Observation) -> Totals:
    assert figures._jo is not None
    coming, until = figures._jo.future(), time.monotonic() + FIGURES_SECONDS
    while not coming.isCompleted():
        if time.monotonic() >= until:
            return {}
        time.sleep(0.002)
    found = figures.get
    counts: Totals = {TOPIC + topic: 1.0 for topic in found["topics"]}
    if found["latest"] is not None:
        counts[RECORD_TIME] = float(found["latest"])
    return counts | {"sink-record-read-total": found["read"], "sink-record-send-total": found["written"]}
