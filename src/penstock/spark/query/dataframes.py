"""Helpers of all queries for Spark's data frames, and for reading Spark's errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import types as t

from penstock.api.errors import ConfigError
from penstock.spark.versions import type_of_ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEW = "records"
"""The name of a batch in the setting ``sql``."""
METADATA = frozenset({"comment", "__CHAR_VARCHAR_TYPE_STRING", "__COLLATIONS"})
"""Metadata that columns of a declared schema may have. Others are SQL that Spark would run, such as defaults."""
UNNAMED = ("java.net.ConnectException", "java.net.SocketTimeoutException", "java.io.EOFException")
"""Java's errors of a connection that don't name its other end."""
SDKS = ("software.amazon.awssdk.", "com.amazonaws.")
"""Packages whose errors don't name the path; the one of Hadoop around it has its message, too."""


@dataclass(frozen=True, slots=True)
class DriverContext:
    """The ``QueryContext`` of a run."""

    session: SparkSession
    connector: str
    cluster: str | None
    group: str

    def columns(self, schema: str) -> t.StructType:
        return declared(schema)


def narrowed(frame: DataFrame) -> DataFrame:
    """Reduce the partitions of a frame on a local Spark, which has slots for hundreds of hosted tasks, but no memory
    for so many that work on rows.
    """
    context = frame.sparkSession.sparkContext
    local = context.master.startswith("local")  # type: ignore[union-attr]
    return frame.coalesce(context.defaultParallelism) if local else frame


def declared(schema: str) -> t.StructType:
    """Return the columns of the setting ``schema``. Raises ConfigError."""
    try:
        columns = type_of_ddl(schema)
    except Exception as error:
        raise ConfigError(
            "schema", schema, f"Spark can't read it as columns: {full_text(error).strip().splitlines()[0]}"
        ) from None
    if not isinstance(columns, t.StructType):
        raise ConfigError(
            "schema", schema, "it is a type without a name; columns have both, as in id BIGINT, name STRING"
        )
    for others in _metadata(columns):
        raise ConfigError("schema", schema, f"columns may have a name, a type and a comment only, no {others}")
    return columns


def _metadata(type: t.DataType) -> Iterator[str]:
    """Yield what columns have besides a comment, such as SQL of a default, which Spark would run."""
    match type:
        case t.StructType():
            for column in type:
                yield from sorted(set(column.metadata or {}) - METADATA)
                yield from _metadata(column.dataType)
        case t.ArrayType():
            yield from _metadata(type.elementType)
        case t.MapType():
            yield from _metadata(type.keyType)
            yield from _metadata(type.valueType)


def root_cause(error: BaseException) -> str:
    """Return the most informative line of an error: of a lost connection the one that names its other end."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        return str(error).split("\n", 1)[0]
    while (cause := java.getCause()) is not None:
        name = str(cause.getClass().getName())
        if name.startswith(SDKS) or (cause.getCause() is None and name in UNNAMED):
            break
        java = cause
    return str(java.toString()).split("\n", 1)[0]


def full_text(error: BaseException) -> str:
    """Return the whole text of an error of Spark, Java's causes included."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = [str(error)]
    while java is not None and len(texts) < 20:
        texts.append(str(java.getMessage()))
        java = java.getCause()
    return "\n".join(texts)
