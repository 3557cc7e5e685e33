"""What queries of both directions do with Spark's data frames, and how errors of Spark are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyspark.sql import types as t

from penstock.api.errors import ConfigError
from penstock.spark.daemon import FORK_WITH

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VIEW = "records"
"""The name of a batch in the setting ``sql``."""
MODULES = (
    "pandas,pyarrow.compute,pyarrow.pandas_compat,pyspark.sql.pandas.serializers,"
    "penstock.spark.query.sink.rows.pipeline,penstock.spark.query.jdbc.rows,"
    "penstock.spark.query.source.sending,penstock.spark.query.source.transport"
)
"""What a query's processes are forked with. PyArrow imports pandas when it makes its first array, if pandas is there:
half a second for each process, and there is one for each partition of each batch.
"""
UNNAMED = ("java.net.ConnectException", "java.net.SocketTimeoutException", "java.io.EOFException")
"""Java's errors of a connection that don't tell whose it was."""


def mapped(frame: DataFrame, function: Callable[..., Any], schema: Any) -> DataFrame:
    """``mapInArrow``, in processes that are forked with what queries need."""
    environment = frame.sparkSession.sparkContext.environment
    # Spark keeps a process to fork from for each environment: one for queries has imported what they need.
    environment[FORK_WITH] = MODULES
    try:
        return frame.mapInArrow(function, schema)
    finally:
        environment.pop(FORK_WITH, None)


def narrowed(frame: DataFrame) -> DataFrame:
    """A local Spark has slots for hundreds of hosted tasks, not memory for so many that work on rows."""
    context = frame.sparkSession.sparkContext
    local = context.master.startswith("local")  # type: ignore[union-attr]
    return frame.coalesce(context.defaultParallelism) if local else frame


def declared(schema: str) -> t.StructType:
    try:
        columns = t.StructType.fromDDL(schema)
    except Exception as error:
        raise ConfigError(
            "schema", schema, f"Spark can't read it as columns: {full_text(error).strip().splitlines()[0]}"
        ) from None
    if not isinstance(columns, t.StructType):
        raise ConfigError(
            "schema", schema, "it is a type without a name; columns have both, as in id BIGINT, name STRING"
        )
    return columns


def root_cause(error: BaseException) -> str:
    """The one line that tells most: of a lost connection that which says to what."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    if java is None:
        return str(error).split("\n", 1)[0]
    while (cause := java.getCause()) is not None and not (
        cause.getCause() is None and str(cause.getClass().getName()) in UNNAMED
    ):
        java = cause
    return str(java.toString()).split("\n", 1)[0]


def full_text(error: BaseException) -> str:
    """All that Spark has to say of an error, Java's causes included."""
    java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    texts = [str(error)]
    while java is not None and len(texts) < 20:
        texts.append(str(java.getMessage()))
        java = java.getCause()
    return "\n".join(texts)
