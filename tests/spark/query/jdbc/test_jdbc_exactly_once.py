"""Rows in a table without a key, exactly once: whatever is killed, frozen, altered or reset."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from penstock.connectors.jdbc.columns import RowShape
from penstock.connectors.jdbc.statements import LedgerStatements
from penstock.spark.query.safe import Safe
from penstock.spark.query.sink.progress import new_root, offset_of_root, place_of_root
from soak.databases import SqliteFile, Target, kill_round
from support.kafka.client import Kafka
from support.mariadb import MariaDb
from support.postgres import Postgres
from support.spark.host import Hosted
from support.spark.jdbc import ID, NAME, JdbcSink
from support.spark.queries import SECONDS
from support.spark.transactions import NAME as NAME_COLUMN
from support.spark.transactions import Bench
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ONCE = {"penstock.delivery": "exactly-once", "max.retries": "1000", "retry.backoff.ms": "200"}


@pytest.fixture(params=["postgres", "mariadb", "sqlite"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    if request.param == "sqlite":
        return SqliteFile(tmp_path / "db")
    server: Target = request.getfixturevalue(request.param)
    return server


def test_nothing_is_missing_or_doubled_after_kills(
    spark: Hosted, kafka: Kafka, postgres: Postgres, mariadb: MariaDb, tmp_path: Path
) -> None:
    """`make kill-test-databases` kills more often."""
    targets = {"PostgreSQL": postgres, "MariaDB": mariadb, "SQLite": SqliteFile(tmp_path / "db")}
    # With this seed the JVM is killed, then the driver.
    found = kill_round(spark, kafka, targets, "9", kills=2)
    assert found.kills == {"JVM": 1, "driver": 1}
    assert found.missing == found.doubled == dict.fromkeys(targets, 0)


def test_a_run_writes_nothing_once_a_later_one_has_begun(java: Any, entry: Any, target: Target) -> None:
    """This includes partitions to which the later run has not written."""
    gone = "DROP TABLE IF EXISTS fenced; DROP TABLE IF EXISTS penstock_batches;"
    target.execute(gone)
    keyless = RowShape("fenced", (NAME_COLUMN,))
    with Safe("127.0.0.1") as safe:
        bench = Bench(java, entry, target.url, safe)
        bench.create(keyless)
        bench.database.execute(LedgerStatements.of(bench.dialect, "penstock_batches").create)
        bench.write([(0, ["a"])], shapes=[keyless], batch=7, generation="first")
        bench.write([(0, ["b"])], shapes=[keyless], batch=8, first=1, generation="second")
        for batch in (8, 9):
            with pytest.raises(Py4JJavaError, match="A later run of this connector has begun"):
                bench.write([(0, ["c"])], shapes=[keyless], batch=batch, first=2, generation="first", claims=False)
        assert bench.write([(0, ["d"])], shapes=[keyless], batch=9, first=2, generation="second", claims=False)
        assert target.rows("SELECT name FROM fenced ORDER BY name") == [["a"], ["b"], ["d"]]
        bench.database.close()
    target.execute(gone)


class AlteredSink(JdbcSink):
    """One whose offsets a request has reset, if it has a ``root``."""

    root = ""

    def more(self) -> dict[str, Any]:
        return {"offsets": ((place_of_root(self.name), offset_of_root(self.root), None),) if self.root else ()}


def test_offsets_that_are_altered_or_reset_change_the_stored_ones(
    spark: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    settings = {**ONCE, "table.name.format": "rewritten", "penstock.batches.table": "rewritten_batches"}

    def stored() -> list[list[str]]:
        return postgres.rows("SELECT part, next_offset FROM rewritten_batches WHERE part >= 0 ORDER BY part")

    with AlteredSink(spark, kafka, postgres.url, **settings) as one:
        one.add([ID, NAME], *({"id": i, "name": "n"} for i in range(10)))
        one.start()
        one.written(10)
        one.stop()
        assert stored() == [["0", "10"]]
        one.commit({0: (7, {})})  # as PATCH leaves the group
        one.start(paused=False)
        one.written(10)
        assert stored() == [["0", "10"]]
        one.stop()
        assert postgres.rows("SELECT count(*) FROM rewritten") == [["13"]]
        # Behind all records: nothing is written that would change the stored offset.
        one.commit({0: (10, {})})
        postgres.execute("UPDATE rewritten_batches SET next_offset = 4 WHERE part = 0;")
        one.start()
        eventually(lambda: one.fine() and stored() == [["0", "10"]], SECONDS)
        one.stop()
        # As DELETE leaves it. A run that ends before its first batch leaves no trace of a batch of the new epoch.
        one.root, group = new_root(), f"connect-{one.name}"
        kafka.delete_group(group)
        postgres.execute("UPDATE rewritten_batches SET next_offset = 4 WHERE part = 0;")
        one.start(**{"consumer.override.auto.offset.reset": "latest"})
        eventually(lambda: one.fine() and stored() == [["0", "10"]], SECONDS)
        one.stop()
        one.start(**{"consumer.override.auto.offset.reset": "earliest"})
        one.written(10)
        assert stored() == [["0", "10"]]
        roots = postgres.rows("SELECT split_part(epoch, '.', 1) FROM rewritten_batches WHERE part >= 0")
        assert roots == [[one.root]]
    assert postgres.rows("SELECT count(*) FROM rewritten") == [["23"]]


def test_a_table_without_transactions_is_refused(spark: Hosted, kafka: Kafka, mariadb: MariaDb) -> None:
    mariadb.execute("CREATE TABLE plain (id INT, name TEXT) ENGINE=MyISAM")
    for table in ("plain", "app.plain"):
        with JdbcSink(spark, kafka, mariadb.url, **ONCE, **{"table.name.format": table}) as one:
            one.add([ID, NAME], {"id": 1, "name": "n"})
            one.start()
            failure = one.failure()
            assert f'Table "{table}" has the engine MyISAM, which has no transactions' in failure
            assert "ENGINE=InnoDB" in failure
    assert mariadb.rows("SELECT * FROM plain") == []
