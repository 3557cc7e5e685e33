"""A table of PostgreSQL that Debezium's source and its JDBC sink copy into another one of the same database."""

from __future__ import annotations

from dataclasses import dataclass

from hosts.debezium.beside import CONNECTOR
from support.postgres import LOOPBACK, USER, Postgres
from support.tasks.runs import JSON

CONVERTERS = {"key.converter": JSON, "value.converter": JSON}


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """The table ``name`` and its copy. ``prefix``: of the topic between them."""

    postgres: Postgres
    name: str
    prefix: str

    @property
    def topic(self) -> str:
        return f"{self.prefix}.public.{self.name}"

    def create(self) -> None:
        """Create the table, with one row."""
        self.postgres.execute(
            f"CREATE TABLE {self.name} (id int PRIMARY KEY, n text); INSERT INTO {self.name} VALUES (1, 'one');"
        )

    def change(self) -> None:
        """Add a row and delete the first one."""
        self.postgres.execute(f"INSERT INTO {self.name} VALUES (2, 'zwei ä'); DELETE FROM {self.name} WHERE id = 1;")

    def copied(self) -> list[list[str]]:
        """Return the rows of the copy; none before there is one."""
        made = self.postgres.rows(f"SELECT 1 FROM pg_tables WHERE tablename = '{self.name}_copy'")
        return self.postgres.rows(f"SELECT id, n FROM {self.name}_copy ORDER BY id") if made else []

    def source(self) -> dict[str, str]:
        """Return the configuration of the source connector."""
        return {
            "connector.class": CONNECTOR,
            "database.hostname": LOOPBACK,
            "database.port": str(self.postgres.port),
            "database.user": USER,
            "database.password": "any",
            "database.dbname": "postgres",
            "topic.prefix": self.prefix,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "filtered",
            "table.include.list": f"public.{self.name}",
            "poll.interval.ms": "50",
            **CONVERTERS,
        }

    def sink(self) -> dict[str, str]:
        """Return the configuration of the sink connector."""
        return {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "topics": self.topic,
            "connection.url": f"jdbc:postgresql://{LOOPBACK}:{self.postgres.port}/postgres",
            "connection.username": USER,
            "connection.password": "any",
            "insert.mode": "upsert",
            "delete.enabled": "true",
            "primary.key.mode": "record_key",
            "schema.evolution": "basic",
            "collection.name.format": f"{self.name}_copy",
            **CONVERTERS,
        }
