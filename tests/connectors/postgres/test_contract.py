"""PostgresSource keeps the contract of sources: a restart anywhere in a transaction loses and repeats nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from subprocess import CalledProcessError
from typing import ClassVar

import pytest

from penstock.api.batch import Batch
from penstock.api.testing.contract import SourceContract
from penstock.connectors.postgres.task import PostgresSourceTask
from support.postgres import LOOPBACK, USER, Postgres

pytestmark = pytest.mark.integration


class Task(PostgresSourceTask):
    postgres: ClassVar[Postgres]

    def clock(self) -> int:
        """Return the same time in every run, since the contract compares values."""
        return 0

    def poll(self) -> Batch | None:
        """Returns no records only if the server has sent all: the contract takes a few empty polls for the source's
        end.
        """
        end = self.written()
        for _ in range(100):
            found = super().poll()
            if found is not None or self._replication is None or self._replication.sent >= end:
                return found
        return None

    def written(self) -> int:
        try:
            return int(self.postgres.rows("SELECT pg_current_wal_flush_lsn() - '0/0'")[0][0])
        except CalledProcessError:  # the outage
            return 0


class TestChanges(SourceContract):
    @pytest.fixture(autouse=True)
    def _changes(self, postgres: Postgres) -> Iterator[None]:
        self.postgres, self.name = postgres, f"t{uuid.uuid4().hex[:8]}"
        t, Task.postgres = self.name, postgres
        postgres.execute(
            f"CREATE TABLE {t} (id integer PRIMARY KEY, name text); CREATE TABLE other{t} (id integer);"
            f"CREATE PUBLICATION {t} FOR TABLE {t}, other{t};"
            f"SELECT pg_create_logical_replication_slot('{t}', 'pgoutput');"
            f"INSERT INTO {t} SELECT n, 'a' FROM generate_series(1, 4) n;"
            f"BEGIN; UPDATE {t} SET id = id + 10 WHERE id < 3; INSERT INTO other{t} VALUES (1);"
            f"DELETE FROM {t}; COMMIT;"
            f"INSERT INTO other{t} VALUES (2); INSERT INTO {t} VALUES (5, NULL);"
        )
        yield
        postgres.drop_slot(t)

    def task_class(self) -> type[Task]:
        return Task

    def config(self) -> dict[str, str]:
        return {
            "database.hostname": LOOPBACK,
            "database.port": str(self.postgres.port),
            "database.user": USER,
            "database.dbname": "postgres",
            "topic.prefix": "x",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "disabled",
            "table.include.list": f"public.{self.name}",
            "snapshot.mode": "no_data",
            "max.batch.size": "3",
            "poll.interval.ms": "100",
        }

    @contextmanager
    def outage(self) -> Iterator[None]:
        self.postgres.stop()
        try:
            yield
        finally:
            self.postgres.start()

    def change_schema(self) -> None:
        self.postgres.execute(
            f"ALTER TABLE {self.name} ADD COLUMN more integer; INSERT INTO {self.name} VALUES (6, 'b', 7);"
        )
