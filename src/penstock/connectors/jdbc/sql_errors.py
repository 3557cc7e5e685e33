"""The verdict on an error of a database: it passes, it is one of the statement, or the database refuses the row.

One table for each kind of database, of SQLSTATEs and vendor codes. Only errors that are known to pass are retried, and
only those that are known to refuse a row leave it out: anything else ends the task, which loses nothing.
Sources: SQL:2016 part 2, PostgreSQL's appendix A, MariaDB's and MySQL's error references, SQLite's result codes, SQL
Server's ``sys.messages``, Oracle's error messages, and Derby's ``SQLState``.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class SqlVerdict(enum.Enum):
    """The verdict on an error; Java has the same enum, ``penstock.jdbc.Verdicts.Verdict``."""

    TRANSIENT = "transient"
    """The same statement may succeed later: a lost connection, a deadlock, a server that starts."""
    STATEMENT = "statement"
    """The statement fails whatever its row: no permission, no such column, a full or damaged database."""
    ROW = "row"
    """The row is refused; others may be written."""


@dataclass(frozen=True, slots=True)
class SqlFailure:
    """An error of a database or of its driver, as it was raised there.

    ``passing``: whether its class says that it passes (``SQLTransientException``, ``SQLRecoverableException``).
    ``trace``: Java's, with the class of the driver.
    """

    name: str
    message: str
    state: str = ""
    code: int = 0
    passing: bool = False
    trace: str = ""

    def __str__(self) -> str:
        text = f"{self.name}: {' '.join(self.message.split())}" if self.message else self.name
        known = [f"SQLSTATE {self.state}"] if self.state else []
        known += [f"error code {self.code}"] if self.code else []
        return f"{text} ({', '.join(known)})" if known else text


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """Errors of one kind of database: regular expressions of SQLSTATEs, and vendor codes, which count first.

    Any error that is in no group is one of the statement.
    """

    transient: str = (
        "08(?!004).*|"  # connections, but not one that the server rejects
        "40.*|"  # serialization failures, deadlocks
        "HYT0[01]"  # timeouts
    )
    transient_codes: frozenset[int] = frozenset()
    transient_texts: str = ""
    """A regular expression that is found in messages, where neither code nor SQLSTATE tells."""
    statement_codes: frozenset[int] = frozenset()
    """Errors of the statement whose SQLSTATE is one of the row."""
    statement_texts: str = ""
    """A regular expression that is found in messages."""
    row: str = (
        "2[123].*|44.*|"  # cardinality, data, constraints, views with a check option
        "09.*|27.*|3[89].*|"  # triggers and routines
        "42804|42846|42883"  # types that a value can't be cast to
    )
    row_codes: frozenset[int] = frozenset()
    classes: bool = True
    """Whether the classes of exceptions tell that they pass: MariaDB's driver raises SQLTransientConnectionException
    for each SQLSTATE that it does not know.
    """
    row_routines: frozenset[str] = frozenset()
    """Routines of PostgreSQL's server that refuse rows by any SQLSTATE. Only Java knows the routine of an error."""

    def verdict(self, failure: SqlFailure) -> SqlVerdict:
        if failure.code in self.transient_codes:
            return SqlVerdict.TRANSIENT
        if failure.code in self.statement_codes:
            return SqlVerdict.STATEMENT
        if self.transient_texts and re.search(self.transient_texts, failure.message):
            return SqlVerdict.TRANSIENT
        if self.statement_texts and re.search(self.statement_texts, failure.message):
            return SqlVerdict.STATEMENT
        if failure.code in self.row_codes:
            return SqlVerdict.ROW
        if re.fullmatch(self.transient, failure.state) or (self.classes and failure.passing):
            return SqlVerdict.TRANSIENT
        return SqlVerdict.ROW if re.fullmatch(self.row, failure.state) else SqlVerdict.STATEMENT


STANDARD = ErrorTable()
POSTGRESQL = ErrorTable(
    transient=(
        f"{STANDARD.transient}|"
        "53.*|"  # too many connections, no memory, no room
        "55P03|57014|"  # a lock, or a statement, took longer than it may
        "57P0[1235]|"  # shut down, crashed, starting
        "25006"  # read-only: a standby server that is about to take over
    ),
    # The table was altered: 0A000, as for what is never possible.
    transient_texts="cached plan must not change result type",
    row=f"{STANDARD.row}|54.*|P0.*",  # limits, such as of an index, and PL/pgSQL
    # RAISE in a function of a trigger, and a policy of row security.
    row_routines=frozenset({"exec_stmt_raise", "ExecWithCheckOptions"}),
)
SQLITE = ErrorTable(
    transient_codes=frozenset({5, 6, 17}),  # busy, locked, schema changed
    # no permission, no memory, read-only, I/O, damaged, full, can't be opened, lock protocol, misuse, not authorized,
    # no database
    # any error, too big, constraint, mismatch
    row_codes=frozenset({1, 18, 19, 20}),
    statement_texts=(
        r"\A(?!.*constraint failed).*"
        r"(?:no such (?:table|column|function)|has no column named|syntax error|incomplete input)"
    ),
)
MYSQL = ErrorTable(
    transient=f"{STANDARD.transient}|70100",
    transient_codes=frozenset(
        {
            *(1040, 1203, 1226),  # as many connections as there may be, in all or of a user
            *(1205, 1206, 1213, 3572),  # locks
            *(1020, 1412),  # a record, or a table, has changed: try again
            *(1047, 1053, 1077, 1079, 3169),  # not ready, shut down, killed
            *(1158, 1159, 1160, 1161, 1184, 1927, 2002, 2003, 2006, 2013, 2055),  # connections
            *(1317, 1969, 3024),  # interrupted, took longer than it may
            *(1637,),  # too many transactions
        }
    ),
    # permissions and passwords, missing tables and columns, SQL, files and disks, read-only servers
    statement_codes=frozenset(
        {
            *(1044, 1045, 1049, 1142, 1143, 1227, 1370, 1698, 3118),
            *(1054, 1064, 1109, 1136, 1146, 1149, 1305, 1348, 1471),
            *(1021, 1030, 1034, 1035, 1036, 1114, 1194, 1195, 1290, 1792, 1836),
        }
    ),
    # values, limits of rows, constraints, SIGNAL, partitions, JSON
    row_codes=frozenset(
        {
            *(1048, 1264, 1265, 1292, 1364, 1366, 1406, 1411, 1690, 3140, 3141),
            *(1062, 1118, 1169, 1216, 1217, 1441, 1451, 1452, 1526, 1557, 1586, 1644, 1748, 1761, 1762, 3819, 4025),
        }
    ),
    classes=False,
)
DERBY = ErrorTable(transient=f"{STANDARD.transient}|X0X78")
SQL_SERVER = ErrorTable(
    transient_codes=frozenset(
        {
            *(1205, 1222, 3960, -2),  # deadlock, lock timeout, snapshot conflict, timeout
            *(64, 121, 233, 10053, 10054, 10060, 10928, 10929, 17142, 6005),
            *(921, 922, 927, 983),  # databases that start
            *(40197, 40501, 40540, 40613, 49918, 49919, 49920),  # Azure
        }
    ),
    # values, constraints, texts that are too long, RAISERROR
    row_codes=frozenset({220, 241, 242, 245, 515, 547, 2601, 2627, 2628, 8114, 8115, 8152, 50000}),
)
ORACLE = ErrorTable(
    transient_codes=frozenset(
        {
            *(51, 54, 60, 2049, 30006),  # locks
            *(8177, 1555),  # serialization, snapshots
            *(18, 20, 2391, 12516, 12519, 12520),  # as many connections as there may be
            *(1033, 1034, 1089, 1090, 1092, 12514, 12518, 12526, 12527, 12528),  # servers that start or stop
            *(28, 1012, 3113, 3114, 3135, 12170, 12537, 12541, 12543, 12547, 12571),  # connections
            *(17002, 17008, 17410, 17447, 17800),
        }
    ),
    # constraints, values, texts that are too long, RAISE_APPLICATION_ERROR
    row_codes=frozenset({1, 1400, 1401, 1407, 1438, 1461, 1722, 1840, 1841, 1843, 2290, 2291, 2292, 12899})
    | frozenset(range(20000, 21000)),
)
