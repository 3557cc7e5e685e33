"""Databases as clients other than Spark see them."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psycopg2
import psycopg2.extras

from support.mariadb import MariaDb
from support.postgres import USER, Postgres


class Foreign:
    """A database as a client of others sees it."""

    dialect: str
    url: str

    def execute(self, sql: str) -> None:
        raise NotImplementedError

    def insert(self, type: str, texts: Sequence[Any]) -> None:
        """Fill column ``v`` of the table, numbered by ``id``."""
        raise NotImplementedError

    def select(self, table: str) -> list[Any]:
        """Return the values of column ``v``."""
        raise NotImplementedError

    def singles(self, table: str) -> list[Any]:
        """Return the values of column ``v``, which has floating-point numbers of 32 bits."""
        return [float(np.float32(v)) for v in self.select(table)]


class OfPostgres(Foreign):
    dialect = "PostgreSqlDatabaseDialect"

    def __init__(self, server: Postgres) -> None:
        self.url = server.url
        self._connection = psycopg2.connect(host="127.0.0.1", port=server.port, user=USER, dbname="postgres")
        self._connection.autocommit = True
        self._cursor = self._connection.cursor()
        self._cursor.execute("SET TIME ZONE 'UTC'; SET extra_float_digits = 3")

    def execute(self, sql: str) -> None:
        self._cursor.execute(sql)

    def insert(self, type: str, texts: Sequence[Any]) -> None:
        rows = list(enumerate(texts))
        psycopg2.extras.execute_values(self._cursor, "INSERT INTO v VALUES %s", rows, f"(%s, %s::{type})")

    def select(self, table: str) -> list[Any]:
        # Python's dates end with the year 9999; of timestamps psycopg2 makes no others than it can.
        self._cursor.execute(f'SELECT v FROM "{table}" ORDER BY id')
        return [bytes(v) if isinstance(v, memoryview) else v for (v,) in self._cursor.fetchall()]

    def close(self) -> None:
        self._connection.close()


class OfMariaDb(Foreign):
    dialect = "MySqlDatabaseDialect"

    def __init__(self, server: MariaDb) -> None:
        # As the connector adds it: otherwise FLOAT comes as text of six digits.
        self.url, self._server = f"{server.url}&useServerPrepStmts=true", server

    def execute(self, sql: str) -> None:
        self._server.execute(sql.replace('"', "`"))

    def insert(self, type: str, texts: Sequence[Any]) -> None:
        def literal(text: Any) -> str:
            if isinstance(text, bytes):
                return f"X'{text.hex()}'"
            if type.startswith(("BIT", "UUID")):
                return f"'{text}'" if type == "UUID" else str(text)
            return f"CONVERT(X'{text.encode().hex()}' USING utf8mb4)"

        rows = ",".join(f"({i},{literal(text)})" for i, text in enumerate(texts))
        if rows:
            self._server.execute(f"SET time_zone = '+00:00'; INSERT INTO v VALUES {rows}")

    def singles(self, table: str) -> list[Any]:
        """Read them as numbers of 64 bits: MariaDB's text of one of 32 has six digits."""
        rows = self._server.rows(f"SELECT CAST(v AS DOUBLE) FROM `{table}` ORDER BY id")
        return [float(text) for (text,) in rows]

    def select(self, table: str) -> list[Any]:
        rows = self._server.rows(f"SELECT IF(v IS NULL, 'NULL', HEX(CAST(v AS BINARY))) FROM `{table}` ORDER BY id")
        return [None if text == "NULL" else bytes.fromhex(text) for (text,) in rows]


class OfSqlite(Foreign):
    dialect = "SqliteDatabaseDialect"

    def __init__(self, file: Path) -> None:
        self.url = f"jdbc:sqlite:{file}"
        self._connection = sqlite3.connect(file, timeout=900, isolation_level=None)

    def execute(self, sql: str) -> None:
        self._connection.executescript(sql)

    def insert(self, type: str, texts: Sequence[Any]) -> None:
        self._connection.executemany("INSERT INTO v VALUES (?, ?)", enumerate(texts))

    def select(self, table: str) -> list[Any]:
        return [v for (v,) in self._connection.execute(f'SELECT v FROM "{table}" ORDER BY id')]
