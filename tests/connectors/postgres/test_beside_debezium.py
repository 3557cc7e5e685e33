"""PostgresSource beside Debezium's connector, both in one worker and of one server: the same statements give the same
events, but for positions, times and versions.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import suppress
from itertools import product
from typing import Any

import psutil
import pytest

from hosts.debezium.beside import CONNECTOR, LOGICAL, SECONDS, difference, without_times
from hosts.debezium.workload import SCHEMA, Workload
from hosts.plugins import plugin_path
from soak.victims import kind_of
from support.kafka.client import Kafka, Record
from support.postgres import LOOPBACK, USER, Postgres, running_server
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import QUICK_JAVA, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

OURS = "penstock.connectors.PostgresSource"
RUN = uuid.uuid4().hex[:8]
KINDS = {
    "plain": {},
    "other": {
        "time.precision.mode": "connect",
        "decimal.handling.mode": "string",
        "binary.handling.mode": "base64",
        "interval.handling.mode": "string",
        "skipped.operations": "none",
        "tombstones.on.delete": "false",
        "provide.transaction.metadata": "true",
    },
    "texts": {
        "time.precision.mode": "isostring",
        "decimal.handling.mode": "double",
        "binary.handling.mode": "hex",
        "skipped.operations": "t",
        "transforms": "unwrap",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.delete.tombstone.handling.mode": "rewrite-with-tombstone",
        "transforms.unwrap.add.fields": "op,table,source.schema",
    },
}
STRICT = """
CREATE TABLE strict (
    a integer, b text, n bigint NOT NULL, s text NOT NULL, f boolean NOT NULL, d date NOT NULL, i interval NOT NULL,
    p numeric NOT NULL, q numeric(6,2) NOT NULL, m timestamptz NOT NULL,
    t timestamp NOT NULL DEFAULT '2020-01-02 03:04',
    x bytea NOT NULL, u uuid NOT NULL, l text[] NOT NULL, j jsonb NOT NULL DEFAULT '{}', c time NOT NULL,
    k real NOT NULL, v bit(9) NOT NULL, m3 timestamptz(3), m0 timestamptz(0),
    long text[], long_bytes bytea, PRIMARY KEY (b, a)
);
ALTER TABLE strict ALTER COLUMN long SET STORAGE EXTERNAL;
ALTER TABLE strict ALTER COLUMN long_bytes SET STORAGE EXTERNAL;
CREATE TABLE one (id integer, more text, PRIMARY KEY (id) INCLUDE (more));
CREATE TABLE many (a integer NOT NULL, b integer UNIQUE, c text UNIQUE);
INSERT INTO one VALUES (1, 'x');
INSERT INTO many VALUES (1, 2, 'x');
"""
ROW = """
INSERT INTO strict VALUES ({0}, 'b', 1, 's', true, '2020-02-29', '-1 year 3 days -04:05:06.7', -0.0500, 1.5,
    '2020-01-01 00:00:00.1+02', '2020-01-01 00:00', '\\x00ff',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{{a,NULL,"b c"}}',
    '{{}}', '00:00:00.25', 1.1, B'000000001', '2020-01-01 00:00:00Z', '2020-01-01 00:00:00Z',
    ARRAY[repeat('x', 9000)], decode(repeat('ab', 9000), 'hex'));
"""
CHANGES = f"""
{ROW.format(2)}
UPDATE strict SET n = 2, p = 1200, v = B'000000000', m3 = '2020-01-01 00:00:00.12Z' WHERE a = 1;
UPDATE strict SET n = 3, p = 0.00, long_bytes = '' WHERE a = 1;
UPDATE strict SET a = 3 WHERE a = 2;
DELETE FROM strict WHERE a = 1;
UPDATE one SET id = 2;
INSERT INTO many VALUES (2, 3, NULL);
TRUNCATE loose, pairs;
ALTER TABLE loose ADD COLUMN later numeric(9,4) DEFAULT 1.5;
INSERT INTO loose VALUES (100, 'x', 2.25);
ALTER TABLE loose DROP COLUMN b;
UPDATE loose SET later = NULL;
"""
UNCHANGED_BYTES = '"long_bytes": "__debezium_unavailable_value"', '"long_bytes": null'
"""With base64 Debezium returns null for unchanged long bytes, which cannot be distinguished from no value."""
TABLES = ("everything", "pairs", "loose", "one", "strict", "many", "outbox", "marks")


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    yield from running_server(**LOGICAL)


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("beside")
    path = {"plugin.path": plugin_path(folder / "plugins", "debezium-postgres")}
    with WorkerProcess(bootstrap, folder, **path, **{"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"}) as running:
        yield running


def put(worker: WorkerProcess, postgres: Postgres, side: str, kind: str) -> None:
    name = f"{side}{kind}"
    worker.put(
        f"{name}-{RUN}",
        **{
            "connector.class": OURS if side == "p" else CONNECTOR,
            "tasks.max": "1",
            "database.hostname": LOOPBACK,
            "database.port": str(postgres.port),
            "database.user": USER,
            "database.password": "any",
            "database.dbname": "postgres",
            "topic.prefix": f"{side}{RUN}{kind}",
            "plugin.name": "pgoutput",
            "slot.name": name,
            "publication.name": name,
            "publication.autocreate.mode": "filtered",
            "poll.interval.ms": "50",
            "key.converter": JSON,
            "value.converter": JSON,
            "table.include.list": ",".join(f"public.{table}" for table in TABLES),
            **KINDS[kind],
            # Debezium counts the messages of pg_logical_emit_message among a transaction's events.
            **({"message.prefix.exclude.list": ".*"} if side == "d" else {}),
        },
    )


def comparable(record: Record, side: str) -> Any:
    key, value = (None if each is None else json.loads(each) for each in (record.key, record.value))
    headers = [(name, text) for name, text in record.headers if not name.startswith("__debezium.context.")]
    text = json.dumps(without_times([key, value, [(name, (text or b"").decode()) for name, text in headers]]))
    key, value, headers = json.loads(text.replace(f"{side}{RUN}", "side").replace(*UNCHANGED_BYTES))
    source = (value or {}).get("payload", {}).get("source")
    if source is not None:
        source.pop("version")
    return {"key": key, "value": value, "headers": headers}


def differences(kafka: Kafka, kind: str) -> Iterator[str]:
    compared = 0
    for table in (*(f"public.{table}" for table in TABLES), "transaction"):
        ours, theirs = (
            [comparable(record, side) for record in kafka.read_all(topic)] if topic in kafka.topics() else []
            for side, topic in ((side, f"{side}{RUN}{kind}.{table}") for side in "pd")
        )
        compared += len(ours)
        for i, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            if one != other:
                yield f"{kind} {table}, record {i}:\n" + "\n".join(difference(one, other))
                break
        if len(ours) != len(theirs):
            yield f"{kind} {table}: {len(ours)} records here, {len(theirs)} of Debezium"
    assert compared > 100


def arrived(kafka: Kafka, side: str, kind: str, marks: int) -> bool:
    topic = f"{side}{RUN}{kind}.public.marks"
    return topic in kafka.topics() and len(kafka.read_all(topic)) >= marks


def runs(worker: WorkerProcess, side: str, kind: str) -> bool:
    (task,) = worker.get(f"/connectors/{side}{kind}-{RUN}/status")["tasks"]
    assert task["state"] != "FAILED", task["trace"]
    return True


def test_events_equal_debeziums(worker: WorkerProcess, postgres: Postgres, kafka: Kafka) -> None:
    workload = Workload(seed=7)
    postgres.execute(SCHEMA + STRICT + ROW.format(1) + workload.transactions(60))
    for kind in KINDS:
        for side in "pd":
            put(worker, postgres, side, kind)
    sides = 2 * len(KINDS)
    active = "SELECT count(*) FROM pg_replication_slots WHERE active"
    streams = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
    until(lambda: postgres.rows(active) == [[str(sides)]] == postgres.rows(streams), "all stream", SECONDS)
    postgres.execute(workload.transactions(80) + CHANGES)
    number, mark = workload.mark()
    postgres.execute(mark)
    for kind, side in product(KINDS, "pd"):
        until(
            lambda: runs(worker, side, kind) and arrived(kafka, side, kind, number),  # noqa: B023
            f"all of {side}{kind}",
            SECONDS,
        )
    assert "\n".join(each for kind in KINDS for each in differences(kafka, kind)) == ""


def test_kills_lose_and_repeat_nothing(worker: WorkerProcess, postgres: Postgres, kafka: Kafka) -> None:
    """Exactly once: the task is killed while transactions come."""
    for side, kind in product("pd", KINDS):
        if (side, kind) != ("p", "plain"):
            assert worker.http.delete(f"/connectors/{side}{kind}-{RUN}").status_code == 204
    active = "SELECT active_pid FROM pg_replication_slots WHERE slot_name = 'pplain' AND active"
    topic, rounds, size = f"p{RUN}plain.public.one", 12, 25
    ids = range(1000, 1000 + rounds * size)
    for start in ids[::size]:
        postgres.execute(f"INSERT INTO one SELECT n FROM generate_series({start}, {start + size - 1}) n;")
        if start % 4 == 0:
            before = postgres.rows(active)
            for process in tasks(worker):
                with suppress(psutil.NoSuchProcess):  # of a connector that was deleted before
                    process.kill()
            until(lambda: postgres.rows(active) not in ([], before), "the task streams again", SECONDS)  # noqa: B023
    until(lambda: len(arrived_ids(kafka, topic)) >= len(ids), "all rows", SECONDS)
    assert arrived_ids(kafka, topic) == list(ids)


def tasks(worker: WorkerProcess) -> list[psutil.Process]:
    return [each for each in worker.descendants() if kind_of(each) == "task"]


def arrived_ids(kafka: Kafka, topic: str) -> list[int]:
    keys = [json.loads(record.key)["payload"]["id"] for record in kafka.read_all(topic) if record.key]
    return [key for key in keys if key >= 1000]
