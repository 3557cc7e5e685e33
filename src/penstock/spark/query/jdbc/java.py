"""The Java half: our classes and the driver's jar in a session of Spark, and its errors as sentences.

The classes are compiled from ``penstock/connectors/jdbc/java`` against Spark's own jars, once for each version of
either.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyspark
from py4j.protocol import Py4JJavaError

import penstock.connectors.jdbc
from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.connection import Connection
from penstock.connectors.jdbc.dialects.base import SessionStatement
from penstock.connectors.jdbc.sql_errors import ErrorTable, SqlFailure
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm.build import jar_of
from penstock.spark.query.jdbc.drivers import driver_jars, missing_driver
from penstock.spark.query.safe import Safe, texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Raised = TypeVar("Raised", bound=Exception)
_SOURCES = Path(penstock.connectors.jdbc.__file__).parent / "java"
_LACKS = "penstock lacks driver"
_USED = (
    *("spark-sql-api_*", "spark-sql_*", "spark-catalyst_*", "spark-core_*", "spark-common-utils*", "spark-tags*"),
    "scala-library-*",
)


class JdbcJava:
    """The Java half in one session, with the jar of a driver. Raises ConnectError if it can't be compiled."""

    def __init__(
        self,
        session: SparkSession,
        connection: Connection,
        drivers: str,
        plugin_path: Sequence[str],
        safe: Safe,
        opening: Sequence[SessionStatement] = (),
    ) -> None:
        """``drivers``: the worker's setting ``penstock.jdbc.drivers``; ``opening``: statements for each new session."""
        self._session, self._connection = session, connection
        for jar in (our_jar(), *driver_jars(connection.driver, drivers, plugin_path)):
            session.sql(f"ADD JAR '{jar}'")
        gateway: Any = session.sparkContext._gateway
        self._gateway = gateway
        found = session._jsparkSession.sharedState().jarClassLoader().loadClass("penstock.jdbc.Entry")
        classes = gateway.new_array(gateway.jvm.java.lang.Class, 0)
        objects = gateway.new_array(gateway.jvm.java.lang.Object, 0)
        self.entry = found.getDeclaredConstructor(classes).newInstance(objects)
        """An object of the Java class ``penstock.jdbc.Entry``."""
        settings = [connection.url, *(text for pair in connection.properties.items() for text in pair)]
        kept = safe.keep(texts(settings))
        place = kept.host, kept.port, kept.fingerprint, kept.key.hex()
        driver = "" if connection.driver is None else connection.driver.driver
        statements = self.list(required(opening)), self.list(connection.attempted)
        self.connections = self.entry.connections(*place, driver, connection.attempts, connection.backoff, *statements)

    def list(self, values: Sequence[Any]) -> Any:
        made = self._gateway.jvm.java.util.ArrayList()
        for value in values:
            made.add(value)
        return made

    def verdicts(self) -> Any:
        """Return the table of errors of the dialect, for Java's half in executors."""
        return verdicts(self.entry, self._connection.dialect.errors, self.list)

    def sql_error(self, error: BaseException) -> SqlFailure | None:
        """Return the failure of a database or its driver in an error of Java's, or None."""
        java = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
        facts = [] if java is None else [str(text) for text in self.entry.facts(java)]
        if not facts:
            return None
        name, message, state, code, passing, trace = facts
        return SqlFailure(name, message, state, int(code), passing != "", trace)

    def is_missing_table(self, error: BaseException) -> bool:
        found = self.sql_error(error)
        dialect = self._connection.dialect
        if found is None:
            return False
        return (
            re.fullmatch(dialect.no_table, found.state) is not None
            or found.code in dialect.no_table_codes
            or (dialect.no_table_text != "" and dialect.no_table_text in found.message)
        )


class DatabaseFailure(Exception):
    """The cause of an error that ends a task: what the database or its driver has raised, as Java prints it."""

    def __init__(self, failure: SqlFailure) -> None:
        super().__init__(str(failure))
        self.java_trace = failure.trace


def refused(what: str, failure: SqlFailure) -> ConnectError:
    """Return the error to raise for a failure that does not pass; ``what``: a sentence without an end."""
    return caused(ConnectError(f"{what}: {failure}"), failure)


def caused(error: Raised, failure: SqlFailure) -> Raised:
    """Return the error with a failure as its cause, so that the trace has the class and the frames of the driver."""
    error.__cause__ = DatabaseFailure(failure)
    return error


def verdicts(entry: Any, errors: ErrorTable, made: Callable[[Sequence[Any]], Any]) -> Any:
    """Make Java's ``Verdicts`` of a table of errors; ``made`` makes lists of Java."""
    return entry.verdicts(
        errors.transient,
        made(sorted(errors.transient_codes)),
        errors.transient_texts,
        made(sorted(errors.statement_codes)),
        errors.statement_texts,
        errors.row,
        made(sorted(errors.row_codes)),
        errors.classes,
        made(sorted(errors.row_routines)),
    )


def required(opening: Sequence[SessionStatement]) -> list[str]:
    """Return statements that each session needs as Java's ``Connections`` takes them."""
    return [text for each in opening for text in (each.sql, each.fulfilled, each.refused)]


def lacks_driver(error_text: str, connection: Connection) -> ConnectError | None:
    """Return the error to raise if Java reports that there is no driver."""
    return ConnectError(missing_driver(connection.driver)) if _LACKS in error_text else None


def our_jar() -> Path:
    folder = Path(pyspark.__file__).parent / "jars"
    try:
        return jar_of(_SOURCES, "penstock-jdbc", sorted(jar for name in _USED for jar in folder.glob(f"{name}.jar")))
    except EmbeddedError as error:
        raise ConnectError(str(error)) from error


JavaError = Py4JJavaError
