"""The kill test of changes: Debezium's source, from its jar, streams the changes of a PostgreSQL while faults hit
workers, their Sparks, their tasks, the plugins' JVMs and the broker.

Each row counts its changes. With exactly once a read_committed reader must find every change of every row once and in
order. Workers restart lost tasks: nothing is restarted by REST, and no task may fail.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from faults.broker import FaultyBroker
from faults.inflict import Faults
from faults.plan import Plan
from hosts.debezium.beside import CONNECTOR, LOGICAL
from hosts.plugins import plugin_path
from soak.cluster import TO_SETTLE, Cluster, states, status
from soak.failures import FailureWatch
from soak.report import Clock, Outcome
from soak.tally import Tally
from support.kafka.client import Kafka
from support.postgres import LOOPBACK, USER, Postgres
from support.tasks.runs import JSON
from support.waiting import until

KEYS = 200
CYCLE = 10
"""Number of changes of a row after which it is deleted; the next change inserts it again."""
BOUNDARIES = ("poll", "interval")
"""A connector for each, with its own replication slot."""
CHUNK = 200
PREFIX = "changes"
TOPIC_PARTITIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeKillTest:
    """Options of a kill test. Changes are made evenly while faults come. ``settings``: those of workers."""

    plan: Plan
    changes: int = 100_000
    workers: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)


class Writer:
    """Makes the changes, a transaction for each CHUNK: change ``i`` is number ``i // KEYS`` of row ``i % KEYS``."""

    def __init__(self, postgres: Postgres, changes: int, seconds: float) -> None:
        self.failure: BaseException | None = None
        self._postgres, self._changes, self._seconds = postgres, changes, seconds
        self._thread = threading.Thread(target=self._work, name="writer")

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()
        if self.failure is not None:
            raise self.failure

    def _work(self) -> None:
        begun = time.monotonic()
        try:
            for first in range(0, self._changes, CHUNK):
                time.sleep(max(0.0, begun + self._seconds * first / self._changes - time.monotonic()))
                until_end = range(first, min(first + CHUNK, self._changes))
                self._postgres.execute("BEGIN;\n" + "".join(map(change, until_end)) + "COMMIT;\n")
        except BaseException as error:
            self.failure = error


def change(i: int) -> str:
    key, number = i % KEYS, i // KEYS
    match number % CYCLE:
        case 0:
            return f"INSERT INTO counted VALUES ({key}, {number});\n"
        case last if last == CYCLE - 1:
            return f"DELETE FROM counted WHERE id = {key};\n"
        case _:
            return f"UPDATE counted SET number = {number} WHERE id = {key};\n"


def run(
    test: ChangeKillTest, bootstrap: str, folder: Path, say: Callable[[str], None], broker: FaultyBroker | None = None
) -> Outcome:
    """Run a kill test. ``broker`` is needed for faults of the broker; ``bootstrap`` bypasses its proxy."""
    clock, kafka, postgres = Clock(), Kafka(bootstrap), Postgres.make(**LOGICAL)
    run_id = uuid.uuid4().hex[:8]
    connectors = {f"{boundary}-{run_id}": boundary for boundary in BOUNDARIES}
    settings = {**test.settings, "plugin__path": plugin_path(folder / "plugins", "debezium-postgres")}
    violations: list[str] = []
    try:
        postgres.start()
        postgres.execute("CREATE TABLE counted (id integer PRIMARY KEY, number bigint NOT NULL);")
        postgres.execute("ALTER TABLE counted REPLICA IDENTITY FULL;")
        reached = bootstrap if broker is None else broker.proxied
        with Cluster(reached, folder, test.workers, **settings) as cluster:
            for name, boundary in connectors.items():
                kafka.create_topic(topic(name), partitions=TOPIC_PARTITIONS)
                cluster.request("PUT", f"/connectors/{name}/config", _config(name, boundary, postgres))
            until(lambda: streams(postgres), "all connectors streaming", TO_SETTLE)
            say(f"{len(cluster.workers)} workers and {len(connectors)} connectors run")
            faults = Faults(cluster, broker, list(connectors))
            writer = Writer(postgres, test.changes, test.plan.number * test.plan.between)
            watch = FailureWatch(cluster)
            watch.start()
            writer.start()
            try:
                counted = faults.inflict_all(test.plan, say)
                settle = Clock()
                writer.join()
                violations += _settled(cluster, kafka, connectors, test.changes)
            finally:
                failures = watch.stop()
            violations += [*failures, *cluster.mishaps()]
            figures = cluster.figures()
            say("stopping")
        tallies = {name: tally(kafka, topic(name)) for name in connectors}
    finally:
        postgres.remove()
    for name, by_key in tallies.items():
        violations += [f"{name}: {sentence}" for sentence in amiss(by_key, test.changes)]
    every = [each for by_key in tallies.values() for each in by_key.values()]
    figures |= {
        "seed": str(test.plan.seed),
        "duration": f"{clock.seconds:.0f} s",
        "faults": counted,
        "all changes arrived after the last fault": f"{settle.seconds:.0f} s",
        "changes of the database": test.changes,
        "changes in the topics": sum(sum(each.counts) for each in every),
        "changes lost": sum(each.missing for each in every),
        "duplicate changes": sum(each.repeated for each in every),
        "places out of order": sum(each.disordered for each in every),
    }
    return Outcome(figures, [*violations, *cluster.survivors])


def streams(postgres: Postgres) -> bool:
    found = postgres.rows("SELECT count(*) FROM pg_replication_slots WHERE active")
    return found == [[str(len(BOUNDARIES))]]


def _settled(cluster: Cluster, kafka: Kafka, connectors: Mapping[str, str], changes: int) -> list[str]:
    """Describe connectors that do not run, and changes that have not arrived in time."""
    try:
        for name in connectors:
            until(lambda: states(cluster, name) == ["RUNNING"] * 2, f"{name} running", TO_SETTLE)  # noqa: B023
        for name in connectors:
            until(lambda: _complete(kafka, topic(name), changes), f"all changes of {name}", TO_SETTLE)  # noqa: B023
    except AssertionError as error:
        return [str(error), *(f"{name}: {status(cluster, name)}" for name in connectors)]
    return []


def _complete(kafka: Kafka, name: str, changes: int) -> bool:
    """Return whether the last change of each row has arrived."""
    last = {i % KEYS: i // KEYS for i in range(max(0, changes - KEYS), changes)}
    found = dict(numbers(kafka, name))
    return all(found.get(key, -1) >= number for key, number in last.items())


def topic(connector: str) -> str:
    return f"{PREFIX}-{connector}.public.counted"


def numbers(kafka: Kafka, name: str) -> Iterator[tuple[int, int]]:
    """Yield the row and the number of each change, partition by partition."""
    for record in kafka.read_all(name):
        assert record.value is not None
        event = json.loads(record.value)
        # The event of a deletion has only the number of the change before.
        number = event["before"]["number"] + 1 if event["op"] == "d" else event["after"]["number"]
        yield (event["before"] or event["after"])["id"], number


def tally(kafka: Kafka, name: str) -> dict[int, Tally]:
    tallies: dict[int, Tally] = {}
    for key, number in numbers(kafka, name):
        tallies.setdefault(key, Tally()).add(number)
    return tallies


def amiss(tallies: Mapping[int, Tally], changes: int) -> list[str]:
    """Describe changes that are missing, duplicated or out of order."""
    wrong = []
    for key in range(min(KEYS, changes)):
        found, expected = tallies.get(key, Tally()), len(range(key, changes, KEYS))
        lost = found.missing + max(0, expected - len(found.counts))
        if lost or found.repeated or found.disordered or len(found.counts) > expected:
            wrong.append(
                f"row {key}: of {expected} changes {lost} are lost, {found.repeated} have come more than once, and "
                f"{found.disordered} out of order"
            )
    return wrong


def _config(name: str, boundary: str, postgres: Postgres) -> dict[str, str]:
    return {
        "connector.class": CONNECTOR,
        "tasks.max": "1",
        "transaction.boundary": boundary,
        "transaction.boundary.interval.ms": "1000",
        "database.hostname": LOOPBACK,
        "database.port": str(postgres.port),
        "database.user": USER,
        "database.password": "any",
        "database.dbname": "postgres",
        "topic.prefix": f"{PREFIX}-{name}",
        "plugin.name": "pgoutput",
        "slot.name": name.replace("-", "_"),
        "publication.name": name.replace("-", "_"),
        "publication.autocreate.mode": "filtered",
        "table.include.list": "public.counted",
        "tombstones.on.delete": "false",
        "key.converter": JSON,
        "value.converter": JSON,
        "key.converter.schemas.enable": "false",
        "value.converter.schemas.enable": "false",
    }
