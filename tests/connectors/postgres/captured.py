"""A table that PostgresSource captures, and the records that its task returns."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.record import SourceRecord
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors.postgres.task import PostgresSourceTask
from support.postgres import LOOPBACK, USER, Postgres
from support.waiting import SECONDS, until


@dataclass(slots=True)
class Boundaries:
    """A ``TransactionContext``: after how many polls with records a commit was asked for."""

    asked: bool = False

    def commit_transaction(self, after: SourceRecord | None = None) -> None:
        assert after is None
        self.asked = True

    def abort_transaction(self, after: SourceRecord | None = None) -> None:
        raise AssertionError("nothing is aborted")


@dataclass(slots=True)
class Database:
    """Tables and a slot of one test; runs of a task, which begin where the one before has committed."""

    postgres: Postgres
    name: str = field(default_factory=lambda: f"t{uuid.uuid4().hex[:8]}")
    offsets: MemoryOffsets = field(default_factory=MemoryOffsets)
    running: PostgresSourceTask | None = None
    last: SourceRecord | None = None
    """The last record, until it is committed."""

    def config(self, **settings: str) -> dict[str, str]:
        return {
            "database.hostname": LOOPBACK,
            "database.port": str(self.postgres.port),
            "database.user": USER,
            "database.dbname": "postgres",
            "topic.prefix": "x",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "filtered",
            "table.include.list": f"public.{self.name}.*",
            "poll.interval.ms": "50",
            "status.update.interval.ms": "1000",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }

    def start(self, boundaries: Boundaries | None = None, **settings: str) -> PostgresSourceTask:
        config = self.config(**settings)
        self.running, self.last = PostgresSourceTask(), None
        self.running.context = MemorySourceContext(config, self.offsets, boundaries)
        self.running.start(config)
        return self.running

    def polled(self) -> list[SourceRecord]:
        assert self.running is not None
        batch = self.running.poll()
        if isinstance(batch, Batch):
            records = list(batch.rows())
            self.last = records[-1]  # type: ignore[assignment]
            return records  # type: ignore[return-value]
        if self.last is None and (uncarried := self.running.uncarried_offsets()):
            self.offsets.pairs += uncarried
            self.running.commit()
        return []

    def read(
        self, done: Callable[[list[SourceRecord]], Any], beyond: type[ConnectError] | tuple[()] = ()
    ) -> list[SourceRecord]:
        """Poll until the condition holds, and return all records; after an error of class ``beyond``, which must name
        the server, polls go on.
        """
        found: list[SourceRecord] = []

        def enough() -> bool:
            try:
                found.extend(self.polled())
            except beyond as error:
                assert "PostgreSQL at" in str(error)  # noqa: PT017
            return bool(done(found))

        until(enough, "the records", SECONDS)
        return found

    def commit(self, record: SourceRecord) -> None:
        assert self.running is not None
        self.offsets.pairs.append((record.source_partition, record.source_offset))
        if record is self.last:
            self.last = None
        self.running.commit()

    def commit_offset(self, offset: dict[str, Any]) -> None:
        """Set the committed offset, as an operator does by REST."""
        self.offsets.pairs.append(({"server": "x"}, offset))

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop()
            self.running = None

    def confirmed(self) -> int:
        sql = f"SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{self.name}'"
        return int(self.postgres.rows(sql)[0][0])


def ids(records: list[SourceRecord], operations: str = "rc") -> list[int]:
    return [record.value["after"]["id"] for record in records if record.value and record.value["op"] in operations]
