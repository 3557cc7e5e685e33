"""SQL for SQLite that only reads."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.core.config.permissions.jdbc import sqlite_problem, sqlite_suffix_problem

READS = [
    "SELECT * FROM t",
    " select a, 'it''s; ATTACH' FROM [t;] WHERE (b > 1); ",
    "WITH a AS (SELECT 1), b(x) AS (SELECT 2) SELECT replace(x, '1', '2') FROM a, b",
    "-- first\nSELECT /* not ; here */ 1",
    "VALUES (1, 2)",
    'SELECT "attach" FROM `update`',
]


OTHERS = [
    "ATTACH '/etc/x' AS x",
    "PRAGMA writable_schema = 1",
    "VACUUM INTO '/etc/x'",
    "backup to /etc/x",
    "restore from /etc/x",
    "SELECT 1; ATTACH '/etc/x' AS x",
    "DELETE FROM t RETURNING *",
    "WITH a AS (SELECT 1) DELETE FROM t RETURNING *",
    "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a RETURNING *",
    "EXPLAIN SELECT 1",
    "SELECT load_extension('x')",
    "SELECT \"LOAD_EXTENSION\"('x')",
    "SELECT 1 /* ATTACH",
    "SELECT 1 -- ATTACH",
    "SELECT 'a",
    "SELECT 1)",
    "(SELECT 1",
    "SELECT 1\0; ATTACH '/etc/x' AS x",
    "",
    ";",
]


def test_sql_for_sqlite_may_only_read() -> None:
    assert [sql for sql in READS if sqlite_problem(sql)] == []
    assert [sql for sql in OTHERS if not sqlite_problem(sql)] == []
    assert [sql for sql in ("LIMIT 5", "AND b = ';'", "UNION SELECT 1") if sqlite_suffix_problem(sql)] == []
    assert [
        sql
        for sql in ("; ATTACH 'x' AS x", "'", "-- x", ") x", "LIMIT load_extension('x')")
        if not sqlite_suffix_problem(sql)
    ] == []


PARTS = [
    "SELECT",
    "1",
    ";",
    "'",
    '"',
    "[",
    "]",
    "`",
    "--",
    "\n",
    "/*",
    "*/",
    "(",
    ")",
    "ATTACH 'x' AS y",
    "WITH a AS (SELECT 1)",
]

PARTS += [
    "DELETE FROM t",
    "INSERT INTO t VALUES (1)",
    "a",
    "FROM t",
    "LIMIT 1",
    "load_extension('x')",
    "UNION",
    ",",
    " ",
]


SQL = st.lists(st.sampled_from(PARTS), max_size=10).map(" ".join)


@given(SQL, SQL)
def test_accepted_sql_only_reads_in_sqlite_itself(query: str, suffix: str) -> None:
    """SQLite asks its authorizer before everything except reads; accepted SQL never makes it ask."""
    if sqlite_problem(query) or sqlite_suffix_problem(suffix):
        return
    asked: list[tuple[Any, ...]] = []
    reads = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

    def ask(action: int, *names: str | None) -> int:
        if action not in reads or "load_extension" in names:
            asked.append((action, *names))
        return sqlite3.SQLITE_OK

    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE t (a)")
    database.set_authorizer(ask)
    text = f"{query.strip().rstrip(';')} WHERE 1=1 {suffix}"
    with contextlib.closing(database), contextlib.suppress(sqlite3.Error):
        database.execute(text)
    with contextlib.closing(sqlite3.connect(":memory:")) as other, contextlib.suppress(sqlite3.Error):
        other.execute("CREATE TABLE t (a)")
        other.set_authorizer(ask)
        other.executescript(text)
    assert asked == []
