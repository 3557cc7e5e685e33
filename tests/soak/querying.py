"""The soak of queries: many SparkSinks and SparkSources on one worker, in one Spark application, for a long time.

Nothing is killed. An operator restarts or pauses one of them now and then, so that queries start while others plan
their batches. No task may fail, and the worker may not kill the application. Every number must be exactly once in the
folder of each sink, and in the topic of each source.
"""

from __future__ import annotations

import json
import random
import re
import time
import uuid
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds

from soak.cluster import TO_SETTLE, Cluster, states, status
from soak.failures import FailureWatch
from soak.feeder import Feeder
from soak.kept import SoakRun, add
from soak.report import Clock, Outcome
from soak.sinking import tally
from soak.tally import Tally
from support.kafka.client import Kafka
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import PLAIN, SPARKS_JAVA

KILLED = re.compile(r"Spark's driver \(process \d+\) is killed")
"""The log line of a worker that kills the driver of a Spark application."""
PARTITIONS = 2
SOURCES_OF = 5
"""One of this number of queries is a source."""
BY_PYTHON = {
    "transforms": "same",
    "transforms.same.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.same.predicate": "never",
    "predicates": "never",
    "predicates.never.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    "predicates.never.pattern": "no such topic",
}
"""A transform that changes nothing: rows are made in Spark's Python processes, not by Spark alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySoak:
    """Options. ``minutes``: duration of sending and of the operator's requests; ``pace``: mean seconds between two
    requests; ``rate``: numbers per second; ``kept``: the file for the result.
    """

    seed: int
    queries: int = 20
    minutes: float = 30.0
    pace: float = 10.0
    rate: int = 200
    kept: Path | None = None


def run(test: QuerySoak, bootstrap: str, folder: Path, say: Callable[[str], None]) -> Outcome:
    clock, chance, kafka = Clock(), random.Random(test.seed), Kafka(bootstrap)
    mark = uuid.uuid4().hex[:8]
    topic = kafka.create_topic(f"numbers-{mark}", partitions=PARTITIONS)
    records = int(test.rate * test.minutes * 60)
    configs = connectors(test.queries, mark, topic, folder, chance)
    sinks = [name for name in configs if name.startswith("sink")]
    sources = {name: config["topic"] for name, config in configs.items() if "topic" in config}
    for each in sources.values():
        kafka.create_topic(each)
    feeder = Feeder(bootstrap, topic, PARTITIONS, records, test.minutes * 60)
    with Cluster(bootstrap, folder, 1, **{SPARKS_JAVA: ""}) as cluster:
        for name, config in configs.items():
            cluster.request("PUT", f"/connectors/{name}/config", config)
        until(lambda: all(_runs(cluster, name) for name in configs), "all queries running", TO_SETTLE)
        say(f"{len(sinks)} sinks and {len(sources)} sources run")
        watch = FailureWatch(cluster)
        watch.start()
        feeder.start()
        try:
            requests = _operate(test, cluster, list(configs), chance, say)
            feeder.join()
            violations = _wait_for_sinks(cluster, sinks, records)
        finally:
            feeder.abandon()
            feeder.join()
            failures = watch.stop()
        for name in configs:
            cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(cluster, name) == ["STOPPED"] for name in configs), "the stop", TO_SETTLE)
        kills = cluster.logged(KILLED.search)
        violations += [*failures, *kills, *cluster.mishaps()]
        say("stopping")
    if feeder.failure is not None:
        violations.append(f"the feeder has failed: {feeder.failure!r}")
    found = {name: _of_sink(folder / name, records) for name in sinks}
    found |= {name: _of_source(bootstrap, each) for name, each in sources.items()}
    for name, (numbers, missing) in found.items():
        if missing or numbers.repeated:
            violations.append(f"{name}: {missing} numbers are missing, {numbers.repeated} are duplicated")
    figures: dict[str, object] = {
        "seed": str(test.seed),
        "duration": f"{clock.seconds:.0f} s",
        "queries": len(configs),
        "requests of the operator": ", ".join(f"{count} {kind}" for kind, count in sorted(requests.items())),
        "failures": len(failures),
        "kills of the application": len(kills),
        "numbers sent": records,
        "numbers missing": sum(missing for _, missing in found.values()),
        "duplicate numbers": sum(numbers.repeated for numbers, _ in found.values()),
        "numbers of sources": sum(len(found[name][0].counts) for name in sources),
    }
    violations += cluster.survivors
    if test.kept is not None:
        result = SoakRun(
            seed=test.seed,
            exactly_once=True,
            seconds=int(clock.seconds),
            faults=dict(requests),
            numbers=records,
            lost=sum(missing for _, missing in found.values()),
            doubled=sum(numbers.repeated for numbers, _ in found.values()),
            violations=violations,
        )
        add(test.kept, result)
    return Outcome(figures, violations)


def connectors(queries: int, mark: str, topic: str, folder: Path, chance: random.Random) -> dict[str, dict[str, str]]:
    """Return configurations by name: one of SOURCES_OF is a source; half of the sinks use Spark's Python processes."""
    found: dict[str, dict[str, str]] = {}
    for number in range(queries):
        if number % SOURCES_OF == SOURCES_OF - 1:
            name = f"source-{number}-{mark}"
            found[name] = {
                "connector.class": "penstock.connectors.SparkSource",
                "topic": name,
                "format": "rate-micro-batch",
                "option.rowsPerBatch": str(chance.randrange(1, 50)),
                "sql": "SELECT value FROM records",
                "trigger.interval.ms": str(chance.randrange(500, 2000)),
                "checkpoint.location": str(folder / "checkpoints"),
                "key.converter": JSON,
                "value.converter": JSON,
                "value.converter.schemas.enable": "false",
            }
        else:
            name = f"sink-{number}-{mark}"
            found[name] = {
                **PLAIN,
                "connector.class": "penstock.connectors.SparkSink",
                "topics": topic,
                "format": "parquet",
                "path": str(folder / name),
                "trigger.interval.ms": str(chance.randrange(500, 2000)),
                "consumer.override.auto.offset.reset": "earliest",
                **(BY_PYTHON if number % 2 else {}),
            }
        found[name]["tasks.max"] = "1"
    return found


def _operate(
    test: QuerySoak, cluster: Cluster, names: list[str], chance: random.Random, say: Callable[[str], None]
) -> Counter[str]:
    """Restart or pause queries now and then for the test's duration; return the number of each request."""
    done: Counter[str] = Counter()
    until_then = time.monotonic() + test.minutes * 60
    while (left := until_then - time.monotonic()) > 0:
        time.sleep(min(left, chance.uniform(0.5, 1.5) * test.pace))
        name = chance.choice(names)
        if chance.random() < 0.5:
            cluster.request("POST", f"/connectors/{name}/restart?includeTasks=true")
            done["restart"] += 1
        else:
            cluster.request("PUT", f"/connectors/{name}/pause")
            time.sleep(chance.uniform(0.0, 3.0))
            cluster.request("PUT", f"/connectors/{name}/resume")
            done["pause"] += 1
        if done.total() % 20 == 0:
            say(f"{done.total()} requests")
    return done


def _wait_for_sinks(cluster: Cluster, sinks: list[str], records: int) -> list[str]:
    """Describe sinks that do not write all numbers; there is no time limit as long as each makes progress."""
    try:
        for name in sinks:
            while (taken := _taken(cluster, name)) < records:
                until(lambda: _taken(cluster, name) > taken, f"more than {taken} numbers taken by {name}", TO_SETTLE)  # noqa: B023
    except AssertionError as error:
        return [str(error), *(f"{name}: {status(cluster, name)}" for name in sinks)]
    return []


def _runs(cluster: Cluster, name: str) -> bool:
    return states(cluster, name) == ["RUNNING"] * 2


def _taken(cluster: Cluster, name: str) -> int:
    offsets = cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
    return sum(each["offset"]["kafka_offset"] for each in offsets)


def _of_sink(path: Path, records: int) -> tuple[Tally, int]:
    """Return the tally of a sink's folder, and the count of missing and invalid numbers."""
    batches = ds.dataset(path, format="parquet").to_batches(columns=["value"])
    numbers, others = tally(text for batch in batches for text in batch["value"].to_pylist())
    return numbers, numbers.missing + records - len(numbers.counts) + len(others)


def _of_source(bootstrap: str, topic: str) -> tuple[Tally, int]:
    """Return the tally of a source's topic, and the count of missing numbers below the last."""
    numbers = Tally()
    for record in Kafka(bootstrap).read_all(topic):
        value = json.loads(record.value or b"null")
        numbers.add(value["value"] if isinstance(value, dict) else value)
    return numbers, numbers.missing or int(not numbers.counts)
