"""Tables that tests of the JDBC source read."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def execute(file: Path, *statements: str) -> None:
    with sqlite3.connect(file, timeout=900) as database:
        for statement in statements:
            database.execute(statement)


def things(first: int, last: int) -> str:
    """Inserts rows with these numbers."""
    numbers = f"WITH RECURSIVE n(i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last})"
    return f"{numbers} INSERT INTO things SELECT i, 'n' || i FROM n"


THINGS = "CREATE TABLE things (id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, name TEXT)"

EVENTS = """
CREATE TABLE {} (id BIGINT NOT NULL, at TIMESTAMP NOT NULL);
INSERT INTO {} SELECT i, TIMESTAMP '2026-01-01' + i / 700 * INTERVAL '1 ms' FROM generate_series(1, {}) i
"""
"""Hundreds of rows have the same time."""
