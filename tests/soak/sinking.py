"""The kill test of sinks: numbered records go into a file and into a Parquet table while workers, the Sparks under them
and the processes of tasks are killed.

No number may be missing in either, and none may be twice in the table, whose batches are added whole and once.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.dataset as ds
from confluent_kafka import Producer

from soak.cluster import Cluster
from soak.killing import TO_SETTLE, Restarter, states, status
from soak.report import Clock, Outcome
from soak.tally import Tally
from soak.victims import kill_many
from support import Kafka
from waiting import until
from workers import PLAIN, SPARKS_JAVA

PARTITIONS = 8
FILE, TABLE = "lines", "rows"
TASKS = {FILE: 3, TABLE: 1}
MARK = ";"
"""Ends each number, so that one that was cut off is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkKillTest:
    """``between_kills``: seconds, on average. Records are sent evenly for as long as there are kills."""

    kills: int
    records: int = 5_000_000
    between_kills: float = 6.0


class Feeder:
    """Sends the numbers from 0, one partition after the other, each ending with MARK."""

    def __init__(self, bootstrap: str, topic: str, records: int, seconds: float) -> None:
        self.failure: BaseException | None = None
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "enable.idempotence": True})
        self._topic, self._records, self._seconds = topic, records, seconds
        self._thread = threading.Thread(target=self._work, name="feeder")

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        """Returns when the last number is in the topic."""
        self._thread.join()

    def _work(self) -> None:
        try:
            begun, step = time.monotonic(), max(self._records // 1000, 1)
            for first in range(0, self._records, step):
                for number in range(first, min(first + step, self._records)):
                    self._send(number)
                self._producer.poll(0)
                time.sleep(max(begun + self._seconds * first / self._records - time.monotonic(), 0))
            assert self._producer.flush(60) == 0, "numbers could not be sent"
        except BaseException as error:
            self.failure = error

    def _send(self, number: int) -> None:
        while True:
            try:
                self._producer.produce(self._topic, f"{number}{MARK}", partition=number % PARTITIONS)
                return
            except BufferError:
                self._producer.poll(0.1)


def run(test: SinkKillTest, bootstrap: str, folder: Path, say: Callable[[str], None]) -> Outcome:
    clock, kafka = Clock(), Kafka(bootstrap)
    topic = kafka.create_topic(f"numbers-{uuid.uuid4().hex[:8]}", partitions=PARTITIONS)
    feeder = Feeder(bootstrap, topic, test.records, test.kills * test.between_kills)
    with Cluster(bootstrap, folder, **{SPARKS_JAVA: ""}) as cluster:
        course = _Course(cluster, topic, folder, test.records, say)
        course.begin()
        feeder.start()
        course.kill_all(test, feeder)
        course.end()
        say("stopping")
    found = {FILE: tally(lines(folder / FILE)), TABLE: tally(rows(folder / TABLE))}
    figures: dict[str, object] = {"duration": f"{clock.seconds:.0f} s", "numbers sent": test.records, **course.figures}
    wrong = [] if feeder.failure is None else [f"the feeder has failed: {feeder.failure!r}"]
    for name, (numbers, cut) in found.items():
        missing = numbers.missing + test.records - len(numbers.counts)
        figures |= {f"missing in the {name}": missing, f"more than once in the {name}": numbers.repeated}
        if missing:
            wrong.append(f"{missing} numbers are missing in the {name}, the first is {numbers.counts.find(0)}")
        if cut:
            wrong.append(f"{len(cut)} of the {name} are no numbers that were sent: {cut[:3]}")
    if found[TABLE][0].repeated:
        wrong.append(f"{found[TABLE][0].repeated} numbers are more than once in the table")
    return Outcome(figures, [*course.violations, *wrong, *cluster.survivors])


def tally(texts: Iterable[str]) -> tuple[Tally, list[str]]:
    """How often each number came, and the texts that are none."""
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


def rows(path: Path) -> Iterable[str]:
    for batch in ds.dataset(path, format="parquet").to_batches(columns=["value"]):
        yield from batch["value"].to_pylist()


@dataclass(slots=True)
class _Course:
    """One kill test, step by step."""

    cluster: Cluster
    topic: str
    folder: Path
    records: int
    say: Callable[[str], None]
    figures: dict[str, object] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def begin(self) -> None:
        common = {**PLAIN, "topics": self.topic, "consumer.override.auto.offset.reset": "earliest"}
        own = {
            FILE: {"connector.class": "FileStreamSink", "file": str(self.folder / FILE)},
            TABLE: {
                "connector.class": "penstock.connectors.SparkSink",
                "format": "parquet",
                "path": str(self.folder / TABLE),
            },
        }
        for name, tasks in TASKS.items():
            config = {**common, **own[name], "tasks.max": str(tasks)}
            self.cluster.request("PUT", f"/connectors/{name}/config", config)
        until(self._all_run, "all tasks running", TO_SETTLE)
        self.say(f"{len(self.cluster.workers)} workers and {sum(TASKS.values())} tasks run")

    def kill_all(self, test: SinkKillTest, feeder: Feeder) -> None:
        """Returns when everything that was sent has been taken after the last kill."""
        operator = Restarter(self.cluster, list(TASKS))
        operator.start()
        try:
            killed = kill_many(self.cluster, test.kills, test.between_kills, self.say)
            feeder.join()
            clock = Clock()
            self._wait_for_all()
        finally:
            feeder.join()
            operator.stop()
        if operator.failure:
            self.violations.append(str(operator.failure))
        self.figures = {
            "kills": killed,
            "restarts of failed tasks": operator.restarts,
            "all taken after the last kill": f"after {clock.seconds:.1f} s",
        }

    def _wait_for_all(self) -> None:
        try:
            until(lambda: all(self._taken(name) == self.records for name in TASKS), "all numbers taken", TO_SETTLE)
        except AssertionError as error:
            self.violations.append(str(error))
            self.violations += [f"{name}, {self._taken(name)} taken: {status(self.cluster, name)}" for name in TASKS]

    def end(self) -> None:
        for name in TASKS:
            self.cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(self.cluster, name) == ["STOPPED"] for name in TASKS), "the stop", TO_SETTLE)
        self.violations += self.cluster.mishaps()
        self.figures |= self.cluster.figures()

    def _all_run(self) -> bool:
        return all(states(self.cluster, name) == ["RUNNING"] * (tasks + 1) for name, tasks in TASKS.items())

    def _taken(self, name: str) -> int:
        """How many records are committed."""
        offsets = self.cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
        return sum(each["offset"]["kafka_offset"] for each in offsets)
