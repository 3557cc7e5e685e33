"""The soak: 30 connectors are changed without end while two workers or their descendants are killed, on request also
frozen, and faults are injected into the broker. The third worker and its descendants are hit only by the broker's
faults, so that they live for the whole run. No process of any worker may use more and more resources, see
``resources``. More connectors serve for the faults of origins, offsets and neighbours of connectors, see ``origins``.

At the end every connector must be in its last requested state, every task that should work must do so, once and with
its last configuration, and no task may have run twice at any time. Two more connectors are left alone and count, see
``counting``.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from faults.broker import FaultyBroker
from faults.inflict import Faults
from faults.plan import Plan
from faults.silences import Span
from soak.beats import BeatReader
from soak.churn import Operator, Wanted, beats_amiss, differences, milliseconds
from soak.cluster import TO_SETTLE, WORKERS, Cluster
from soak.counting import Counters
from soak.failures import FailureWatch
from soak.kept import SoakRun, add
from soak.origins import Origins
from soak.report import Clock, Outcome
from soak.resources import MOST, Life, Resources, described, growth
from support.kafka.client import Kafka

CONNECTORS = 30
OPERATORS = 3
LAST_WATCH = 6.0
"""Seconds of heartbeats that show which tasks work at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Soak:
    """Options of a soak. ``pace``: seconds between two actions of each of three operators. ``bound``: seconds; no
    counter that could run may be silent for longer after a fault. ``most``: as in ``resources``. ``kept``: the file for
    the result.
    """

    plan: Plan
    kept: Path | None = None
    pace: float = 2.0
    connectors: int = CONNECTORS
    workers: int = WORKERS
    exactly_once: bool = False
    bound: float = 60.0
    most: float = MOST


def run(
    soak: Soak, bootstrap: str, folder: Path, say: Callable[[str], None], broker: FaultyBroker | None = None
) -> Outcome:
    """Run a soak. ``broker`` is needed for faults of the broker; ``bootstrap`` bypasses its proxy."""
    topic = Kafka(bootstrap).create_topic(f"beats-{uuid.uuid4().hex[:8]}")
    names = [f"soak-{number:02d}" for number in range(soak.connectors)]
    support = "enabled" if soak.exactly_once else "disabled"
    clock, through = Clock(), bootstrap if broker is None else broker.proxied
    with (
        Cluster(through, folder, soak.workers, exactly__once__source__support=support) as cluster,
        BeatReader(bootstrap, topic) as reader,
        closing(Origins(cluster, bootstrap, folder, soak.plan, soak.exactly_once)) as origins,
    ):
        operators = [Operator(cluster, names[i::OPERATORS], topic, soak.pace) for i in range(OPERATORS)]
        counters = Counters(cluster, bootstrap, soak.exactly_once)
        faults = Faults(cluster, broker, (), cluster.workers[:1], origins.hit)
        looks = folder / "resources.jsonl"
        course = _Course(cluster, reader, operators, counters, origins, soak.connectors, faults, say, looks)
        course.begin()
        course.inflict_all(soak.plan)
        course.end(soak.most)
        say("stopping")
        of_origins = origins.judge()
    judged = counters.judge(course.watched, faults, soak.bound)
    figures = {
        "seed": str(soak.plan.seed),
        "exactly once": "on" if soak.exactly_once else "off",
        "duration": f"{clock.seconds:.0f} s",
        **course.figures,
        **judged.figures,
        **of_origins.figures,
    }
    violations = [*course.violations, *judged.violations, *of_origins.violations, *cluster.survivors]
    if soak.kept is not None:
        result = SoakRun(
            seed=soak.plan.seed,
            exactly_once=soak.exactly_once,
            seconds=round(clock.seconds),
            faults=dict(faults.counts),
            numbers=counters.sent,
            lost=counters.lost,
            doubled=counters.doubled,
            stops=origins.stops,
            violations=violations,
        )
        add(soak.kept, result)
    return Outcome(figures, violations)


@dataclass(slots=True)
class _Course:
    """One soak, step by step."""

    cluster: Cluster
    reader: BeatReader
    operators: list[Operator]
    counters: Counters
    origins: Origins
    connectors: int
    faults: Faults
    say: Callable[[str], None]
    looks: Path
    """File to which the processes' use of resources is written."""
    watched: Span = (0.0, 0.0)
    """Time from the first fault until the counters counted again after the last."""
    counted: str = ""
    """Summary of the number of faults of each kind."""
    failures: list[str] = field(default_factory=list)
    lives: list[Life] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def begin(self) -> None:
        """Create all connectors, and wait until they run, before anything is changed or killed."""
        for operator in self.operators:
            operator.create_all()
        wrong, seconds = self._settle(self._wanted())
        self.violations += [f"at the start: {sentence}" for sentence in wrong]
        self.counters.begin()
        self.origins.begin()
        self.say(f"{len(self.cluster.workers)} workers run {self.connectors} connectors after {seconds:.1f} s")

    def inflict_all(self, plan: Plan) -> None:
        """Inject all faults; return when the last is over, no more changes are requested, and the counters count
        again.
        """
        begun = time.time()
        watch, resources = FailureWatch(self.cluster), Resources(self.cluster.workers, self.looks)
        resources.start()
        watch.start()
        for operator in self.operators:
            operator.start()
        try:
            self.counted = self.faults.inflict_all(plan, self._say)
        finally:
            for operator in self.operators:
                operator.stop()
            self.failures = [each for each in watch.stop() if not self.origins.expected(each)]
            self.lives = resources.stop()
        self.violations += self.counters.wait_for_progress()
        self.violations += self.origins.end()
        self.watched = (begun, time.time())
        self.violations += [str(operator.failure) for operator in self.operators if operator.failure]

    def _say(self, text: str) -> None:
        done = sum(operator.done.total() for operator in self.operators)
        with self.reader.lock:
            beats, runs = self.reader.runs.count, self.reader.runs.total()
        self.say(f"{text}; {done} requests, {beats:,} heartbeats of {runs:,} runs")

    def end(self, most: float) -> None:
        """Check that everything is in its last requested state, which tasks work, and which processes have grown."""
        self.say("no more requests, no more faults")
        clock, wanted = Clock(), self._wanted()
        while True:
            wrong, _ = self._settle(wanted)
            seconds = clock.seconds
            amiss = self._watch(wanted)
            # A killed worker's tasks are shown as running until the group has noticed: then the soak has not settled
            # yet.
            if not amiss or clock.seconds > TO_SETTLE:
                break
        self.cluster.watch_doomed()
        for name in wanted:
            self.cluster.request("DELETE", f"/connectors/{name}")
        self.counters.end()
        mishaps = self.cluster.mishaps()
        with self.reader.lock:
            runs, twice = self.reader.runs, self.reader.runs.twice()
        done = sum((operator.done for operator in self.operators), Counter[str]())
        states = Counter(one.state.lower() for one in wanted.values()) + Counter(deleted=self.connectors - len(wanted))
        grown = growth(self.lives, most)
        self.violations += [*wrong, *amiss, *twice, *self.failures, *mishaps, *grown]
        self.figures = {
            "faults": self.counted,
            "requests": _listed(done),
            "requests repeated": self.cluster.retries,
            "connectors at the end": _listed(states),
            "in the last requested state": "no" if wrong or amiss else f"after {seconds:.1f} s",
            "heartbeats": runs.count,
            "tasks seen": len(runs.of),
            "runs of tasks": runs.total(),
            "tasks that ran twice": len(twice),
            "tasks that failed": len(self.failures),
            "missing or surplus tasks": len(amiss),
            "processes that outlived a worker": len(self.cluster.survivors),
            "events not handled": len(mishaps),
            **described(self.lives),
        }

    def _settle(self, wanted: dict[str, Wanted]) -> tuple[list[str], float]:
        """Return the remaining differences from the requested state, and the seconds until the result was final."""
        clock = Clock()
        while True:
            apart = {*self.counters.topics, *self.origins.names}
            wrong = [each for worker in self.cluster.workers for each in differences(worker, wanted, apart)]
            if not wrong or clock.seconds > TO_SETTLE:
                return wrong, clock.seconds
            time.sleep(0.5)

    def _watch(self, wanted: dict[str, Wanted]) -> list[str]:
        since = milliseconds()
        time.sleep(LAST_WATCH)
        with self.reader.lock:
            return beats_amiss(self.reader.runs, since, wanted)

    def _wanted(self) -> dict[str, Wanted]:
        return {name: one for operator in self.operators for name, one in operator.wanted.items()}


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
