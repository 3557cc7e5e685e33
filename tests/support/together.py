"""Which tests one process of pytest-xdist runs: those of a file, and of some folders all."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling

TOGETHER = (
    "tests/connectors/postgres/",
    "tests/hosts/python/",
    "tests/installed/",
    "tests/spark/query/jdbc/",
    "tests/spark/query/sink/",
)
"""Their tests share what takes seconds to start or to make (a Spark with jars, a database, environments), which each
process that ran some of them would have to itself.
"""


class Together(LoadFileScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(nodeid: str) -> str:
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def scheduler(config: Any, log: Any) -> Together | None:
    """The one of xdist unless files are what it is to keep together."""
    return Together(config, log) if config.getvalue("dist") == "loadfile" else None
