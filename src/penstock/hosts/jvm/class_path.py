"""The class path of a JVM that hosts plugins: that of Java Connect, and our jar.

Plugins see all of it, as in Java Connect, and nothing of Spark's. ``embedded/pinned/connect.jars`` pins the list.
"""

from __future__ import annotations

from pathlib import Path

from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import host_jar


def class_path() -> list[Path]:
    """Fetched and compiled when missing. Raises EmbeddedError."""
    connect = jars("connect")
    return [host_jar(connect), *connect]
