"""Delta tables: the batches that a table has, and changes of its rows by their keys.

A batch of changes is one MERGE, and so one version of the table. Of several records of one key in a batch the last
counts, by its offset.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from py4j.java_gateway import JavaPackage
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as f
from pyspark.sql import types as t

from penstock.api.drift import SchemaDrift
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.sink.rows.plan import DELETED, PLACE
from penstock.spark.versions import java_map, merges_with_evolution

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

log = logging.getLogger(__name__)

OF_EPOCH = re.compile(r"[0-9a-f]{8}(\.[0-9a-f]{8})?")


class DeltaBatches(NamedTuple):
    """The batches of a connector that a table has, by Delta's record of them."""

    numbers: dict[str, int]
    """The last one of each epoch."""
    newest: int = -1
    """The table's version."""
    log: str = ""
    """The folder of its log."""


def batches_in_delta(session: SparkSession, settings: SinkSettings, connector: str) -> DeltaBatches:
    """Return the batches of this connector that the table has.

    None where that can't be read: the table is in a catalog that is not Spark's own, or Delta's jar is missing, which
    the first batch reports.
    """
    try:
        snapshot = _snapshot(session, settings)
    except (PySparkException, Py4JError) as error:
        if settings.table is None:
            raise
        why = str(error).partition("\n")[0]
        log.warning("Which batches of %s table %s has can't be read: %s", connector, settings.table, why)
        return DeltaBatches({})
    if snapshot is None:
        return DeltaBatches({})
    jvm: Any = session._jvm
    transactions: Any = java_map(jvm, snapshot.transactions())
    prefix = f"{connector}-"
    numbers = {
        application.removeprefix(prefix): int(number)
        for application, number in dict(transactions).items()
        if application.startswith(prefix) and OF_EPOCH.fullmatch(application.removeprefix(prefix))
    }
    return DeltaBatches(numbers, int(snapshot.version()), str(snapshot.deltaLog().logPath().toString()))


def _snapshot(session: SparkSession, settings: SinkSettings) -> Any:
    """Return Java's newest snapshot of a table, which may be an empty one; None if there is no table, or no Delta."""
    jvm: Any = session._jvm
    java = session._jsparkSession
    logs: Any = jvm.org.apache.spark.sql.delta.DeltaLog
    if isinstance(logs, JavaPackage):
        return None
    if settings.table is None:
        return logs.forTableWithSnapshot(java, settings.path)._2()
    if not session.catalog.tableExists(settings.table):
        return None
    return logs.forTableWithSnapshot(java, java.sessionState().sqlParser().parseTableIdentifier(settings.table))._2()


COMPACTS = "spark.databricks.delta.autoCompact.enabled"
_COMPACTS = ("delta.autoOptimize.autoCompact", "delta.autoOptimize")


def compacts(session: SparkSession, settings: SinkSettings) -> bool:
    """Whether Delta may write rows of other files again after a batch, to have fewer files; True if not known."""
    if settings.format != "delta":
        return False
    chosen = session.conf.get(COMPACTS, None)
    if chosen is not None:
        return chosen.casefold() != "false"
    given = {name.casefold(): value for name, value in settings.options.items()}
    if any(given.get(name.casefold(), "false").casefold() != "false" for name in _COMPACTS):
        return True
    try:
        snapshot = _snapshot(session, settings)
    except (PySparkException, Py4JError):  # a table of another catalog, say
        return True
    if snapshot is None:
        return False
    found = [snapshot.metadata().configuration().get(name) for name in _COMPACTS]
    return any(each.isDefined() and str(each.get()).casefold() != "false" for each in found)


_CONSTRAINT = "delta.constraints."
_EXPRESSIONS = ("delta.generationexpression", "current_default", "exists_default")
_INVARIANTS = "delta.invariants"


def expressions_of(session: SparkSession, settings: SinkSettings) -> list[str]:
    """Return the SQL expressions of a table's own metadata, which Delta computes for each row that it writes: those of
    constraints, generated columns and defaults. None of them if the table is in a catalog that is not Spark's own.
    """
    try:
        snapshot = _snapshot(session, settings)
    except (PySparkException, Py4JError):
        return []
    if snapshot is None:
        return []
    jvm: Any = session._jvm
    metadata = snapshot.metadata()
    properties = dict(java_map(jvm, metadata.configuration()))
    found = [str(text) for name, text in properties.items() if str(name).casefold().startswith(_CONSTRAINT)]
    waiting = [json.loads(str(metadata.schemaString() or "{}") or "{}")]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            for name, value in (part.get("metadata") or {}).items():
                if name.casefold() in _EXPRESSIONS:
                    found.append(str(value))
                elif name.casefold() == _INVARIANTS:
                    found.append(_invariant(str(value)))
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


def _invariant(text: str) -> str:
    try:
        return str(json.loads(text)["expression"]["expression"])
    except (ValueError, KeyError, TypeError):
        return text  # of no form that Delta reads


class TableDescription(NamedTuple):
    """The columns of a table, with their metadata, and its conditions for rows by their names."""

    columns: t.StructType
    constraints: dict[str, str]


def description_of(session: SparkSession, settings: SinkSettings) -> TableDescription | None:
    """Return a table's description; None if it can't be read, as that of a table in a catalog that is not Spark's."""
    try:
        snapshot = _snapshot(session, settings)
    except (PySparkException, Py4JError):
        return None
    if snapshot is None or not (text := snapshot.metadata().schemaString()):
        return None
    columns = t.StructType.fromJson(json.loads(str(text)))
    jvm: Any = session._jvm
    found = {}
    for name, sql in dict(java_map(jvm, snapshot.metadata().configuration())).items():
        if str(name).casefold().startswith(_CONSTRAINT):
            found[str(name)[len(_CONSTRAINT) :]] = str(sql)
    for column in columns:
        for name, value in (column.metadata or {}).items():
            if name.casefold() == _INVARIANTS:
                found[f"of {column.name}"] = _invariant(str(value))
    return TableDescription(columns, found)


CHANGES = "penstock_changes"
"""The view of the rows to merge."""


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def latest(frame: DataFrame, keys: Iterable[str]) -> DataFrame:
    """Return the last row of each key."""
    row = f.max_by(f.struct(*map(quoted, frame.columns)), f.col(PLACE)).alias("row")
    return frame.groupBy(*(f.col(quoted(name)) for name in keys)).agg(row).select("row.*")


def merge(
    changes: DataFrame,
    settings: SinkSettings,
    keys: Collection[str],
    known: Iterable[str],
    application: str,
    number: int,
) -> None:
    """Change the table, whose columns are ``known``, unless it has this batch of the application."""
    session = changes.sparkSession
    changes.createOrReplaceTempView(CHANGES)
    set_for_this = {
        "spark.databricks.delta.write.txnAppId": application,
        "spark.databricks.delta.write.txnVersion": str(number),
        # Otherwise Delta may read the changes twice, and so would count them and report dead letters twice.
        "spark.databricks.delta.merge.materializeSource": "all",
    }
    if settings.drift is SchemaDrift.EVOLVE and not merges_with_evolution():
        set_for_this["spark.databricks.delta.schema.autoMerge.enabled"] = "true"
    with having(session, set_for_this):
        session.sql(
            statement(settings, keys, [name for name in changes.columns if name not in (PLACE, DELETED)], known)
        )


def statement(settings: SinkSettings, keys: Collection[str], columns: list[str], known: Iterable[str]) -> str:
    """The MERGE. A row becomes what its record is: columns that are only the table's are null then."""
    table = settings.table if settings.table is not None else f"delta.{quoted(settings.path or '')}"
    given = {name.casefold() for name in columns}
    sets = [f"{quoted(name)} = s.{quoted(name)}" for name in columns]
    sets += [f"{quoted(name)} = NULL" for name in known if name.casefold() not in given]
    evolve = settings.drift is SchemaDrift.EVOLVE and merges_with_evolution()
    evolution = "WITH SCHEMA EVOLUTION " if evolve else ""
    return (
        f"MERGE {evolution}INTO {table} AS t USING {CHANGES} AS s "
        f"ON {' AND '.join(f't.{quoted(name)} <=> s.{quoted(name)}' for name in keys)} "
        f"WHEN MATCHED AND s.{DELETED} THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(sets)} "
        f"WHEN NOT MATCHED AND NOT s.{DELETED} THEN INSERT ({', '.join(map(quoted, columns))}) "
        f"VALUES ({', '.join(f's.{quoted(name)}' for name in columns)})"
    )


@contextmanager
def having(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Have Spark work with these settings, which the session has not set by itself."""
    for name, value in settings.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            session.conf.unset(name)
