"""The rows that a database refuses, of a sink with Spark's format ``jdbc``, whose writer does not say which they are.

All rows of the batch are written once more, in transactions that are rolled back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.api.errors import ConfigError, ConnectError
from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, SinkColumn
from penstock.connectors.jdbc.connection import Connection
from penstock.connectors.jdbc.dialects import dialect_of
from penstock.connectors.jdbc.sql_errors import SqlVerdict
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.pipeline.task import TaskSpec
from penstock.spark.query.dataframes import narrowed
from penstock.spark.query.jdbc.java import JdbcJava, refused
from penstock.spark.query.jdbc.plan import HEAD
from penstock.spark.query.jdbc.rows import refused_row
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.rows.plan import CHANGE, PLACE
from penstock.spark.query.sink.rows.refused import Refused
from penstock.spark.query.sink.tables.delta import quoted

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_KINDS: dict[type[t.DataType], ColumnKind] = {
    t.ByteType: ColumnKind.INT8,
    t.ShortType: ColumnKind.INT16,
    t.IntegerType: ColumnKind.INT32,
    t.LongType: ColumnKind.INT64,
    t.FloatType: ColumnKind.FLOAT32,
    t.DoubleType: ColumnKind.FLOAT64,
    t.BooleanType: ColumnKind.BOOLEAN,
    t.StringType: ColumnKind.STRING,
    t.BinaryType: ColumnKind.BYTES,
    t.DecimalType: ColumnKind.DECIMAL,
    t.DateType: ColumnKind.DATE,
    t.TimestampType: ColumnKind.MICROS,
    t.TimestampNTZType: ColumnKind.MICROS,
}
"""The kind of Java's ``Shape`` for each type of Spark; a row with others can't be tried."""
_VALUES: dict[type[t.DataType], str] = {
    t.DecimalType: "CAST({} AS STRING)",
    t.DateType: "unix_date({})",
    t.TimestampType: "CAST(unix_micros({}) AS STRING)",
    t.TimestampNTZType: "CAST(unix_micros(CAST({} AS TIMESTAMP)) AS STRING)",
}
"""SQL of the values that ``Shape`` takes in another form than Spark's."""
_BATCH_SIZE = 1_000

log = logging.getLogger(__name__)


class JdbcTrial:
    """The ``RowTrial`` of a sink with ``format=jdbc``."""

    def __init__(self, spec: TaskSpec, settings: SinkSettings, session: SparkSession, safe: Safe) -> None:
        self._spec, self._session, self._safe = spec, session, safe
        self._options = {name.casefold(): value for name, value in settings.options.items()}
        self._target = settings.target
        self._java: JdbcJava | None = None
        self._connection: Connection | None = None
        self._message = ""
        """The last refusal that Spark's writer has reported."""

    def refuses(self, error: Exception) -> bool:
        """Return whether the database has refused a row; False for errors that pass, and for others than a database's.

        Raises ConnectError for one of the statement, whatever its rows.
        """
        if (java := self._opened()) is None or self._connection is None:
            return False
        if (found := java.sql_error(error)) is None:
            return False
        match self._connection.dialect.errors.verdict(found):
            case SqlVerdict.ROW:
                self._message = _plain(found.message)
                return True
            case SqlVerdict.STATEMENT:
                raise refused(f"{self._target} refuses a batch", found)
        return False

    def refused(self, rows: DataFrame, most: int) -> Refused:
        """Return rows that the database refuses, at most this number; ``rows`` has the columns of CHANGE, too.

        A single one is that of the last refusal: others may be refused since another transaction has written them.
        """
        columns = [each for each in rows.schema if each.name not in CHANGE.names]
        java, connection, table = self._opened(), self._connection, self._options.get("dbtable")
        if java is None or connection is None or table is None or not all(type(c.dataType) in _KINDS for c in columns):
            return {}
        database = java.entry.database(java.connections)
        try:
            known = [str(name) for name in database.columns(f"SELECT * FROM {table} WHERE 1=0")][::3]
        finally:
            database.close()
        names = [next((k for k in known if k.casefold() == c.name.casefold()), c.name) for c in columns]
        kinds = [
            connection.dialect.binding(SinkColumn(c.name, _KINDS[type(c.dataType)], RecordPart.VALUE, c.name))
            for c in columns
        ]
        listed = ", ".join(map(connection.dialect.quoted, names))
        sql = f"INSERT INTO {table} ({listed}) VALUES ({', '.join('?' * len(names))})"
        fields = java.list(list(range(len(names))))
        rooms = java.list([""] * len(names))
        shape = java.entry.shape(sql, None, java.list(names), java.list(kinds), fields, rooms, "UTC", "UTC")
        settings = java.list([shape]), _BATCH_SIZE, None, java.verdicts(), java.list([]), True
        trial = java.entry.writer(java.connections, *settings).trial()
        tried = narrowed(rows.select(*_head(), f.struct(*map(_value, columns)).alias("s0")))
        trial.run(self._session._jsparkSession, tried._jdf)
        found: Refused = {}
        lines = [str(line).split("\t") for line in trial.report()]
        if most == 1:
            lines = [line for line in lines if self._message in _plain(line[-1])]
        for _, topic, partition, offset, _, column, state, text in lines[:most]:
            row = refused_row(text, self._target, names, column, state)
            found.setdefault((topic, int(partition)), {})[int(offset)] = row
        return found

    def _opened(self) -> JdbcJava | None:
        """Return the Java half; None if it can't be had."""
        if self._java is None:
            try:
                dialect = dialect_of(url := self._options.get("url", ""))(True)
                self._connection = Connection(url, self._properties(), 1, 0, dialect, "UTC")
                drivers = self._spec.worker_config.get("penstock.jdbc.drivers", "")
                self._java = JdbcJava(self._session, self._connection, drivers, self._spec.plugin_path, self._safe)
            except (ConfigError, ConnectError) as error:
                log.warning("Rows that %s refuses can't be found: %s", self._target, error)
        return self._java

    def _properties(self) -> dict[str, str]:
        """Return the options that Spark hands to the driver."""
        gateway: Any = self._session.sparkContext._gateway
        made = gateway.jvm.java.util.HashMap()
        for name, value in self._options.items():
            made[name] = value
        options = gateway.jvm.org.apache.spark.sql.execution.datasources.jdbc.JDBCOptions(
            gateway.jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(made)
        )
        found = options.asConnectionProperties()
        return {str(name): str(found.getProperty(name)) for name in found.stringPropertyNames()}


def _plain(message: str) -> str:
    return " ".join(message.split())


def _head() -> list[Column]:
    place = {"_topic": "topic", "_partition": "partition", "_offset": "offset"}
    return [
        f.lit(0).alias(each.name) if each.name not in place else f.col(f"{PLACE}.{place[each.name]}").alias(each.name)
        for each in HEAD
    ]


def _value(column: t.StructField) -> Column:
    return f.expr(_VALUES.get(type(column.dataType), "{}").format(quoted(column.name))).alias(f"v_{column.name}")
