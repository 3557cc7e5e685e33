"""The kill test of sinks: numbered records are written to a file, a Parquet table and a Delta table while faults hit
workers, their Sparks, their tasks and the broker.

No number may be missing in any, and none may be duplicated in a table, to which batches are added whole and once.
Workers restart lost tasks: nothing is restarted by REST unless the plan says so, and no task may fail.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow.dataset as ds
from confluent_kafka import Consumer, KafkaException, TopicPartition

from faults.broker import FaultyBroker
from faults.inflict import Faults
from faults.plan import Plan
from faults.silences import Span, distribution, in_all, longest, silences
from soak.cluster import TO_SETTLE, Cluster, states, status
from soak.failures import FailureWatch
from soak.feeder import MARK, Feeder
from soak.progress import Measure, ProgressWatch
from soak.report import Clock, Outcome
from soak.tally import Tally
from support.kafka.client import Kafka
from support.spark import delta
from support.waiting import until
from support.worker_process import PLAIN, SPARKS_JAVA

PARTITIONS = 8
FILE, TABLE, DELTA = "lines", "rows", "delta"
TASKS = {FILE: 3, TABLE: 1, DELTA: 1}
GLANCE = 5.0
"""Timeout in seconds for reading committed offsets from the broker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkKillTest:
    """Options of a kill test. Records are sent evenly while faults come. ``bound``: seconds; no sink may stand still
    for longer after a fault. ``settings``: those of workers.
    """

    plan: Plan
    records: int = 5_000_000
    bound: float = 60.0
    targets: tuple[str, ...] = (FILE, TABLE, DELTA)
    workers: int = 3
    settings: Mapping[str, str] = field(default_factory=dict)


def run(
    test: SinkKillTest, bootstrap: str, folder: Path, say: Callable[[str], None], broker: FaultyBroker | None = None
) -> Outcome:
    """Run a kill test. ``broker`` is needed for faults of the broker; ``bootstrap`` bypasses its proxy."""
    clock, kafka = Clock(), Kafka(bootstrap)
    topic = kafka.create_topic(f"numbers-{uuid.uuid4().hex[:8]}", partitions=PARTITIONS)
    feeder = Feeder(bootstrap, topic, PARTITIONS, test.records, test.plan.number * test.plan.between)
    settings = delta.spark_settings() if DELTA in test.targets else {}
    settings = {SPARKS_JAVA: "", **settings, **test.settings}
    with Cluster(bootstrap if broker is None else broker.proxied, folder, test.workers, **settings) as cluster:
        faults = Faults(cluster, broker, test.targets)
        course = _Course(cluster, faults, kafka, topic, folder, test.records, test.targets, say)
        course.begin()
        feeder.start()
        course.inflict_all(test.plan, feeder)
        course.end()
        say("stopping")
    found = {name: tally(READERS[name](folder / name)) for name in test.targets}
    quiet = silences(course.progress.times, course.watched, faults.begun, faults.away)
    figures: dict[str, object] = {
        "seed": str(test.plan.seed),
        "duration": f"{clock.seconds:.0f} s",
        "numbers sent": test.records,
        **course.figures,
        "longest standstill after a fault": distribution(longest(quiet, test.plan.number)),
        "the same, summed over outages of the broker": in_all(quiet),
    }
    wrong = [] if feeder.failure is None else [f"the feeder has failed: {feeder.failure!r}"]
    wrong += [each.sentence() for each in quiet if each.length > test.bound]
    for name, (numbers, cut) in found.items():
        missing = numbers.missing + test.records - len(numbers.counts)
        figures |= {f"missing in the {name}": missing, f"duplicates in the {name}": numbers.repeated}
        if missing:
            wrong.append(f"{missing} numbers are missing in the {name}, the first is {numbers.counts.find(0)}")
        if cut:
            wrong.append(f"{len(cut)} values in the {name} are not numbers that were sent: {cut[:3]}")
        if numbers.repeated and name != FILE:
            wrong.append(f"{numbers.repeated} numbers are duplicated in the {name}")
    return Outcome(figures, [*course.violations, *wrong, *cluster.survivors])


def tally(texts: Iterable[str]) -> tuple[Tally, list[str]]:
    """Count the occurrences of each number, and return the texts that are not numbers too."""
    numbers, others = Tally(), []
    for text in texts:
        if text.endswith(MARK) and text[:-1].isdecimal():
            numbers.add(int(text[:-1]))
        else:
            others.append(text)
    return numbers, others


def lines(path: Path) -> Iterable[str]:
    with path.open() as file:
        yield from (line.rstrip("\n") for line in file)


def rows(files: Path | list[Path]) -> Iterable[str]:
    for batch in ds.dataset(files, format="parquet").to_batches(columns=["value"]):
        yield from batch["value"].to_pylist()


READERS: dict[str, Callable[[Path], Iterable[str]]] = {
    FILE: lines,
    TABLE: rows,
    DELTA: lambda table: rows(delta.files(table)),
}


@dataclass(slots=True)
class _Course:
    """One kill test, step by step."""

    cluster: Cluster
    faults: Faults
    kafka: Kafka
    topic: str
    folder: Path
    records: int
    targets: tuple[str, ...]
    say: Callable[[str], None]
    figures: dict[str, object] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)
    watched: Span = (0.0, 0.0)
    """Time from the first fault until the last number was sent."""
    progress: ProgressWatch = field(init=False)

    def begin(self) -> None:
        common = {**PLAIN, "topics": self.topic, "consumer.override.auto.offset.reset": "earliest"}
        own = {
            FILE: {"connector.class": "FileStreamSink", "file": str(self.folder / FILE)},
            TABLE: {
                "connector.class": "penstock.connectors.SparkSink",
                "format": "parquet",
                "path": str(self.folder / TABLE),
            },
            DELTA: {
                "connector.class": "penstock.connectors.SparkSink",
                "format": "delta",
                "path": str(self.folder / DELTA),
            },
        }
        for name in self.targets:
            config = {**common, **own[name], "tasks.max": str(TASKS[name])}
            self.cluster.request("PUT", f"/connectors/{name}/config", config)
        until(self._all_run, "all tasks running", TO_SETTLE)
        self.say(f"{len(self.cluster.workers)} workers and {sum(TASKS[name] for name in self.targets)} tasks run")

    def inflict_all(self, plan: Plan, feeder: Feeder) -> None:
        """Inject all faults; return when all records that were sent have been written after the last fault."""
        watch, begun = FailureWatch(self.cluster), time.time()
        self.progress = ProgressWatch({f"sink {name}": self._written(name) for name in self.targets})
        watch.start()
        self.progress.start()
        try:
            counted = self.faults.inflict_all(plan, self.say)
            feeder.join()
            clock = Clock()
            self.watched = (begun, time.time())
            self._wait_for_all()
        finally:
            feeder.abandon()
            feeder.join()
            self.progress.stop()
            failures = watch.stop()
        self.violations += failures
        self.figures = {
            "faults": counted,
            "failures": len(failures),
            "all written after the last fault": f"after {clock.seconds:.1f} s",
        }

    def _wait_for_all(self) -> None:
        """Wait for the remaining records, without a time limit as long as each sink makes progress."""
        try:
            for name in self.targets:
                while (taken := self._taken(name)) < self.records:
                    more = partial(self._has_taken_more, name, taken)
                    until(more, f"more than {taken} numbers taken by {name}", TO_SETTLE)
        except AssertionError as error:
            self.violations.append(str(error))
            for name in self.targets:
                self.violations.append(f"{name}, {self._taken(name)} taken: {status(self.cluster, name)}")

    def _has_taken_more(self, name: str, before: int) -> bool:
        return self._taken(name) > before

    def end(self) -> None:
        for name in self.targets:
            self.cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(self.cluster, name) == ["STOPPED"] for name in self.targets), "the stop", TO_SETTLE)
        self.violations += self.cluster.mishaps()
        self.figures |= self.cluster.figures()

    def _all_run(self) -> bool:
        return all(states(self.cluster, name) == ["RUNNING"] * (TASKS[name] + 1) for name in self.targets)

    def _taken(self, name: str) -> int:
        """Return the number of committed records."""
        offsets = self.cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
        return sum(each["offset"]["kafka_offset"] for each in offsets)

    def _written(self, name: str) -> Measure:
        """Return a measure of a sink's progress that needs no worker: the file's size, or the committed offsets."""
        if name == FILE:
            return partial(_size, self.folder / FILE)
        settings = {"bootstrap.servers": self.kafka.bootstrap, "group.id": f"connect-{name}", "log_level": 2}
        asked = [TopicPartition(self.topic, partition) for partition in range(PARTITIONS)]
        return partial(_committed, Consumer(settings), asked)


def _size(path: Path) -> float | None:
    try:
        return float(path.stat().st_size)
    except FileNotFoundError:
        return None


def _committed(consumer: Consumer, partitions: list[TopicPartition]) -> float | None:
    # Not by an admin client: one whose requests timed out has aborted the whole process.
    try:
        return float(sum(max(each.offset, 0) for each in consumer.committed(partitions, timeout=GLANCE)))
    except KafkaException:
        return None
