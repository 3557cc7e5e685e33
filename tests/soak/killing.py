"""The kill test: numbers go to Kafka while workers, their Sparks, their tasks and the broker meet with faults.

With exactly once a read_committed reader must find every number once and in order, otherwise at least once. The workers
start lost tasks again: nobody restarts anything by REST unless the plan says so, and no task may fail.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from faults.broker import FaultyBroker
from faults.inflict import Faults
from faults.plan import Plan
from faults.silences import Silence, Span, distribution, longest, silences
from soak.cluster import Cluster
from soak.failures import FailureWatch
from soak.report import Clock, Outcome
from soak.tally import amiss, read, sending_times
from soak.victims import processes
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import PLAIN

BOUNDARIES = ("poll", "interval")
"""A connector for each, so that transactions are short and long."""
TASKS = 3
SOURCES = 6
TOPIC_PARTITIONS = 3
TO_SETTLE = 300.0
"""Seconds within which all tasks must run again and make progress after the last fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KillTest:
    """``bound``: seconds; nothing that could run may be silent for longer after a fault. ``settings``: of workers."""

    plan: Plan
    exactly_once: bool = True
    bound: float = 60.0
    settings: Mapping[str, str] = field(default_factory=dict)


def run(
    test: KillTest, bootstrap: str, folder: Path, say: Callable[[str], None], broker: FaultyBroker | None = None
) -> Outcome:
    """``broker`` is needed for faults of the broker; ``bootstrap`` leads to it directly."""
    clock, kafka = Clock(), Kafka(bootstrap)
    topics = {
        f"counting-{boundary}": kafka.create_topic(f"numbers-{uuid.uuid4().hex[:8]}", partitions=TOPIC_PARTITIONS)
        for boundary in BOUNDARIES
    }
    support = "enabled" if test.exactly_once else "disabled"
    settings = {**test.settings, "exactly__once__source__support": support}
    with Cluster(bootstrap if broker is None else broker.proxied, folder, **settings) as cluster:
        course = _Course(cluster, topics, Faults(cluster, broker, list(topics)), say)
        course.begin()
        course.inflict_all(test.plan)
        course.end()
        say("stopping")
    tallies = {name: read(bootstrap, topic) for name, topic in topics.items()}
    wrong = [
        f"{name}, {each}" for name in topics for each in amiss(tallies[name], course.ends[name], test.exactly_once)
    ]
    quiet = course.silences(bootstrap)
    wrong += [each.sentence() for each in quiet if each.length > test.bound]
    every = [tally for by_source in tallies.values() for tally in by_source.values()]
    figures: dict[str, object] = {
        "seed": str(test.plan.seed),
        "exactly once": "on" if test.exactly_once else "off",
        "duration": f"{clock.seconds:.0f} s",
        **course.figures,
        "not running after a fault": distribution(longest(quiet, test.plan.number)),
        "numbers sent": sum(len(tally.counts) for tally in every),
        "numbers lost": sum(tally.missing for tally in every),
        "numbers that came more than once": sum(tally.repeated for tally in every),
        "places out of order": sum(tally.disordered for tally in every),
    }
    return Outcome(figures, [*course.violations, *wrong, *cluster.survivors])


@dataclass(slots=True)
class _Course:
    """One kill test, step by step."""

    cluster: Cluster
    topics: dict[str, str]
    """By connector."""
    faults: Faults
    say: Callable[[str], None]
    watched: Span = (0.0, 0.0)
    """From the first fault until everything ran after the last."""
    ends: dict[str, dict[int, int]] = field(default_factory=dict)
    """By connector and source partition: the number that would have come next."""
    figures: dict[str, object] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def begin(self) -> None:
        for name, topic in self.topics.items():
            self.cluster.request("PUT", f"/connectors/{name}/config", _config(name, topic))
        until(self._all_run, "all tasks running", TO_SETTLE)
        self.say(f"{len(self.cluster.workers)} workers and {len(self.topics) * TASKS} tasks run")

    def inflict_all(self, plan: Plan) -> None:
        """Returns when everything runs and makes progress again after the last fault."""
        begun = time.time()
        watch = FailureWatch(self.cluster)
        watch.start()
        try:
            counted = self.faults.inflict_all(plan, self.say)
            clock = Clock()
            self._wait_for_progress()
        finally:
            failures = watch.stop()
        self.watched = (begun, time.time())
        self.violations += failures
        self.figures = {
            "faults": counted,
            "failures": len(failures),
            "all tasks running after the last fault": f"after {clock.seconds:.1f} s",
        }

    def silences(self, bootstrap: str) -> list[Silence]:
        sent = {
            f"source partition {source} of {name}": times
            for name, topic in self.topics.items()
            for source, times in sending_times(bootstrap, topic).items()
        }
        return silences(sent, self.watched, self.faults.begun, self.faults.away)

    def _wait_for_progress(self) -> None:
        before = {name: self._committed(name) for name in self.topics}
        try:
            until(self._all_run, "all tasks running again", TO_SETTLE)
            until(lambda: all(self._progresses(name, before[name]) for name in before), "progress of all", TO_SETTLE)
        except AssertionError as error:
            self.violations.append(str(error))
            self.violations += [f"{name}: {status(self.cluster, name)}" for name in self.topics]

    def end(self) -> None:
        """Nothing more is sent: what is committed now is what must have arrived."""
        for name in self.topics:
            self.cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(self.cluster, name) == ["STOPPED"] for name in self.topics), "the stop", TO_SETTLE)
        # Of what another worker stops the leader says no more than that it is to stop.
        until(lambda: not processes(self.cluster, "task"), "the end of the tasks", TO_SETTLE)
        self.ends = {name: self._committed(name) for name in self.topics}
        self.violations += self.cluster.mishaps()
        self.figures |= self.cluster.figures()

    def _all_run(self) -> bool:
        return all(states(self.cluster, name) == ["RUNNING"] * (TASKS + 1) for name in self.topics)

    def _committed(self, name: str) -> dict[int, int]:
        """By source partition, the number with which it goes on."""
        offsets = self.cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
        return {each["partition"]["source"]: each["offset"]["next"] for each in offsets}

    def _progresses(self, name: str, before: dict[int, int]) -> bool:
        now = self._committed(name)
        return len(now) == SOURCES and all(end > before.get(source, 0) for source, end in now.items())


def status(cluster: Cluster, name: str) -> Any:
    return cluster.request("GET", f"/connectors/{name}/status").json()


def states(cluster: Cluster, name: str) -> list[str]:
    found = status(cluster, name)
    return [found["connector"]["state"], *(task["state"] for task in found["tasks"])]


def _config(name: str, topic: str) -> dict[str, str]:
    return {
        **PLAIN,
        "connector.class": "plugin.Counting",
        "tasks.max": str(TASKS),
        "topic": topic,
        "topic.partitions": str(TOPIC_PARTITIONS),
        "source.partitions": str(SOURCES),
        "transaction.boundary": name.removeprefix("counting-"),
        "transaction.boundary.interval.ms": "1000",
    }
