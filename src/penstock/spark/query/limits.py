"""Limits of queries by their worker's operator, as far as Spark has to be asked: SQL, and files that links lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pyspark.errors import PySparkException

from penstock.api.config import ConfigType, parse_type
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.paths import PathReader, folders_of, outside, path_problem
from penstock.api.query import BatchVersion, QueryTask, SinkTarget
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.core.config.permissions.spark_options import OPTIONS_ALLOWED, SQL_FUNCTIONS_ALLOWED
from penstock.spark.query.dataframes import VIEW
from penstock.spark.query.sink.tables.delta import compacts, expressions_of
from penstock.spark.query.sql.select import SqlSelect
from penstock.spark.query.table_files import files_of_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPARK_SINK_TASK, SPARK_SOURCE_TASK = "penstock.connectors.SparkSinkTask", "penstock.connectors.SparkSourceTask"


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of one worker's queries."""

    functions: tuple[str, ...] = ()
    """Functions that ``sql`` may call besides Spark's harmless ones."""
    options: tuple[str, ...] = ()
    """Patterns of options that functions of ``sql`` may have besides the harmless ones."""
    folders: tuple[str, ...] | None = None
    """Allowed folders; None: all."""

    @classmethod
    def of(cls, worker: Mapping[str, str], task: type[QueryTask] | None = None) -> Self:
        """Read the worker's properties. Folders limit SparkSink and SparkSource, not plugins that are queries."""

        def listed(name: str) -> tuple[str, ...]:
            return tuple(parse_type(name, worker.get(name), ConfigType.LIST) or ())

        limited = task is None or getattr(task, "java_name", "") in (SPARK_SINK_TASK, SPARK_SOURCE_TASK)
        folders = folders_of(worker) if limited else None
        return cls(listed(SQL_FUNCTIONS_ALLOWED), listed(OPTIONS_ALLOWED), folders)

    def select(self, session: SparkSession, sql: str | None, once: bool = False) -> SqlSelect | None:
        """Return the checked ``sql`` of a connector, None if it has none; ``once``: see SqlSelect.

        Raises ConfigError and ParseException.
        """
        return None if sql is None else SqlSelect(session, sql, self.functions, self.options, once)

    def check_path(self, key: str, path: str | None, reader: PathReader) -> None:
        """Raise ConfigError for a path that is not in the allowed folders now, links followed."""
        if self.folders is not None and path and (problem := path_problem(path, self.folders, reader)):
            raise ConfigError(f"{key}: {problem}")

    def check_folder(self, key: str, uri: str) -> None:
        """Raise ConfigError for a folder of a table, which its catalog names, that is not in the allowed ones."""
        self.check_path(key, uri, PathReader.HADOOP)

    def check_files(self, uris: Iterable[str]) -> None:
        """Raise ConnectError if a file that a batch is read from, links followed, is not in the allowed folders."""
        if self.folders is not None and (problem := outside(uris, self.folders)):
            raise ConnectError(problem)

    def check_expressions(self, session: SparkSession, expressions: Iterable[str]) -> None:
        """Raise ConnectError if a table's own metadata has SQL that ``sql`` of a connector could not have."""
        for each in expressions:
            try:
                SqlSelect(session, f"SELECT (\n{each}\n) FROM {VIEW}", self.functions, self.options)
            except (ConfigError, PySparkException) as error:
                why = " ".join(str(error).split())
                raise ConnectError(f"The table has the expression {each}, which is not allowed: {why}") from None

    def target(self, target: SinkTarget, settings: SinkSettings) -> SinkTarget:
        """Return a sink's target whose path and, if rows are written again, files are looked at before each batch."""
        return target if self.folders is None else _LimitedTarget(target, settings, self)


@dataclass(frozen=True, slots=True)
class _LimitedTarget:
    target: SinkTarget
    settings: SinkSettings
    limits: QueryLimits

    def add(self, frame: DataFrame, version: BatchVersion, confirm: Callable[[], None]) -> None:
        self.limits.check_path("path", self.settings.path, PathReader.HADOOP)
        session = frame.sparkSession
        if self.settings.format == "delta":
            self.limits.check_expressions(session, expressions_of(session, self.settings))
        if self.settings.keys is not None or compacts(session, self.settings):  # rows are read, and written again
            self.limits.check_files(files_of_table(session, self.settings))
        self.target.add(frame, version, confirm)

    def later(self, version: BatchVersion) -> BatchVersion | None:
        self.limits.check_path("path", self.settings.path, PathReader.HADOOP)
        return self.target.later(version)
