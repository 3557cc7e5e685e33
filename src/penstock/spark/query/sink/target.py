"""Where rows are written, each batch once where the format allows it, and what becomes of columns that a table lacks.

- Folders of files: always once (``files``).
- Delta tables: once, by Delta's own record of which batches of an application it has.
- Everything else: at least once; after a crash the last batch may come a second time.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from py4j.java_gateway import JavaPackage, is_instance_of
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

from penstock.api.errors import ConnectError
from penstock.spark.query.folder import folder_of
from penstock.spark.query.sink.files import Files, folder_name
from penstock.spark.query.sink.progress import Version
from penstock.spark.query.sink.settings import IN_FOLDERS, SinkSettings

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


log = logging.getLogger(__name__)


class Owner(NamedTuple):
    """Whose batches they are: a connector's, by the id of its Kafka cluster and its group there."""

    cluster: str
    group: str
    connector: str


class Target(Protocol):
    def add(self, frame: DataFrame, version: Version, confirm: Callable[[], None]) -> None:
        """Write a batch; called again with the same version after a crash. Raises what Spark raises.

        ``confirm`` raises if another run of the task has been started meanwhile.
        """

    def later(self, version: Version) -> Version | None:
        """The last batch that the target knows, if it is a later one than ``version``, or of another epoch with the
        same number, and ``version`` is not in the target.
        """


def target_of(settings: SinkSettings, owner: Owner, session: SparkSession) -> Target:
    if settings.format in IN_FOLDERS and settings.path is not None and settings.mode == "append":
        return Files(settings, folder_name(*owner), folder_of(session, settings.path))
    return Writer(settings, owner.connector, session)


class Writer:
    """Spark's own writer."""

    def __init__(self, settings: SinkSettings, connector: str, session: SparkSession) -> None:
        self._settings, self._connector, self._session = settings, connector, session

    def later(self, version: Version) -> Version | None:
        if self._settings.format != "delta":
            return None
        return later_of(version, batches_in_delta(self._session, self._settings, self._connector))

    def add(self, frame: DataFrame, version: Version, confirm: Callable[[], None]) -> None:
        settings = self._settings
        writer = frame.write.format(settings.format).mode(settings.mode).options(**settings.options)
        if settings.format == "delta":
            writer = writer.option("txnAppId", f"{self._connector}-{version.epoch}")
            writer = writer.option("txnVersion", version.number)
            if settings.evolution == "add":
                writer = writer.option("mergeSchema", "true")
        if settings.partition_by:
            writer = writer.partitionBy(*settings.partition_by)
        if settings.table is not None:
            writer.saveAsTable(settings.table)
        else:
            writer.save(settings.path)


def later_of(version: Version, known: Mapping[str, int]) -> Version | None:
    """As ``Target.later``, of a target that has these batches: by epoch the last."""
    if known.get(version.epoch, -1) == version.number:
        return None
    later = [Version(epoch, number) for epoch, number in known.items() if number >= version.number]
    return max(later, key=lambda each: each.number, default=None)


def batches_in_delta(session: SparkSession, settings: SinkSettings, connector: str) -> dict[str, int]:
    """By epoch of this connector the last batch that the table has, by Delta's record of it.

    None where that can't be read: the table is in a catalog that is not Spark's own, or Delta's jar is missing, which
    the first batch reports.
    """
    jvm, java = session._jvm, session._jsparkSession
    assert jvm is not None
    logs: Any = jvm.org.apache.spark.sql.delta.DeltaLog
    if isinstance(logs, JavaPackage):
        return {}
    if settings.table is None:
        found = logs.forTableWithSnapshot(java, settings.path)
    elif session.catalog.tableExists(settings.table):
        try:
            table = java.sessionState().sqlParser().parseTableIdentifier(settings.table)
            found = logs.forTableWithSnapshot(java, table)
        except (PySparkException, Py4JError) as error:
            why = str(error).partition("\n")[0]
            log.warning("Which batches of %s table %s has can't be read: %s", connector, settings.table, why)
            return {}
    else:
        return {}
    transactions: Any = jvm.scala.jdk.javaapi.CollectionConverters.asJava(found._2().transactions())
    prefix = f"{connector}-"
    return {
        application.removeprefix(prefix): int(number)
        for application, number in dict(transactions).items()
        if application.startswith(prefix) and OF_EPOCH.fullmatch(application.removeprefix(prefix))
    }


OF_EPOCH = re.compile(r"[0-9a-f]{8}(\.[0-9a-f]{8})?")
NO_TABLE = frozenset(
    {
        "PATH_NOT_FOUND",
        "UNABLE_TO_INFER_SCHEMA",  # a folder without files
        "TABLE_OR_VIEW_NOT_FOUND",
        "DELTA_TABLE_NOT_FOUND",
        "_LEGACY_ERROR_TEMP_1135",  # a format that can be written, not read
    }
)
"""Spark's conditions for a table that does not exist yet, or whose columns can't be read at all."""
NO_SQL_TABLE = re.compile(r"42P01|42S02|42X05|S0002|ORA-00942|no such table")
"""The same of databases: SQLSTATE of PostgreSQL, MySQL and H2, Derby, SQL Server; messages of Oracle and SQLite."""


class Evolution:
    """Restricts rows to the columns of the table, as ``schema.evolution`` says.

    Rows that are written before there is a table keep all of their columns.
    """

    def __init__(self, settings: SinkSettings, session: SparkSession) -> None:
        self._settings, self._session = settings, session
        self._known: set[str] | None = None

    def kept(self, frame: DataFrame) -> DataFrame:
        """What is to be written. Raises ConnectError for columns that the table lacks and must not get, and Spark's
        error if the table's columns can't be read now.
        """
        policy = self._settings.evolution
        if policy == "add":
            return frame
        if self._known is None:
            self._known = self._columns()
        if self._known is None:
            return frame
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
        except AnalysisException as error:
            if error.getCondition() in NO_TABLE:
                return None
            raise
        except Py4JJavaError as error:
            if self._is_of_missing_table(error.java_exception):
                return None
            raise

    def _is_of_missing_table(self, java: Any) -> bool:
        gateway = self._session.sparkContext._gateway
        while java is not None and not is_instance_of(gateway, java, "java.sql.SQLException"):
            java = java.getCause()
        return java is not None and NO_SQL_TABLE.search(f"{java.getSQLState()} {java.getMessage()}") is not None
