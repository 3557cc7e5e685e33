"""The JDBC connectors on executors that are processes of their own: these get the driver's jar, our classes and jars of
plugins, and one of them may be killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hosts.plugins import plugin_path
from penstock.core.model.tasks import TaskEnded, TaskLost
from penstock.hosts.jvm.shipped import pack
from penstock.spark.query.jdbc.drivers import install
from penstock.spark.settings import HostSettings
from support.kafka.client import Kafka
from support.postgres import Postgres
from support.process_tree import command, descendants
from support.spark.class_data import EXECUTORS_JAVA, java_options
from support.spark.host import Hosted, started
from support.spark.jdbc import ID, NAME, JdbcSink, JdbcSource
from support.spark.queries import SECONDS
from support.tasks.runs import eventually
from support.worker_process import QUICK_JAVA

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of the executors."""
    return tmp_path_factory.mktemp("there")


@pytest.fixture(scope="module")
def jars(tmp_path_factory: pytest.TempPathFactory) -> str:
    return plugin_path(tmp_path_factory.mktemp("plugins"), "chain")


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory, there: Path, jars: str) -> Iterator[Hosted]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("far"))  # Spark's workers have a folder `work` where they are
        install("jdbc-postgresql")
        queries = {
            "spark.master": "local-cluster[2,1,1024]",
            "spark.executorEnv.PENSTOCK_HOME": str(there),
            EXECUTORS_JAVA: java_options(),
        }
        with started(HostSettings(query_spark=queries, files=tuple(pack([jars])))) as hosted:
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


def test_jars_of_transforms_reach_the_executors(
    far: Hosted, kafka: Kafka, postgres: Postgres, there: Path, jars: str
) -> None:
    mark = {"transforms": "mark", "transforms.mark.type": "penstock.tests.chain.Mark", "transforms.mark.text": "seen"}
    with JdbcSink(far, kafka, postgres.url, **{"table.name.format": "marked", **mark}) as sink:
        sink.plugin_path = (jars,)
        sink.worker = {"penstock.java.ship": "true", "penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"}
        sink.add([ID, NAME], {"id": 1, "name": "one"})
        sink.start()
        sink.written(1)
    assert postgres.rows("SELECT id, name, mark FROM marked") == [["1", "one", "seen"]]
    assert list(there.rglob("test-chain*.jar"))


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
    """Return the executor whose connection has this local port."""
    assert hosted.query_driver is not None
    executors = [
        each
        for each in descendants(hosted.query_driver.java_id or 0)
        if "CoarseGrainedExecutorBackend" in command(each)
    ]
    [found] = [each for each in executors if any(one.laddr.port == port for one in each.net_connections("tcp"))]
    return found
