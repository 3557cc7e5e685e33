"""The verdict on errors of each database."""

from __future__ import annotations

import pytest

from penstock.connectors.jdbc.sql_errors import (
    MYSQL,
    ORACLE,
    POSTGRESQL,
    SQL_SERVER,
    SQLITE,
    ErrorTable,
    SqlFailure,
    SqlVerdict,
)

TRANSIENT, STATEMENT, ROW = SqlVerdict.TRANSIENT, SqlVerdict.STATEMENT, SqlVerdict.ROW
CASES = [
    (POSTGRESQL, "40P01", 0, "deadlock detected", TRANSIENT),
    (POSTGRESQL, "57P03", 0, "the database system is starting up", TRANSIENT),
    (POSTGRESQL, "42501", 0, "permission denied for table t", STATEMENT),
    (POSTGRESQL, "22003", 0, "integer out of range", ROW),
    (POSTGRESQL, "P0001", 0, "not today", ROW),
    (POSTGRESQL, "54000", 0, "index row size 9016 exceeds btree maximum", ROW),
    (POSTGRESQL, "42804", 0, "column n is of type integer but expression is of type text", ROW),
    (POSTGRESQL, "ZZ999", 0, "an error of an extension that nobody knows", STATEMENT),
    (MYSQL, "40001", 1213, "Deadlock found", TRANSIENT),
    (MYSQL, "42000", 1142, "INSERT command denied", STATEMENT),
    (MYSQL, "21S01", 1136, "Column count doesn't match value count", STATEMENT),
    (MYSQL, "01000", 1265, "Data truncated for column 'e'", ROW),
    (MYSQL, "HY000", 1366, "Incorrect string value", ROW),
    (MYSQL, "77777", 1644, "a trigger's SIGNAL", ROW),
    (MYSQL, "HY000", 1037, "Out of memory", STATEMENT),
    (MYSQL, "HY000", 9005, "Region is unavailable", STATEMENT),
    (SQLITE, "", 5, "database is locked", TRANSIENT),
    (SQLITE, "", 19, "NOT NULL constraint failed: t.a", ROW),
    (SQLITE, "", 19, "CHECK constraint failed: no such column", ROW),
    (SQLITE, "", 1, "no such column: a", STATEMENT),
    (SQLITE, "", 13, "database or disk is full", STATEMENT),
    (SQLITE, "", 0, "the driver is closed", STATEMENT),
    (SQL_SERVER, "S0001", 2628, "String or binary data would be truncated", ROW),
    (SQL_SERVER, "S0001", 8115, "Arithmetic overflow error", ROW),
    (SQL_SERVER, "S0001", 50000, "raised by a trigger", ROW),
    (SQL_SERVER, "S0002", 208, "Invalid object name", STATEMENT),
    (SQL_SERVER, "40001", 1205, "deadlock", TRANSIENT),
    (SQL_SERVER, "HY008", 0, "The query has timed out", STATEMENT),
    (ORACLE, "42000", 1722, "invalid number", ROW),
    (ORACLE, "72000", 20001, "raised by a trigger", ROW),
    (ORACLE, "42000", 942, "table or view does not exist", STATEMENT),
    (ORACLE, "61000", 4031, "unable to allocate shared memory", STATEMENT),
]


@pytest.mark.parametrize(("table", "state", "code", "message", "verdict"), CASES)
def test_only_errors_that_are_known_to_pass_are_retried_and_only_known_ones_refuse_a_row(
    table: ErrorTable, state: str, code: int, message: str, verdict: SqlVerdict
) -> None:
    assert table.verdict(SqlFailure("SQLException", message, state, code)) is verdict
