"""Files that tables consist of, by their own logs: those may name any file, also outside the table's folder.

Asked of Spark before rows are read, where the worker limits folders.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from pyspark.errors import AnalysisException

from penstock.api.errors import ConnectError
from penstock.api.paths import PATHS_ALLOWED
from penstock.connectors.spark.sink_settings import SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMING_FILES = ("delta", "iceberg", "hudi")
"""Formats whose tables have logs that name files."""
_RELATION = "org.apache.spark.sql.execution.datasources.LogicalRelation"
_FILES = "org.apache.spark.sql.execution.datasources.HadoopFsRelation"
_ROWS = (
    "org.apache.spark.sql.execution.LogicalRDD",
    "org.apache.spark.sql.catalyst.plans.logical.LocalRelation",
)
"""Rows that Delta itself makes, of changes for which there are no files."""


def files_of_stream(query: Any, format: str) -> list[str]:
    """Return the files that the present batch of a stream reads from a table. ``query`` is Java's, a wrapper of
    Spark's StreamExecution. Raises ConnectError if they are not known.
    """
    found: list[str] = []
    leaves = query.streamingQuery().lastExecution().analyzed().collectLeaves().iterator()
    while leaves.hasNext():
        leaf = leaves.next()
        kind = str(leaf.getClass().getName())
        if kind == _RELATION and str(leaf.relation().getClass().getName()) == _FILES:
            found += map(str, leaf.relation().location().inputFiles())
        elif kind not in _ROWS or format != "delta":
            raise ConnectError(
                f"the files that a table of format={format} names can't be compared with `{PATHS_ALLOWED}` of the "
                f"worker: Spark reads it by {kind.rpartition('.')[2]}"
            )
    return both_readings(found)


def files_of_table(session: SparkSession, settings: SinkSettings) -> list[str]:
    """Return the files of a Delta table that a sink changes; none if there is no table yet."""
    reader: Any = session.read.format(settings.format).options(**settings.options)
    try:
        table = session.table(settings.table) if settings.table is not None else reader.load(settings.path)
        return both_readings(table.inputFiles())
    except AnalysisException:  # the sink itself will say what it is
        return []


def both_readings(paths: list[str]) -> list[str]:
    """Return Hadoop's paths as URIs: their texts may be percent-encoded, or have names with a percent sign."""
    quoted = (quote(path, safe=":/") for path in paths if "%" in path)
    return [*paths, *quoted]
