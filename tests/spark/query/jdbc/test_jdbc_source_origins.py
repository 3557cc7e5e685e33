"""The server or file that the offsets of a running JDBC source belong to, on a real Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spark.query.jdbc.things import EVENTS, THINGS, execute, things
from support.kafka.client import Kafka, Record
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import JdbcSource
from support.spark.queries import SECONDS, stored_offsets
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.parametrize("query", [False, True])
def test_an_offset_is_used_only_with_the_server_that_it_was_read_from(
    spark: Hosted, kafka: Kafka, postgres: Postgres, query: bool
) -> None:
    table = f"served_{query}".lower()
    postgres.execute(EVENTS.format(table, table, 10))
    what = {"query": f"SELECT * FROM {table}"} if query else {"table.whitelist": table}
    settings = {"mode": "incrementing", "incrementing.column.name": "id", **what}
    with JdbcSource(spark, kafka, postgres.url, **settings) as one:
        topic, one.worker = "" if query else table, {"offset.flush.interval.ms": "300"}
        one.start()
        one.wait(topic, 10)
        eventually(lambda: one.committed(), SECONDS)
        one.stop()
        [stored] = stored_offsets(one)
        (system,) = postgres.rows("SELECT system_identifier::text FROM pg_control_system()")[0]
        assert stored.identity == {"system": system}

        def of_another() -> None:
            last = [record for record in kafka.read_all(one.offsets) if record.value is not None][-1]
            header = ("penstock.origin", b'{"system":"1"}')
            kafka.produce(one.offsets, [Record(last.value, last.key, headers=(header,))])

        of_another()
        one.start()
        change = f"The server's system identifier is {system}, and the connector's offsets belong to the server 1"
        assert change in one.failure()
        postgres.rows(f"INSERT INTO {table} VALUES (11, now())")
        one.start(on_origin_changed="continue")
        assert one.wait(topic, 11)[-1]["id"] == 11
        one.stop()
        assert stored_offsets(one)[0].identity == {"system": system}
        of_another()
        one.start(on_origin_changed="restart")
        assert [row["id"] for row in one.wait(topic, 22)[11:]] == list(range(1, 12))


def test_an_offset_is_used_only_with_the_file_of_sqlite_that_it_was_read_from(
    spark: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    """Also while the task runs, whose connection still reads the old file."""
    file = tmp_path / "app.db"
    execute(file, THINGS, things(1, 10))
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", mode="incrementing") as one:
        one.worker = {"offset.flush.interval.ms": "300"}
        one.start()
        one.wait("things", 10)
        eventually(lambda: one.committed(), SECONDS)

        def replace_by_rows(last: int) -> None:
            # Unlinked first: the new file may get its inode.
            file.unlink()
            execute(file, THINGS, things(1, last))

        changed = r"The database's file is inode \d+.*, and the connector's offsets belong to the file that was inode"
        replace_by_rows(11)
        assert re.search(changed, one.failure())
        one.start(on_origin_changed="continue")
        assert one.wait("things", 11)[-1]["id"] == 11
        one.stop()
        one.start(on_origin_changed="fail")
        execute(file, things(12, 12))
        assert one.wait("things", 12)[-1]["id"] == 12
        one.stop()
        replace_by_rows(5)
        one.start()
        assert re.search(changed, one.failure())
        one.start(on_origin_changed="restart")
        assert [row["id"] for row in one.wait("things", 17)[12:]] == [1, 2, 3, 4, 5]


def test_a_file_of_sqlite_that_is_read_whole_may_be_replaced(spark: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    """A nightly export replaces the file: `bulk` has no offsets that belong to the old one."""
    file, other = tmp_path / "app.db", tmp_path / "other.db"
    execute(file, THINGS, things(1, 3))
    with JdbcSource(spark, kafka, f"jdbc:sqlite:{file}", mode="bulk") as one:

        def read(name: str) -> bool:
            there = one.prefix + "things" in kafka.topics()
            return one.fine() and there and any(row["name"] == name for row in one.values("things"))

        one.start()
        eventually(lambda: read("n3"), SECONDS)
        execute(other, THINGS, things(4, 5))
        other.rename(file)
        eventually(lambda: read("n5"), SECONDS)
        assert {row["name"] for row in one.values("things")} == {f"n{i}" for i in range(1, 6)}
