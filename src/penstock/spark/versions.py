"""The version of Spark on which Penstock runs, with its facts; no other module knows one version from another.

The Spark that counts is the one whose jars are started: that of ``SPARK_HOME``, otherwise that of the PySpark package.
Nothing here imports PySpark, because the worker asks too.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.embedded.home import EmbeddedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkRelease:
    """Facts of one minor version of Spark."""

    name: str
    scala: str
    """The Scala version of PyPI's build."""
    java: tuple[int, ...]
    """Java versions that it runs on, of those with long support; the oldest first."""
    python: tuple[int, int]
    """The newest Python version that it runs on."""
    kafka: str
    """The list in ``embedded/pinned`` of the jars of its Kafka source."""
    delta: str
    """The list in ``embedded/pinned`` of Delta's jars."""


SUPPORTED = SparkRelease(
    name="4.2",
    scala="2.13",
    java=(17, 21, 25),
    python=(3, 14),
    kafka="spark-kafka-4.2",
    delta="delta-4.2",
)

_CORE = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<version>\d+\.\d+[^/]*)\.jar")
_PACKAGE = re.compile(r"__version__\b.*=\s*['\"](\d+\.\d+[^'\"]*)")
_REMEDY = f"Run `pip install 'pyspark=={SUPPORTED.name}.*'`"
_REMEDY_FOR_JARS = f"{_REMEDY} and unset SPARK_HOME, or set SPARK_HOME to the folder of a Spark {SUPPORTED.name}"


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
    if _minor(spark.version) != SUPPORTED.name:
        raise UnsupportedSparkError(
            f"{there} is not supported; Penstock runs on Spark {SUPPORTED.name}. {_REMEDY_FOR_JARS}."
        )
    if spark.scala != SUPPORTED.scala:
        raise UnsupportedSparkError(
            f"{there} is built with Scala {spark.scala}, which is not supported; Penstock runs on the build with "
            f"Scala {SUPPORTED.scala}. {_REMEDY_FOR_JARS} with it."
        )
    if _minor(package) != SUPPORTED.name:
        raise UnsupportedSparkError(f"{there} does not work with the installed PySpark {package}. {_REMEDY}.")
    if python > SUPPORTED.python:
        newest = ".".join(map(str, SUPPORTED.python))
        raise UnsupportedSparkError(
            f"{there} does not run on Python {python[0]}.{python[1]}. Use Python {newest} or older."
        )
    return SUPPORTED


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
