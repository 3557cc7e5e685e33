"""One PostgreSQL for the tests of this folder that need no Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.machine import missing
from support.postgres import Postgres, binaries

LOGICAL = {"wal_level": "logical", "max_wal_senders": "20", "max_replication_slots": "20"}


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    if binaries() is None:
        missing("there is no PostgreSQL on this machine")
    server = Postgres.make(**LOGICAL)
    try:
        server.start()
        yield server
    finally:
        server.remove()
