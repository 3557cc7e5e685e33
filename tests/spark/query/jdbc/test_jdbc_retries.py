"""Retries of a JDBC source's failed reads, and their times; without a database."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from penstock.api.errors import ConnectError
from penstock.connectors.jdbc.source.settings import JdbcSourceSettings
from penstock.connectors.jdbc.sql_errors import SqlFailure
from penstock.pipeline.task import TaskSpec
from penstock.spark.query.jdbc.source import task as module
from penstock.spark.query.jdbc.source.database import Database, DatabaseError, NoTableError
from penstock.spark.query.jdbc.source.reading import ReadError
from penstock.spark.query.jdbc.source.task import JdbcSource

CONFIG = {
    "connection.url": "jdbc:postgresql://db/app",
    "mode": "incrementing",
    "incrementing.column.name": "id",
    "topic.prefix": "t-",
}


class Nameless:
    """A database whose server has no ID."""

    def origin(self) -> None:
        return None

    def is_replaced(self) -> bool:
        return False


class Away(Nameless):
    """A database that does not answer."""

    asked = 0

    def tables(self, *_: Any) -> Any:
        self.asked += 1
        raise DatabaseError("away")


class Table:
    """A source that always has new rows."""

    due, failures, shape, is_query = 0.0, 0, None, False

    def next_read(self) -> Table:
        return self


class Broken:
    """A read that fails before its first row."""

    def __init__(self, *_: Any) -> None:
        pass

    def check(self) -> None:
        raise ReadError(Exception("the connection was reset"))

    def cancel(self) -> None:
        pass

    def take(self, seconds: float) -> None:
        return None


def jdbc_source(**config: str) -> Any:
    spec = TaskSpec(
        connector="c", task=0, run=0, kind="query", task_class="", config={}, connector_config={}, worker_config={}
    )
    task: Any = JdbcSource(spec, cast(Any, None), cast(Any, None), lambda: None)
    task._java, task._database = None, Nameless()
    task._settings = JdbcSourceSettings.of({**CONFIG, **config})
    return task


def test_tables_are_not_asked_for_at_once_again_after_a_table_was_read() -> None:
    task, database = jdbc_source(), Away()
    task._database, task._source = database, Table()
    for _ in range(3):
        assert task.poll() is None
    assert database.asked == 1
    assert task.idle() > 0


def test_reads_that_fail_count_although_the_database_says_what_is_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TableRead", Broken)
    task = jdbc_source(**{"query": "SELECT 1 AS id", "poll.interval.ms": "0", "query.retry.attempts": "2"})
    task._receiver, task._sources = Broken(), {None: Table()}
    polls = 6  # each read begins in one and fails in the next
    with pytest.raises(ConnectError, match="could not be read 3 times in a row: the connection was reset"):
        [task.poll() for _ in range(polls)]


class Missing(Table):
    """A query of a table that does not exist."""

    is_query = True

    def next_read(self) -> Table:
        raise NoTableError('relation "thinks" does not exist')


def test_a_query_of_a_table_that_is_not_there_ends_the_task_at_once() -> None:
    task = jdbc_source(query="SELECT * FROM thinks")
    task._receiver, task._sources = Broken(), {None: Missing()}
    with pytest.raises(ConnectError, match='refuses `query`: relation "thinks" does not exist'):
        task.poll()


class SqlError:
    """Stands for the Java half, with an error's only SQLException."""

    def __init__(self, state: str, code: int) -> None:
        self._failure = SqlFailure("java.sql.SQLException", "no", state, code)

    def is_missing_table(self, error: BaseException) -> bool:
        return False

    def sql_error(self, error: BaseException) -> SqlFailure:
        return self._failure


@pytest.mark.parametrize(
    ("url", "state", "code", "passes"),
    [
        ("mysql", "42000", 1064, False),
        ("mysql", "42000", 1226, True),
        ("mariadb", "42000", 1203, True),
        ("mysql", "28000", 1045, False),
        ("mysql", "08004", 1040, True),
        ("postgresql", "42601", 0, False),
        ("postgresql", "42501", 0, False),
        ("postgresql", "57P03", 0, True),
        ("postgresql", "53300", 0, True),
        ("postgresql", "28P01", 0, False),
        ("postgresql", "XX000", 0, False),
        ("postgresql", "P0001", 0, False),
        ("mariadb", "HY000", 1205, True),
        ("mariadb", "01000", 1265, False),
        ("sqlite", "", 5, True),
        ("sqlite", "", 0, False),
    ],
)
def test_sql_states_decide_whether_a_database_error_is_retried(url: str, state: str, code: int, passes: bool) -> None:
    connection = JdbcSourceSettings.of({**CONFIG, "connection.url": f"jdbc:{url}://db/app"}).connection
    found = Database(cast(Any, SqlError(state, code)), connection)._raised(Exception("no"))
    assert isinstance(found, DatabaseError if passes else ConnectError)


def test_a_source_that_retries_reports_cause_since_when_and_next_attempt_and_logs_each_change_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reasons: list[str | None] = []
    task = jdbc_source(**{"poll.interval.ms": "0"})
    task._database, task._running = Away(), reasons.append
    with caplog.at_level("INFO"):
        for _ in range(50):
            task._tables_due = 0.0
            assert task.poll() is None
    (reason,) = reasons
    assert (reason or "").startswith(
        "The list of tables could not be read: away. Retrying for as long as query.retry.attempts"
    )
    assert re.search(r"since \d{4}-\d\d-\d\dT[\d:]+Z, next at \d{4}-\d\d-\d\dT[\d:]+Z$", reason or "")
    assert len([line for line in caplog.messages if "away" in line]) == 1
    task._works_again()
    assert reasons[1:] == [None]
