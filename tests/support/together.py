"""Which tests one process of pytest-xdist runs: those of a file, and of some folders all."""

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
"""Their tests share what takes seconds to start or to make (a Spark with jars, a database, environments), which each
process that ran some of them would have to itself. They run first, in this order, since each of them takes minutes: the
two with most work for Spark begin one after the other.
"""


class Together(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def rank(nodeid: str) -> int:
    """The place of a test in the order of all, by what is kept together."""
    return next((at for at, folder in enumerate(TOGETHER) if nodeid.startswith(folder)), len(TOGETHER))


def scheduler(config: Any, log: Any) -> Together | None:
    """The one of xdist unless files are what it is to keep together."""
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None
