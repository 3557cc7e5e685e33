"""Drivers, and one of each database, for all tests of the JDBC connectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from penstock.spark.query.jdbc.drivers import install
from support import mariadb as mariadbs
from support.machine import missing
from support.postgres import Postgres, running_server
from support.spark.host import Hosted
from support.spark.transactions import load


@pytest.fixture(scope="session")
def spark(hosted: Hosted) -> Hosted:
    """The Spark of all tests: a task brings its driver along."""
    for name in ("jdbc-postgresql", "jdbc-mariadb", "jdbc-sqlite"):
        install(name)
    return hosted


@pytest.fixture(scope="package")
def entry(java: Any) -> Any:
    """Our Java half, in ``java``."""
    return load(java)


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    """Tests have tables of their own in it, and start it again if they stop it."""
    yield from running_server()


@pytest.fixture(scope="package")
def mariadb() -> Iterator[mariadbs.MariaDb]:
    if mariadbs.binary() is None:
        missing("There is no MariaDB on this machine (Debian and Ubuntu: sudo apt-get install mariadb-server)")
    server = mariadbs.MariaDb()
    try:
        yield server
    finally:
        server.remove()
