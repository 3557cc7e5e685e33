"""The JDBC connectors on executors that are processes of their own: these get the driver's jar and our classes, and one
of them may be killed.
"""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from penstock.core.model.tasks import TaskEnded, TaskLost
from penstock.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from support.kafka.client import Kafka
from support.postgres import Postgres
from support.process_tree import command, descendants
from support.spark.host import Hosted, started
from support.spark.queries import ID, NAME, SECONDS, JdbcSink, JdbcSource
from support.tasks.runs import eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosted]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("far"))  # Spark's workers have a folder `work` where they are
        install("jdbc-postgresql")
        with started(HostSettings(query_spark={"spark.master": "local-cluster[2,1,1024]"})) as hosted:
            yield hosted


def test_rows_are_written_and_read_by_executors(far: Hosted, kafka: Kafka, postgres: Postgres) -> None:
    rows = [{"id": i, "name": f"n{i}"} for i in range(1, 101)]
    with JdbcSink(far, kafka, postgres.url, partitions=2, **{"table.name.format": "far"}) as sink:
        sink.add([ID, NAME], *rows)
        sink.start()
        sink.written(100)
    settings = {"mode": "incrementing", "incrementing.column.name": "id", "table.whitelist": "far"}
    with JdbcSource(far, kafka, postgres.url, **settings, **{"penstock.read.rows": "30"}) as source:
        source.start()
        assert source.wait("far", 100) == rows


def test_an_executor_that_is_killed_costs_a_retry_of_spark_and_not_the_task(
    far: Hosted, kafka: Kafka, postgres: Postgres
) -> None:
    postgres.execute("CREATE TABLE held (id INT, name TEXT)")
    with JdbcSink(far, kafka, postgres.url, **{"table.name.format": "held"}) as sink:
        sink.start()
        with postgres.session() as session:
            assert session.stdin is not None
            session.stdin.write("BEGIN; LOCK TABLE held IN SHARE MODE;\n")
            session.stdin.flush()
            held = "SELECT 1 FROM pg_locks WHERE relation = 'held'::regclass AND mode = 'ShareLock' AND granted"
            eventually(lambda: postgres.rows(held), SECONDS)
            sink.add([ID, NAME], *({"id": i, "name": f"n{i}"} for i in range(100)))
            waiting = "SELECT client_port FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
            [[port]] = eventually(lambda: sink.fine() and postgres.rows(waiting), SECONDS)
            executor_with(far, int(port)).kill()
            session.communicate("COMMIT;\n")
        sink.written(100)
        assert not [each for each in far.events.so_far(sink.id) if isinstance(each, TaskLost | TaskEnded)]
    assert postgres.rows("SELECT count(*), count(DISTINCT id) FROM held") == [["100", "100"]]


def executor_with(hosted: Hosted, port: int) -> psutil.Process:
    """The one whose connection has this port of its own."""
    assert hosted.query_driver is not None
    executors = [
        each
        for each in descendants(hosted.query_driver.java_id or 0)
        if "CoarseGrainedExecutorBackend" in command(each)
    ]
    [found] = [each for each in executors if any(one.laddr.port == port for one in each.net_connections("tcp"))]
    return found
