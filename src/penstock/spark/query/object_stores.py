"""Object stores: Hadoop's connectors to them, which Spark does not have itself, and logs of Delta tables in S3."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from py4j.protocol import Py4JJavaError

from penstock.api.errors import ConnectError
from penstock.embedded.home import EmbeddedError
from penstock.hosts.jvm.build import jar_of
from penstock.spark.releases import CONDITIONAL_PUT, LOG_STORE, OWN_LOG_STORE, SparkRelease
from penstock.spark.versions import release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECTORS = {
    "s3a": "org.apache.hadoop:hadoop-aws:{hadoop}",
    "abfs": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "abfss": "org.apache.hadoop:hadoop-azure:{hadoop}",
    "gs": "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26",
}
"""By scheme the coordinates of the connector for a version of Hadoop."""
_S3 = frozenset({"s3a", "s3", "s3n"})
_IN_ONE_PROCESS = "S3SingleDriverLogStore"
"""The log store whose writes exclude each other in one process only, and which Delta has by default."""
_DYNAMO_DB = "io.delta.storage.S3DynamoDBLogStore"
_S3A_FILES = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_COMPILED_WITH = ("io.delta.storage.HadoopFileSystemLogStore", "org.apache.hadoop.conf.Configuration")
_SOURCES = Path(__file__).parent / "sink" / "tables" / "java"

log = logging.getLogger(__name__)


def scheme_of(path: str | None) -> str:
    """Return the scheme of a path, in lower case; empty if it has none."""
    return urlsplit(path or "").scheme.casefold()


def coordinates(scheme: str, spark: SparkRelease) -> str:
    """Return the coordinates on Maven Central of a connector."""
    return _CONNECTORS[scheme].format(hadoop=spark.hadoop)


def missing_connector(key: str, path: str, spark: SparkRelease) -> str:
    """Return the sentence about a path whose file system is not installed."""
    scheme = scheme_of(path)
    name, other = (scheme, "") if scheme in _CONNECTORS else ("s3a", "write s3a:// and ")
    return (
        f"{key}={path}: Spark {spark.name} has no connector for {scheme}: {other}add it to the worker by "
        f"`spark.jars.packages={coordinates(name, spark)}`."
    )


def check_connector(session: SparkSession, key: str, path: str | None) -> None:
    """Raise ConnectError if a path is in an object store whose connector is not installed."""
    if path is None or (scheme := scheme_of(path)) not in {*_CONNECTORS, *_S3}:
        return
    jvm: Any = session._jvm
    try:
        jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(
            scheme, session._jsparkSession.sessionState().newHadoopConf()
        )
    except Py4JJavaError:
        raise ConnectError(missing_connector(key, path, release())) from None


def check_lists(session: SparkSession, path: str | None) -> None:
    """Raise ConnectError if the list of a batch could not be published in S3 by one of several processes only."""
    if scheme_of(path) not in _S3:
        return
    if reason := lacks_conditional_put(session._jvm, session._jsparkSession.sessionState().newHadoopConf(), path):
        raise ConnectError(f"path={path}: {reason}.")


def check_log_store(session: SparkSession, path: str | None) -> None:
    """Raise ConnectError if two processes could write the same version of the log of a Delta table in S3."""
    if (scheme := scheme_of(path)) not in _S3:
        return
    setting, chosen = _setting(scheme), _log_store(session, scheme)
    if _IN_ONE_PROCESS in chosen:
        raise ConnectError(
            f"path={path}: {setting}={chosen} lets two processes write the same version of a Delta table, so that "
            f"rows would be lost: {_instead(scheme)}, or set {setting}={_DYNAMO_DB}."
        )
    if chosen == OWN_LOG_STORE:
        configuration = session._jsparkSession.sessionState().newHadoopConf()
        if reason := lacks_conditional_put(session._jvm, configuration, path):
            raise ConnectError(f"path={path}: {reason}, or set {setting}={_DYNAMO_DB}.")


def _instead(scheme: str) -> str:
    if scheme == "s3a":
        return f"leave it out, or set one that puts an object only if there is none, such as {OWN_LOG_STORE}"
    return "write to s3a:// by Hadoop's connector"


def prepare_log_store(session: SparkSession, path: str | None) -> None:
    """Let Delta find Penstock's log store for a table in S3, or for one of a catalog, which may be there.

    Its jar is compiled once for each version of Delta. The driver alone needs it. Raises ConnectError if the path needs
    it, and it can't be had.
    """
    scheme = scheme_of(path)
    if (path is not None and scheme not in _S3) or _log_store(session, scheme or "s3a") != OWN_LOG_STORE:
        return
    gateway: Any = session.sparkContext._gateway
    loader = session._jsparkSession.sharedState().jarClassLoader()
    try:
        jars = [_jar_of(loader.loadClass(name)) for name in _COMPILED_WITH]
    except Py4JJavaError:  # the first batch says that Delta is missing
        return
    try:
        loader.loadClass(_S3A_FILES)
    except Py4JJavaError:
        if path is None:  # no table can be in S3
            return
        raise ConnectError(
            f"path={path}: {_setting(scheme)}={OWN_LOG_STORE} needs Hadoop's connector to S3: add it to the worker by "
            f"`spark.jars.packages={coordinates('s3a', release())}`, or set another one, such as {_DYNAMO_DB}."
        ) from None
    try:
        jar = jar_of(_SOURCES, "penstock-delta", jars)
    except EmbeddedError as error:
        if path is not None:
            raise ConnectError(str(error)) from error
        log.warning(
            "Delta tables in S3 can't be read or written, since the class of their logs can't be made: %s", error
        )
        return
    loader.addURL(gateway.jvm.java.io.File(str(jar)).toURI().toURL())


def _jar_of(java_class: Any) -> Path:
    return Path(str(java_class.getProtectionDomain().getCodeSource().getLocation().toURI().getPath()))


def _setting(scheme: str) -> str:
    """Return the setting of the class that writes logs of Delta tables of a scheme of S3."""
    return LOG_STORE.replace("s3a", scheme)


def _log_store(session: SparkSession, scheme: str) -> str:
    """Return that class, by the settings of the application."""
    given = session.sparkContext._conf  # a copy of it would take hundreds of calls of Java
    return given.get(_setting(scheme)) or given.get("spark.delta.logStore.class") or _IN_ONE_PROCESS


def lacks_conditional_put(jvm: Any, configuration: Any, path: str | None) -> str | None:
    """Return why objects of S3 can't be created only if there is none; None if they can."""
    root = jvm.org.apache.hadoop.fs.Path(path)
    if root.getFileSystem(configuration).hasPathCapability(root, CONDITIONAL_PUT):
        return None
    version = jvm.org.apache.hadoop.util.VersionInfo.getVersion()
    return (
        f"this connector of Hadoop {version} can't create an object only if there is none, which writing each batch "
        "once needs: use Spark 4.1 or newer, without fs.s3a.create.conditional.enabled=false"
    )
