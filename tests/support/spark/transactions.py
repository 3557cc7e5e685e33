"""Transactions of a Spark partition in a database, without Spark: the Java half in a JVM with Spark's classes."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyspark

from penstock.connectors.jdbc.columns import ColumnKind, RecordPart, RowShape, SinkColumn
from penstock.connectors.jdbc.connection import Connection
from penstock.connectors.jdbc.dialects.base import SessionStatement
from penstock.connectors.jdbc.sink_definition import JDBC_SINK_CONFIG
from penstock.connectors.jdbc.source.offsets import TablePosition
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.source.tables import SourceTable
from penstock.connectors.jdbc.source.types import SourceColumn, fields_of
from penstock.connectors.jdbc.source.windows import Select
from penstock.connectors.jdbc.statements import LedgerStatements, statement_of
from penstock.hosts.jvm.build import jar_of
from penstock.spark.query.jdbc.drivers import INSTALLABLE, install
from penstock.spark.query.jdbc.java import JdbcJava, our_jar, required, verdicts
from penstock.spark.query.jdbc.source.database import Database
from penstock.spark.query.jdbc.source.records import ReadShape
from penstock.spark.query.jdbc.source.source import ReadSource
from penstock.spark.query.safe import Safe, texts

ID = SinkColumn("id", ColumnKind.INT32, RecordPart.KEY, "id", key=True)
NAME = SinkColumn("name", ColumnKind.STRING, RecordPart.VALUE, "name", optional=True)
FAR = 1 << 40
"""An offset that is a long in Java; smaller numbers would be integers there."""
THINGS = RowShape("things", (ID, NAME))


def array(jvm: Any, kind: Any, values: Sequence[Any]) -> Any:
    made = jvm.java.lang.reflect.Array.newInstance(kind._java_lang_class, len(values))
    for i, value in enumerate(values):
        jvm.java.lang.reflect.Array.set(made, i, value)
    return made


def load(jvm: Any) -> Any:
    """Load ``Entry`` with drivers beside it; as in Spark, a separate class loader has these classes."""
    return _instance(jvm, "penstock.jdbc.Entry", [our_jar(), *(jar for name in INSTALLABLE for jar in install(name))])


@functools.cache
def load_values(jvm: Any) -> Any:
    """Load ``Values``, which passes rows in one call; once, as py4j knows methods by the names of their classes."""
    spark = sorted((Path(pyspark.__file__).parent / "jars").glob("*.jar"))
    return _instance(jvm, "penstock.testing.Values", [jar_of(Path(__file__).with_name("java"), "test-values", spark)])


def _instance(jvm: Any, name: str, jars: Sequence[Path]) -> Any:
    urls = array(jvm, jvm.java.net.URL, [jvm.java.net.URL(jar.as_uri()) for jar in jars])
    loader = jvm.java.net.URLClassLoader(urls, jvm.java.lang.ClassLoader.getSystemClassLoader())
    constructor = loader.loadClass(name).getDeclaredConstructor(array(jvm, jvm.java.lang.Class, []))
    return constructor.newInstance(array(jvm, jvm.java.lang.Object, []))


class Bench:
    """A database and a session's operations on it; ``settings`` are those of a connector. ``driver``: its class, by
    default the dialect's. ``opening``: statements that each session needs.
    """

    def __init__(
        self,
        jvm: Any,
        entry: Any,
        url: str,
        safe: Safe,
        driver: str | None = None,
        opening: Sequence[SessionStatement] = (),
        **settings: str,
    ) -> None:
        self.jvm, self.entry, self.values = jvm, entry, load_values(jvm)
        config = {"connection.url": url, "connection.attempts": "1", **settings}
        connection = Connection.of(config, JDBC_SINK_CONFIG.parse(config))
        self.dialect = connection.dialect
        kept = safe.keep(texts([url]))
        place = kept.host, kept.port, kept.fingerprint, kept.key.hex()
        driver = self.dialect.driver if driver is None else driver
        statements = self.list(required(opening)), self.list(connection.attempted)
        self.connections = entry.connections(*place, driver, connection.attempts, connection.backoff, *statements)
        self.database = entry.database(self.connections)

    def list(self, values: Sequence[Any]) -> Any:
        made = self.jvm.java.util.ArrayList()
        for value in values:
            made.add(value)
        return made

    def create(self, shape: RowShape) -> None:
        self.database.execute(self.dialect.create(self.dialect.table_name(shape.table), shape.columns))

    def known(self, shape: RowShape) -> RowShape:
        """Return the shape with the table's columns, like ``Tables.known``."""
        found = list(self.database.columns(f"SELECT * FROM {self.dialect.quoted(shape.table)} WHERE 1=0"))
        return shape.in_table(dict(zip(found[::3], found[1::3], strict=True)))

    def rows(self, table: str = "things") -> list[tuple[str | None, ...]]:
        name = self.dialect.quoted(table)
        width = len(self.database.columns(f"SELECT * FROM {name}")) // 3
        values = list(self.database.values(f"SELECT * FROM {name} ORDER BY 1", self.list([])))
        return [tuple(values[i : i + width]) for i in range(0, len(values), width)]

    def write(
        self,
        rows: Sequence[tuple[int, Sequence[Any]]],
        mode: str = "insert",
        shapes: Sequence[RowShape] = (THINGS,),
        known: Sequence[int] = (),
        batch: int | None = None,
        whole: bool = False,
        first: int = 0,
        types: dict[str, str] | None = None,
        zone: str = "UTC",
        size: int = 100,
        generation: str = "first",
        claims: bool = True,
        classes: Sequence[str] = (),
        exact: bool = True,
    ) -> list[str]:
        """Write rows of topic t, partition 0, from this offset on: the shape and values of each. Return the reports.

        ``classes``: INT8, INT16, INT64 or FLOAT32 of the values; other numbers are INT32, INT64 if they are too large
        for that, or FLOAT64.

        ``generation``: that of the run that writes a ``batch``; ``claims``: whether the run has just begun.

        Rows are copied into columns of these ``types``, if possible. ``exact``: those whose values columns would change
        are refused.
        """
        made = []
        for shape in map(self.known, shapes):
            statement = statement_of(self.dialect, mode, shape)
            names = [column.name for column in shape.columns]
            fields = [names.index(name) for name in statement.parameters]
            kinds = [self.dialect.binding(shape.columns[i]) for i in fields]
            found = list(self.database.columns(f"SELECT * FROM {self.dialect.quoted(shape.table)} WHERE 1=0"))
            rooms = dict(zip(found[::3], found[2::3], strict=True)) if exact else {}
            copy = self.dialect.copy(self.dialect.table_name(shape.table), shape.columns, types or {})
            parameters = self.list(list(statement.parameters)), self.list(kinds), self.list(fields)
            held = self.list([rooms.get(name, "") for name in statement.parameters])
            made.append(self.entry.shape(statement.sql, copy, *parameters, held, zone, zone))
        ledger = None
        if batch is not None:
            sql = LedgerStatements.of(self.dialect, "penstock_batches")
            texts = sql.select, sql.update, sql.insert, sql.fence
            ledger = self.entry.ledger(*texts, "sink", "epoch", batch, generation)
            if claims:
                self.database.claim(ledger)
        writer = self.entry.writer(
            self.connections,
            self.list(made),
            size,
            ledger,
            verdicts(self.entry, self.dialect.errors, self.list),
            self.list([f"t\t0\t{FAR + offset}" for offset in known]),
            whole,
        )
        structs = [
            (number, "t", 0, FAR + first + i, *(tuple(values) if k == number else None for k in range(len(shapes))))
            for i, (number, values) in enumerate(rows)
        ]
        writer.call(self.values.rows(pickle.dumps(structs), self.list(classes)).iterator())
        return list(writer.report())


class Joined(JdbcJava):
    """The Java half in a JVM that is not Spark's."""

    def __init__(self, jvm: Any, entry: Any, connection: Connection, safe: Safe) -> None:
        self._gateway, self._connection, self.entry = SimpleNamespace(jvm=jvm), connection, entry
        settings = [connection.url, *(text for pair in connection.properties.items() for text in pair)]
        kept = safe.keep(texts(settings))
        place = kept.host, kept.port, kept.fingerprint, kept.key.hex()
        statements = self.list([]), self.list(connection.attempted)
        self.connections = entry.connections(
            *place, connection.dialect.driver, connection.attempts, connection.backoff, *statements
        )


class Looks:
    """Queries of a source to its database, and the number of rows that it would read."""

    def __init__(self, jvm: Any, entry: Any, safe: Safe) -> None:
        self._jvm, self._entry, self._safe = jvm, entry, safe

    def source(
        self, url: str, table: SourceTable, position: TablePosition = TablePosition(), **config: str
    ) -> ReadSource:
        settings = self._settings(url, **config)
        return ReadSource(settings, self._database(settings), table, position)

    def count(self, url: str, select: Select, zone: str) -> int:
        sql = "SELECT COUNT(*)" + select.sql.removeprefix("SELECT *").partition(" ORDER BY ")[0]
        database = self._database(self._settings(url, mode="bulk", **{"db.timezone": zone}))
        (found,) = database.row(Select(sql, select.parameters), "N")
        database.close()
        return int((found or "")[1:])

    def _settings(self, url: str, **config: str) -> JdbcSourceSettings:
        return JdbcSourceSettings.of(
            {"connection.url": url, "connection.attempts": "1", "topic.prefix": "p-", **config}
        )

    def _database(self, settings: JdbcSourceSettings) -> Database:
        return Database(Joined(self._jvm, self._entry, settings.connection, self._safe), settings.connection)


class TableReader:
    """Rows of a query as the Java half reads them for a source, without Spark."""

    def __init__(self, bench: Bench, sql: str, zone: str = "UTC") -> None:
        self._bench, self._sql, self._zone = bench, sql, zone
        catalog = bench.entry.catalog(bench.connections, zone)
        self.columns = SourceColumn.several(list(catalog.columns(sql)))
        catalog.close()

    def values(self, name: str, arrays: bool = False, durations: bool = False) -> list[Any]:
        """Return the values of a column as values of Connect's fields."""
        made, jvm = self._bench.list, self._bench.jvm
        fields = fields_of(self.columns, self._bench.dialect, "none", "connect_logical", arrays, durations)
        (field,) = (field for field in fields if field.name == name)
        reader = self._bench.entry.reader(
            self._bench.connections,
            made([column.label for column in self.columns]),
            made([str(field.reading)]),
            made([field.scale]),
            made([field.column]),
            0,
            made([]),
            1000,
            -1,
            self._zone,
        )
        reader.add(self._sql, made([]))
        contexts = getattr(getattr(jvm.org.apache.spark, "TaskContext$"), "MODULE$")
        context = contexts.empty()
        contexts.setTaskContext(context)
        try:
            rows = reader.call(jvm.java.util.stream.LongStream.range(0, 1).boxed().iterator())
            found = [_plain(value) for value in pickle.loads(self._bench.values.values(rows))]
        finally:
            context.markTaskCompleted(jvm.scala.Option.empty())
            contexts.unset()
        shape = ReadShape.of([field], None, by_number=False, by_time=False)
        batch = pa.RecordBatch.from_arrays([pa.array(found, _ARROW.get(field.reading))], ["c"])
        return list(shape.values(batch).as_dict()[name])


def _plain(value: Any) -> Any:
    """Return bytes for the bytes of Java, which pickle has as an array that can change."""
    return bytes(value) if isinstance(value, bytearray) else value


_ARROW = {"FLOAT32": pa.float32(), "INT64": pa.int64(), "BYTES": pa.binary()}
