"""Distribution of tests to processes of pytest-xdist: a file's tests stay together, and so do some folders'."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    "tests/spark/query/jdbc/",
    "tests/hosts/python/",
    "tests/connectors/postgres/",
    "tests/spark/query/sink/",
    "tests/installed/",
)
"""Folders whose tests share resources that take seconds to start (a Spark with jars, a database, environments); every
process that ran some of these tests would start its own. They run first, in this order, since each takes minutes:
the two with most work for Spark begin one after the other.
"""


class Together(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def rank(nodeid: str) -> int:
    """Return the position of a test's folder in the order in which tests run."""
    return next((at for at, folder in enumerate(TOGETHER) if nodeid.startswith(folder)), len(TOGETHER))


def scheduler(config: Any, log: Any) -> Together | None:
    """Return the scheduler that keeps files together, or None for the one of xdist."""
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None
