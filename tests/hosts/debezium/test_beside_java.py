"""Debezium's source for PostgreSQL gives the same topics here as in Java Connect, whatever happens to it here."""

from __future__ import annotations

import os
import signal
import uuid
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from hosts.debezium.beside import KINDS, LOGICAL, SECONDS, Pair, Side
from hosts.debezium.workload import Workload
from hosts.plugins import plugin_path
from soak.victims import kind_of, plugin_jvms
from support.jars import require
from support.java_worker import JARS, JavaWorker
from support.kafka.client import Kafka
from support.machine import missing
from support.postgres import Postgres, binaries
from support.waiting import until
from support.worker_process import QUICK_JAVA, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RUN = uuid.uuid4().hex[:8]
MARK = f"test.debezium={RUN}"


@pytest.fixture(scope="module")
def pair(bootstrap: str, kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    if binaries() is None:
        missing("there is no PostgreSQL on this machine")
    require(JARS)
    folder = tmp_path_factory.mktemp("debezium")
    path = {"plugin.path": plugin_path(folder / "plugins", "debezium-postgres")}
    servers = [Postgres.make(**LOGICAL) for _ in range(2)]
    here = WorkerProcess(bootstrap, folder, **path, **{"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m -D{MARK}"})
    here.start_seconds = 300
    try:
        for server in servers:
            server.start()
        with here, JavaWorker(bootstrap, folder, **path) as java:
            sides = [
                Side(f"{name}{RUN}", *each, kafka) for name, *each in zip("hj", (here, java), servers, strict=True)
            ]
            yield Pair((sides[0], sides[1]), Workload(seed=1))
    finally:
        for server in servers:
            server.remove()


def jvms() -> list[psutil.Process]:
    return plugin_jvms(f"-D{MARK}")


def tasks(worker: WorkerProcess) -> list[psutil.Process]:
    return [each for each in worker.descendants() if kind_of(each) == "task"]


def differences(pair: Pair) -> str:
    pair.mark()
    return "\n".join(pair.differences())


def test_a_snapshot_and_changes(pair: Pair) -> None:
    pair.start(transactions=60)
    pair.execute(pair.workload.transactions(60))
    assert differences(pair) == ""


def test_an_incremental_snapshot(pair: Pair) -> None:
    tables = "everything", "pairs"
    before = [pair.read_events(side) for side in pair.sides]
    rows = sum(int(pair.sides[0].postgres.rows(f"SELECT count(*) FROM {table}")[0][0]) for table in tables)
    data = ", ".join(f'"public.{table}"' for table in tables)
    pair.execute(f"INSERT INTO signals VALUES ('s', 'execute-snapshot', '{{\"data-collections\": [{data}]}}');")
    for side, known in zip(pair.sides, before, strict=True):
        until(lambda: pair.read_events(side) >= known + rows, f"{rows} rows read at {side.name}", SECONDS)  # noqa: B023
    assert differences(pair) == ""


def test_columns_come_and_go(pair: Pair) -> None:
    pair.execute("ALTER TABLE loose ADD COLUMN later numeric(9,4) DEFAULT 1.5; ALTER TABLE loose DROP COLUMN b;")
    pair.execute("INSERT INTO loose VALUES (100, 2.25); UPDATE loose SET later = NULL WHERE a = 100;")
    pair.execute("ALTER TABLE loose DROP COLUMN later; ALTER TABLE loose ADD COLUMN b text;")
    assert differences(pair) == ""


def test_restarts_and_a_pause_in_the_middle(pair: Pair) -> None:
    pair.split_nothing()
    http = pair.sides[0].worker.http
    for act in ("POST restart?includeTasks=true", "PUT pause", "PUT resume", "PUT stop", "PUT resume"):
        pair.execute(pair.workload.transactions(15))
        method, path = act.split()
        for kind in KINDS:
            assert http.request(method, f"/connectors/debezium-{kind}/{path}").status_code < 300
    assert differences(pair) == ""


def test_kills_in_the_middle(pair: Pair) -> None:
    for victims in (jvms, lambda: tasks(pair.sides[0].worker)):
        pair.execute(pair.workload.transactions(40))
        for process in victims():
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        pair.execute(pair.workload.transactions(40))
        until(pair.sides[0].streams, "it streams again", SECONDS)
    assert differences(pair) == ""
