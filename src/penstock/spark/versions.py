"""Differences between the versions of Spark on which Penstock runs; with ``spark.releases``, which has their facts, the
only module that knows one version from another.

The Spark that counts is the one whose jars are started: that of ``SPARK_HOME``, otherwise that of the PySpark package.
Nothing here imports PySpark at the top, because the worker asks too.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import logging
import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.api.errors import ConnectError
from penstock.embedded.home import EmbeddedError
from penstock.spark.releases import DEFAULT, RELEASES, SparkRelease, names

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql import Column, Observation, SparkSession
    from pyspark.sql import types as t


def _install(name: str = DEFAULT) -> str:
    return f"`pip install 'pyspark=={name}.*'`"


def _remedy_for_jars(name: str, of: str) -> str:
    return f"Run {_install(name)} and unset SPARK_HOME, or set SPARK_HOME to the folder of a Spark {of}"


_FORMAT_CLASSES = {
    "delta": ("Delta", "org.apache.spark.sql.delta.sources.DeltaDataSource"),
    "iceberg": ("Iceberg", "org.apache.iceberg.spark.source.IcebergSource"),
}
_WITHOUT_JAR = {"iceberg": "set `iceberg.catalog.type` and `iceberg.tables` in SparkSink, which needs no jar"}
"""By format how it is written without a jar."""
_BUILT_FOR = re.compile(r"(?:delta-spark|iceberg-spark-runtime)[_-](\d\.\d)_\d\.\d+-")
"""The version of Spark in the name of a format's jar."""
_SCALA = re.compile(r"_(2\.1\d)(?=[-:]|\.jar$)")
"""The version of Scala in the name of a jar, or in its coordinates."""
_CORE = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<version>\d+\.\d+[^/]*)\.jar")
_PACKAGE = re.compile(r"__version__\b.*=\s*['\"](\d+\.\d+[^'\"]*)")
_OTHER_CLASS = re.compile(
    r"InvalidClassException: (?P<name>org\.apache\.spark\.[\w.$]+); local class incompatible: "
    r"stream classdesc serialVersionUID = -?\d+, local class serialVersionUID = (?P<uid>-?\d+)"
)
RDD = "org.apache.spark.rdd.RDD"
CONTACT = "org.apache.spark.rpc.netty.RpcEndpointVerifier$CheckExistence"
"""The class of the first message that is sent to a master."""
_CONTACTS = {"2.12": 7_789_290_765_573_734_431, "2.13": 5_378_738_997_755_484_868}
"""Its ``serialVersionUID`` by Spark's version of Scala."""
_LISTENER_METRICS = ("3.5", "4.0", "4.1")
"""Versions that hand on the metrics of an action some time after it has ended, by a listener."""
_REMEDY = f"Run {_install()}"
_REMEDY_FOR_JARS = _remedy_for_jars(DEFAULT, names("or"))


class UnsupportedSparkError(EmbeddedError):
    """The Spark that is installed is none on which Penstock runs; the message says what is found and what to do."""


@dataclass(frozen=True, slots=True)
class InstalledSpark:
    """A Spark as its jars name it."""

    version: str
    scala: str
    home: Path


def spark_home() -> Path:
    """Return the folder of the Spark that is started here. Raises UnsupportedSparkError if there is none."""
    return Path(own) if (own := os.environ.get("SPARK_HOME")) else _package()


def installed(home: Path | None = None) -> InstalledSpark:
    """Read the versions of a Spark from the names of its jars; the default is ``spark_home``."""
    home = spark_home() if home is None else home
    for jar in sorted((home / "jars").glob("spark-core_*.jar")):
        if match := _CORE.fullmatch(jar.name):
            return InstalledSpark(match["version"], match["scala"], home)
    raise UnsupportedSparkError(
        f"There is no Spark in {home}: {home / 'jars'} has no spark-core jar. {_REMEDY_FOR_JARS}."
    )


def package_version(folder: Path | None = None) -> str:
    """Return the version of the PySpark package. Raises UnsupportedSparkError if it is not installed."""
    file = (_package() if folder is None else folder) / "version.py"
    try:
        found = _PACKAGE.search(file.read_text("utf-8"))
    except OSError:
        found = None
    if found is None:
        raise UnsupportedSparkError(f"{file} does not say which PySpark it is. {_REMEDY}.")
    return found[1]


def release_of(spark: InstalledSpark, package: str, python: tuple[int, int] | None = None) -> SparkRelease:
    """Return the facts of a Spark that is used by the PySpark package of version ``package``.

    Raises UnsupportedSparkError if Penstock does not run on it, or it does not run with this package or Python.
    """
    python = python or sys.version_info[:2]
    there = f"Spark {spark.version} in {spark.home}"
    found = next((each for each in RELEASES if each.name == _minor(spark.version)), None)
    if found is None:
        raise UnsupportedSparkError(
            f"{there} is not supported; Penstock runs on Spark {names('and')}. {_REMEDY_FOR_JARS}."
        )
    if spark.scala != found.scala:
        raise UnsupportedSparkError(
            f"{there} is built with Scala {spark.scala}, which is not supported; Penstock runs on the build with "
            f"Scala {found.scala}. {_remedy_for_jars(found.name, found.name)} with it."
        )
    if _minor(package) != found.name:
        raise UnsupportedSparkError(
            f"{there} does not work with the installed PySpark {package}. Run {_install(found.name)}."
        )
    if python > found.python:
        newest = ".".join(map(str, found.python))
        raise UnsupportedSparkError(
            f"{there} does not run on Python {python[0]}.{python[1]}. Use Python {newest} or older."
        )
    return found


@cache
def release() -> SparkRelease:
    """Return the facts of the Spark that is installed. Raises UnsupportedSparkError if Penstock does not run on it."""
    return release_of(installed(), package_version())


def _package() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise UnsupportedSparkError(f"PySpark is not installed. {_REMEDY}.")
    return Path(found.origin).parent


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def other_spark(error: str) -> str | None:
    """Return which Spark is on the other side of an error of Java, as a noun phrase; None if it is no such error.

    Java does not read an object of a class whose ``serialVersionUID`` differs, and the error has both.
    """
    found = _OTHER_CLASS.search(error)
    if found is None:
        return None
    uid = int(found["uid"])
    if found["name"] == CONTACT:
        scala = next((scala for scala, known in _CONTACTS.items() if known == uid), None)
        of_scala = [each.name for each in RELEASES if each.scala == scala]
        return f"a Spark with Scala {scala}, such as {' or '.join(of_scala)}" if scala else "another Spark"
    minor = next((each.name for each in RELEASES if found["name"] == RDD and each.rdd == uid), None)
    return f"Spark {minor}" if minor else "another Spark"


def check_jars(jars: Iterable[str], spark: SparkRelease | None = None) -> None:
    """Raise ConnectError for a jar that is for another version of Scala than the installed Spark.

    One such jar with a data source makes Spark fail at each look-up of any data source.
    """
    spark = spark or release()
    for jar in jars:
        name = jar.strip().rpartition("/")[2]
        found = _SCALA.search(name)
        if found is not None and found[1] != spark.scala:
            raise ConnectError(
                f"{name} is for Scala {found[1]}, but Spark {spark.name} is built with Scala {spark.scala}: "
                f"replace it in spark.jars or spark.jars.packages with the build whose name has _{spark.scala}."
            )


def refusal(format: str, jar: str | None, spark: SparkRelease) -> str | None:
    """Return why a format can't be used, or None if it can.

    ``jar``: the name of the jar that has its class, or of another class; None if there is none.
    """
    if format.casefold() in spark.lacks:
        return f"Spark {spark.name} has no format {format.casefold()}: run {_install()}, or use another format."
    known = _FORMAT_CLASSES.get(format.casefold())
    if known is None:
        return None
    title, coordinates = known[0], spark.formats.get(format.casefold())
    if jar is None:
        if coordinates is not None:
            return f"{title} is not installed in Spark {spark.name}: add it by `spark.jars.packages={coordinates}`."
        instead = _WITHOUT_JAR.get(format.casefold(), "use another format")
        return f"{title} has no build for Spark {spark.name}: {_others(format)}, or {instead}."
    built = _BUILT_FOR.search(jar)
    if built is None or built[1] == spark.name:
        return None
    right = f"use `spark.jars.packages={coordinates}`" if coordinates else f"there is none for it; {_others(format)}"
    return f"{jar} is {title} for Spark {built[1]}, and this is Spark {spark.name}: {right}."


def check_format(session: SparkSession, format: str) -> None:
    """Raise ConnectError if the installed Spark lacks a format, or has a build of it for another Spark."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    known = _FORMAT_CLASSES.get(format.casefold())
    jar = None
    if known is not None:
        java = session._jsparkSession
        try:
            source = java.sharedState().jarClassLoader().loadClass(known[1]).getProtectionDomain().getCodeSource()
            jar = str(source.getLocation().getPath()).rpartition("/")[2] if source is not None else ""
        except Py4JError:  # there is no such class, but a platform's own Spark may have the format by another one
            jvm: Any = session._jvm
            sources = jvm.org.apache.spark.sql.execution.datasources.DataSource
            with contextlib.suppress(Py4JError, PySparkException):
                jar = str(sources.lookupDataSource(format, java.sessionState().conf()).getName())
    if (reason := refusal(format, jar, release())) is not None:
        raise ConnectError(reason)


def _others(format: str) -> str:
    names = [each.name for each in RELEASES if format.casefold() in each.formats]
    return f"install a Spark that it is built for ({', '.join(names)}), for example {_install(names[-1])}"


def make_active(session: SparkSession) -> None:
    """Make this Spark's active session of the thread, in Java too. Some sources ask for it, and a few of them find only
    Spark's defaults without one.
    """
    kind: Any = type(session)
    jvm: Any = session._jvm
    java = kind._get_j_spark_session_class(jvm) if hasattr(kind, "_get_j_spark_session_class") else jvm.SparkSession
    java.setActiveSession(session._jsparkSession)


def arrow_schema(columns: t.StructType, zone: str) -> pa.Schema:
    """Return Arrow's schema of columns. Spark before 4.2 has instants in UTC, and later ones in the session's zone."""
    from pyspark.sql.pandas.types import to_arrow_schema

    if "timezone" in inspect.signature(to_arrow_schema).parameters:
        return to_arrow_schema(columns, timezone=zone)
    return to_arrow_schema(columns)


def type_of_ddl(text: str) -> t.DataType:
    """Return the type or the columns that a text of SQL declares. Raises Spark's errors."""
    from pyspark.sql import types

    if hasattr(types.DataType, "fromDDL"):
        return types.DataType.fromDDL(text)
    return vars(types)["_parse_datatype_string"](text)  # 3.5


def try_cast(name: str, type: t.DataType) -> Column:
    """Return a column, whose ``name`` is quoted, as another type, with nulls for values that it does not have."""
    from pyspark.sql import functions as f

    column = f.col(name)
    if hasattr(column, "try_cast"):
        return column.try_cast(type)
    return f.expr(f"try_cast({name} AS {type.simpleString()})")  # 3.5


def attempted(session: SparkSession, sql: str) -> Column:
    """Return a column of an expression of SQL, null where it can't be computed; SQL has that for single functions."""
    jvm: Any = session._jvm
    java: Any = session._jsparkSession
    attempt = jvm.org.apache.spark.sql.catalyst.expressions.TryEval(
        java.sessionState().sqlParser().parseExpression(sql)
    )
    if release().name == "3.5":
        from pyspark.sql import Column

        return Column(jvm.org.apache.spark.sql.Column(attempt))
    from pyspark.sql.classic.column import Column as ClassicColumn

    return ClassicColumn(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(attempt))


def text_of_bytes(column: str) -> str:
    """Return Spark's SQL of bytes as Java's strings have them: what is not UTF-8 is replaced.

    Not ``make_valid_utf8``: it makes three characters of half a surrogate pair, Java one.
    """
    if release().name == "3.5":  # has no other `decode`, and can't tell valid texts, which would be faster
        return f"decode({column}, 'UTF-8')"
    text = f"CAST({column} AS STRING)"
    return f"CASE WHEN is_valid_utf8({text}) THEN {text} ELSE decode({column}, 'UTF-8') END"


def condition(error: PySparkException) -> str | None:
    """Return the name of an error of Spark, such as TABLE_OR_VIEW_NOT_FOUND."""
    named: Any = getattr(error, "getCondition", None) or error.getErrorClass  # 3.5 has the second only
    found = named()
    return None if found is None else str(found)


def error_loggers() -> list[logging.Logger]:
    """Return the loggers to which PySpark writes exceptions before it raises them; 3.5 has none.

    They take arguments that no other class of loggers takes.
    """
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:
        return []
    return [PySparkLogger.getLogger(name) for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger")]


def cancel_jobs(context: Any, group: str) -> None:
    """Cancel the jobs of a group of Java's SparkContext; from 4.0 on also those that it would start later."""
    if release().name == "3.5":
        context.cancelJobGroup(group)
    else:
        context.cancelJobGroupAndFutureJobs(group)


def merges_with_evolution() -> bool:
    """Return whether SQL has MERGE WITH SCHEMA EVOLUTION; on 3.5, a setting of Delta adds the columns."""
    return release().name != "3.5"


def java_map(jvm: Any, map: Any) -> Any:
    """Return a map of Scala, 2.12 or 2.13, as one of Java."""
    return jvm.scala.collection.JavaConverters.mapAsJavaMap(map)


def observed(figures: Observation, session: SparkSession) -> dict[str, Any] | None:
    """Return the metrics of an observation, none of them an array; None if no action has made them."""
    java: Any = figures._jo
    if not java.future().isCompleted() and release().name in _LISTENER_METRICS:
        from py4j.protocol import Py4JError

        context: Any = session.sparkContext._jsc.sc()
        with contextlib.suppress(Py4JError):  # after 10 s, the metrics of the action are lost
            context.listenerBus().waitUntilEmpty()
    return (figures.get or None) if java.future().isCompleted() else None
