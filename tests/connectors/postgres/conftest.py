"""One PostgreSQL for the tests of this folder that need no Kafka."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from connectors.postgres.captured import Database
from support.postgres import Postgres, running_server

LOGICAL = {"wal_level": "logical", "max_wal_senders": "20", "max_replication_slots": "20"}


@pytest.fixture(scope="package")
def postgres() -> Iterator[Postgres]:
    yield from running_server(**LOGICAL)


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Database]:
    made = Database(postgres)
    postgres.execute(f"CREATE TABLE {made.name} (id serial PRIMARY KEY, name text);")
    yield made
    made.stop()
    postgres.drop_slot(made.name)
    postgres.execute(f"DROP PUBLICATION IF EXISTS {made.name}; DROP TABLE {made.name};")
