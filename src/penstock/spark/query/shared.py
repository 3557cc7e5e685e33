"""State of a Spark application that all its queries share, each in threads of its own.

PySpark is not written for that: it reads some of this state without a lock, whenever a query plans a batch. So it is
set once, before the first query starts (``prepare``), and never changed while another thread may read it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.spark.daemon import FORK_WITH

if TYPE_CHECKING:
    from pyspark import SparkContext

MODULES = (
    "pandas,pyarrow.compute,pyarrow.pandas_compat,pyspark.sql.pandas.serializers,"
    "penstock.spark.query.sink.rows.pipeline,penstock.spark.query.jdbc.rows,"
    "penstock.spark.query.source.sending,penstock.spark.query.source.transport"
)
"""Modules that Spark's Python processes of queries have before they are forked. PyArrow imports pandas, if it is
installed, with its first array: half a second for each process, and there is one for each partition of each batch.
"""


NO_EXTERNAL_DTD = "javax.xml.accessExternalDTD"
"""Property of Java with the protocols by which XML may name a DTD to fetch; empty: none. Spark's ``xpath`` would."""


def close_xml(context: SparkContext) -> None:
    """Let functions of XML fetch nothing in this Java; in executors, ``spark.settings`` does that by Java's options."""
    java: Any = context._gateway.jvm  # type: ignore[union-attr]
    java.java.lang.System.setProperty(NO_EXTERNAL_DTD, "")


def prepare(context: SparkContext) -> None:
    """Set the shared state; called once, before the first query starts."""
    from pyspark.java_gateway import ensure_callback_server_started

    close_xml(context)
    # The application of queries has a process to fork from of its own, since Spark keeps one for each environment. The
    # dictionary is replaced: another thread may be iterating over the present one.
    context.environment = {**context.environment, FORK_WITH: MODULES}
    # Otherwise two queries that start their streams at the same time would both start the server.
    ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
