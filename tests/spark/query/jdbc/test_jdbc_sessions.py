"""Sessions of a task that ends while its statement waits: the database ends them within seconds."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import psutil
import pytest

from penstock.core.model.tasks import SparkDied, SparkReady
from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource
from support.spark.queries import SECONDS, Query
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

END_SECONDS = 40.0
"""Maximum time until a session ends after its task was told to end; MariaDB waits longer for a row's lock (50 s)."""
GRACE = 1.0
"""Seconds in which a task may end by itself."""
MORE = {"auto.evolve": "true"}


class Server:
    """A database server of a test, and the sessions of drivers on it."""

    def __init__(self, server: Postgres | MariaDb) -> None:
        self.server = server
        self.url = server.url
        self._others = {each[0] for each in self._of_drivers()}

    def execute(self, sql: str) -> None:
        self.server.execute(sql)

    def sessions(self) -> list[list[str]]:
        """Return the JDBC sessions that began during this test, with each one's statement."""
        return [each for each in self._of_drivers() if each[0] not in self._others]

    def _of_drivers(self) -> list[list[str]]:
        if isinstance(self.server, Postgres):
            return self.server.rows(
                "SELECT pid, state, wait_event, left(query, 80) FROM pg_stat_activity "
                "WHERE application_name LIKE '%JDBC%'"
            )
        return self.server.rows(
            "SELECT id, command, state, LEFT(info, 80) FROM information_schema.processlist WHERE host LIKE '127.%'"
        )

    def waiting(self, what: str) -> bool:
        """Return whether a session waits in such a statement."""
        return any(
            what.casefold() in each[-1].casefold() and each[-2] not in ("", "NULL", "ClientRead", "DataFileRead")
            for each in self.sessions()
        )

    @contextmanager
    def holding(self, statements: str) -> Iterator[None]:
        """Hold the locks that these statements take."""
        with self.server.session() as session:
            assert session.stdin is not None
            assert session.stdout is not None
            session.stdin.write(f"{statements}; SELECT 'locked';\n")
            session.stdin.flush()
            while session.stdout.readline().strip() != "locked":
                pass
            try:
                yield
            finally:
                session.kill()

    def locked(self, table: str) -> AbstractContextManager[None]:
        """Hold a lock under which the table cannot be read or changed."""
        if isinstance(self.server, MariaDb):
            return self.holding(f"LOCK TABLES {table} WRITE")
        return self.holding(f"BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")


@pytest.fixture(params=["postgres", "mariadb"])
def server(request: pytest.FixtureRequest) -> Server:
    return Server(request.getfixturevalue(request.param))


def ends_in_time(query: Query, sessions: Callable[[], object]) -> None:
    """Stop the task while its session works, and wait until the session has ended."""
    assert sessions()
    begun = time.monotonic()
    query.stop(patience=GRACE)
    while found := sessions():
        assert time.monotonic() < begun + END_SECONDS, f"{found} are still there"
        time.sleep(0.1)


def test_rows_that_wait_for_a_lock_end_with_their_task(spark: Hosted, kafka: Kafka, server: Server) -> None:
    server.execute("DROP TABLE IF EXISTS halted; CREATE TABLE halted (id INT PRIMARY KEY, name VARCHAR(20));")
    with JdbcSink(spark, kafka, server.url, **{"table.name.format": "halted"}) as one:
        one.add([ID, NAME], {"id": 0, "name": "n"})
        one.start()
        one.written(1)  # the columns are known
        with server.locked("halted"):
            one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(1, 10)))
            eventually(lambda: one.fine() and server.waiting("halted"), SECONDS)
            ends_in_time(one, server.sessions)
        one.start()
        one.written(10)
    assert server.server.rows("SELECT count(*), count(DISTINCT id) FROM halted") == [["10", "10"]]


def test_rows_that_wait_for_a_lock_end_without_the_other_queries(spark: Hosted, kafka: Kafka, server: Server) -> None:
    """The worker would wait for a minute before it killed an application with several queries."""
    server.execute("DROP TABLE IF EXISTS halting; CREATE TABLE halting (id INT PRIMARY KEY, name VARCHAR(20));")
    server.execute("DROP TABLE IF EXISTS going; CREATE TABLE going (id INT PRIMARY KEY, name VARCHAR(20));")
    with (
        JdbcSink(spark, kafka, server.url, **{"table.name.format": "going"}) as other,
        JdbcSink(spark, kafka, server.url, **{"table.name.format": "halting"}) as one,
    ):
        other.add([ID, NAME], {"id": 0, "name": "n"})
        other.start()
        other.written(1)
        assert spark.query_driver is not None
        java = spark.query_driver.java_id
        with server.locked("halting"):
            one.add([ID, NAME], {"id": 0, "name": "n"})
            one.start()
            eventually(lambda: one.fine() and server.waiting("halting"), SECONDS)
            ends_in_time(one, lambda: server.waiting("halting"))
        assert spark.query_driver.java_id == java
        other.add([ID, NAME], {"id": 1, "name": "n"})
        other.written(2)


def test_a_row_that_another_transaction_locks_ends_with_its_task(spark: Hosted, kafka: Kafka, server: Server) -> None:
    server.execute("DROP TABLE IF EXISTS rowed; CREATE TABLE rowed (id INT PRIMARY KEY, name VARCHAR(20));")
    settings = {"table.name.format": "rowed", "insert.mode": "upsert", "pk.mode": "record_key"}
    with (
        JdbcSink(spark, kafka, server.url, **settings) as one,
        server.holding("BEGIN; INSERT INTO rowed VALUES (1, 'mine')"),
    ):
        one.add([ID, NAME], {"id": 1, "name": "n"})
        one.start()
        eventually(lambda: one.fine() and server.waiting("rowed"), SECONDS)
        ends_in_time(one, server.sessions)
    assert server.server.rows("SELECT * FROM rowed") == []


@pytest.fixture
def patient(mariadb: MariaDb) -> Iterator[Server]:
    """A server whose new sessions wait for a row's lock longer than any test."""
    mariadb.execute(f"SET GLOBAL innodb_lock_wait_timeout = {SECONDS}")
    yield Server(mariadb)
    mariadb.execute("SET GLOBAL innodb_lock_wait_timeout = 50")


def waits_again(one: Query, server: Server) -> None:
    """Wait until the task has waited for rows' locks three times and is still working."""
    begins = "SELECT trx_wait_started FROM information_schema.INNODB_TRX WHERE trx_wait_started IS NOT NULL"
    waits: set[str] = set()

    def look() -> bool:
        waits.update(begun for (begun,) in server.server.rows(begins))
        return one.fine() and len(waits) >= 3

    eventually(look, SECONDS)


def test_a_row_is_waited_for_as_long_as_the_server_says(spark: Hosted, kafka: Kafka, patient: Server) -> None:
    patient.execute("DROP TABLE IF EXISTS patient; CREATE TABLE patient (id INT PRIMARY KEY, name VARCHAR(20));")
    with JdbcSink(spark, kafka, patient.url, **{"table.name.format": "patient", "max.retries": "0"}) as one:
        with patient.holding("BEGIN; INSERT INTO patient VALUES (1, 'mine')"):
            one.add([ID, NAME], {"id": 1, "name": "n"})
            one.start()
            waits_again(one, patient)
        one.written(1)
    assert patient.server.rows("SELECT * FROM patient") == [["1", "n"]]


def test_rows_of_the_ledger_are_waited_for_as_long_as_the_server_says(
    spark: Hosted, kafka: Kafka, patient: Server
) -> None:
    """A commit needs the rows with a partition's position and the run's name; the start of a run needs the latter."""
    patient.execute("DROP TABLE IF EXISTS calm; DROP TABLE IF EXISTS calm_batches;")
    patient.execute("CREATE TABLE calm (id INT PRIMARY KEY, name VARCHAR(20));")
    once = {"penstock.delivery": "exactly-once", "penstock.batches.table": "calm_batches", "max.retries": "0"}

    def holding(rows: str) -> AbstractContextManager[None]:
        # At this isolation level only matching rows are locked.
        alone = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; BEGIN; SELECT part FROM calm_batches WHERE"
        return patient.holding(f"{alone} {rows} FOR UPDATE")

    with JdbcSink(spark, kafka, patient.url, **once, **{"table.name.format": "calm"}) as one:
        one.add([ID, NAME], {"id": 0, "name": "n"})
        one.start()
        one.written(1)
        for i, rows in enumerate(("part >= 0", "part = -1"), 1):
            with holding(rows):
                one.add([ID, NAME], {"id": i, "name": "n"})
                waits_again(one, patient)
            one.written(i + 1)
        one.stop()
        with holding("part = -1"):
            one.start()
            waits_again(one, patient)
        one.add([ID, NAME], {"id": 3, "name": "n"})
        one.written(4)
    assert patient.server.rows("SELECT id FROM calm ORDER BY id") == [["0"], ["1"], ["2"], ["3"]]


def test_a_change_of_a_table_that_waits_ends_with_its_task(spark: Hosted, kafka: Kafka, server: Server) -> None:
    server.execute("DROP TABLE IF EXISTS widened; CREATE TABLE widened (id INT PRIMARY KEY);")
    with JdbcSink(spark, kafka, server.url, **MORE, **{"table.name.format": "widened"}) as one:
        one.start()
        with server.locked("widened"):
            one.add([ID, NAME], {"id": 2, "name": "n"})
            eventually(lambda: one.fine() and server.waiting("widened"), SECONDS)
            ends_in_time(one, server.sessions)
    assert server.server.rows("SELECT * FROM widened") == []


SLOW = {"postgres": "SELECT 1 AS id FROM pg_sleep(3600)", "mariadb": "SELECT SLEEP(3600) AS id"}


@pytest.mark.parametrize("name", SLOW)
def test_a_query_that_runs_ends_with_its_task(
    spark: Hosted, kafka: Kafka, request: pytest.FixtureRequest, name: str
) -> None:
    server = Server(request.getfixturevalue(name))
    with JdbcSource(spark, kafka, server.url, mode="bulk", query=SLOW[name]) as one:
        one.start()
        eventually(lambda: one.fine() and server.waiting("sleep"), SECONDS)
        ends_in_time(one, server.sessions)
    assert not server.waiting("sleep")


def test_a_look_that_waits_for_a_lock_ends_with_its_task(spark: Hosted, kafka: Kafka, server: Server) -> None:
    server.execute("DROP TABLE IF EXISTS looked; CREATE TABLE looked (id INT NOT NULL PRIMARY KEY);")
    settings = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "looked"}
    with JdbcSource(spark, kafka, server.url, **settings) as one, server.locked("looked"):
        one.start()
        eventually(lambda: one.fine() and server.waiting("looked"), SECONDS)
        ends_in_time(one, server.sessions)
        assert not server.waiting("looked")


def opened(spark: Hosted, file: Path) -> bool:
    """Return whether Spark's Java has a file open."""
    assert spark.query_driver is not None
    process = psutil.Process(spark.query_driver.java_id)
    return any(each.path == str(file) for each in process.open_files())


def test_rows_that_wait_for_the_lock_of_a_file_end_with_their_task(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "halted.db"
    other = sqlite3.connect(file, timeout=900, isolation_level=None)
    other.execute("CREATE TABLE halted (id INTEGER PRIMARY KEY, name TEXT)")
    settings = {"table.name.format": "halted", "connection.busy_timeout": "3600000"}
    with JdbcSink(spark, kafka, f"jdbc:sqlite:{file}", **settings) as one:
        other.execute("BEGIN EXCLUSIVE")
        one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(10)))
        one.start()
        eventually(lambda: one.fine() and opened(spark, file), SECONDS)
        ends_in_time(one, lambda: opened(spark, file))
        other.execute("ROLLBACK")
        other.execute("BEGIN EXCLUSIVE")
        other.execute("ROLLBACK")
        one.start()
        one.written(10)
    assert other.execute("SELECT count(*) FROM halted").fetchone() == (10,)


def test_a_query_of_a_file_that_runs_ends_with_its_task(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    file = tmp_path / "long.db"
    other = sqlite3.connect(file, timeout=900, isolation_level=None)
    other.execute("CREATE TABLE n (i INTEGER)")
    other.executemany("INSERT INTO n VALUES (?)", [(i,) for i in range(1000)])
    query = "SELECT count(*) AS id FROM n a, n b, n c, n d WHERE a.i + b.i + c.i + d.i < 0"
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", mode="bulk", query=query) as one:
        one.start()
        eventually(lambda: one.fine() and opened(spark, file), SECONDS)
        ends_in_time(one, lambda: opened(spark, file))
    assert not opened(spark, file)


@pytest.mark.parametrize("killed", ["python", "java"])
def test_a_row_that_waits_for_a_lock_ends_when_spark_is_killed(
    spark: Hosted, kafka: Kafka, server: Server, killed: str
) -> None:
    server.execute("DROP TABLE IF EXISTS died; CREATE TABLE died (id INT PRIMARY KEY, name VARCHAR(20));")
    with JdbcSink(spark, kafka, server.url, **{"table.name.format": "died"}) as one:
        with server.holding("BEGIN; INSERT INTO died VALUES (1, 'mine')"):
            one.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(10)))
            one.start()
            eventually(lambda: one.fine() and server.waiting("died"), SECONDS)
            driver = spark.query_driver
            assert driver is not None
            begun = time.monotonic()
            os.kill(driver.process_id if killed == "python" else driver.java_id or 0, signal.SIGKILL)
            while found := server.sessions():
                assert time.monotonic() < begun + END_SECONDS, f"{found} are still there"
                time.sleep(0.1)
            one.ended()
            spark.events.until(SparkDied)
            spark.events.until(SparkReady)
        one.start()
        one.written(10)
