"""Two connectors that count: their numbers must arrive in Kafka once and in order, whatever happens to their
tasks.

A test calls ``begin``, injects its faults, and calls ``wait_for_progress``, ``end`` and ``judge``. The connectors are
not restarted by REST unless the test's plan says so.
"""

from __future__ import annotations

import uuid

from faults.inflict import Faults
from faults.silences import Silence, Span, distribution, in_all, longest, silences
from soak.cluster import TO_SETTLE, Cluster, states, status
from soak.report import Outcome
from soak.tally import amiss, read, sending_times
from soak.victims import processes
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import PLAIN

BOUNDARIES = ("poll", "interval")
"""Transaction boundaries of the connectors, one each, so that transactions are short and long."""
TASKS = 3
SOURCES = 6
TOPIC_PARTITIONS = 3


class Counters:
    """The counters. ``topics``: by connector. ``sent``, ``lost`` and ``doubled``: counts found by ``judge``."""

    def __init__(self, cluster: Cluster, bootstrap: str, exactly_once: bool) -> None:
        """``bootstrap`` leads to the broker directly, past the proxy that faults affect."""
        kafka = Kafka(bootstrap)
        self.topics = {
            f"counting-{boundary}": kafka.create_topic(f"numbers-{uuid.uuid4().hex[:8]}", partitions=TOPIC_PARTITIONS)
            for boundary in BOUNDARIES
        }
        self._cluster, self._bootstrap, self._exactly_once = cluster, bootstrap, exactly_once
        self._ends: dict[str, dict[int, int]] = {}
        self.sent = self.lost = self.doubled = 0

    def begin(self) -> None:
        """Create the connectors, and return when all tasks run."""
        for name, topic in self.topics.items():
            self._cluster.request("PUT", f"/connectors/{name}/config", _config(name, topic))
        until(self._all_run, "all tasks running", TO_SETTLE)

    def wait_for_progress(self) -> list[str]:
        """Describe connectors that do not run again, or count no more, after the last fault."""
        before = {name: self._committed(name) for name in self.topics}
        try:
            until(self._all_run, "all tasks running again", TO_SETTLE)
            until(lambda: all(self._progresses(name, before[name]) for name in before), "progress of all", TO_SETTLE)
        except AssertionError as error:
            return [str(error), *(f"{name}: {status(self._cluster, name)}" for name in self.topics)]
        return []

    def end(self) -> None:
        """Stop the counters: all numbers before the committed ones must have arrived. No other tasks may exist."""
        for name in self.topics:
            self._cluster.request("PUT", f"/connectors/{name}/stop")
        until(lambda: all(states(self._cluster, name) == ["STOPPED"] for name in self.topics), "the stop", TO_SETTLE)
        # For tasks of another worker, the leader knows only that they are to stop.
        until(lambda: not processes(self._cluster, "task"), "the end of the tasks", TO_SETTLE)
        self._ends = {name: self._committed(name) for name in self.topics}

    def judge(self, watched: Span, faults: Faults, bound: float) -> Outcome:
        """Judge the numbers. Called after ``end``. ``watched``: the time from the first fault until everything ran
        after the last, in seconds of ``time.time``; ``bound``: seconds for which a counter that could run may be silent
        after a fault.
        """
        tallies = {name: read(self._bootstrap, topic) for name, topic in self.topics.items()}
        wrong = [
            f"{name}, {each}"
            for name in self.topics
            for each in amiss(tallies[name], self._ends[name], self._exactly_once)
        ]
        quiet = self._silences(watched, faults)
        wrong += [each.sentence() for each in quiet if each.length > bound]
        every = [tally for by_source in tallies.values() for tally in by_source.values()]
        self.sent = sum(len(tally.counts) for tally in every)
        self.lost = sum(tally.missing for tally in every)
        self.doubled = sum(tally.repeated for tally in every)
        figures: dict[str, object] = {
            "longest silence after a fault": distribution(longest(quiet, len(faults.begun))),
            "the same, summed over outages of the broker": in_all(quiet),
            "numbers sent": self.sent,
            "numbers lost": self.lost,
            "duplicate numbers": self.doubled,
            "places out of order": sum(tally.disordered for tally in every),
        }
        return Outcome(figures, wrong)

    def _silences(self, watched: Span, faults: Faults) -> list[Silence]:
        sent = {
            f"source partition {source} of {name}": times
            for name, topic in self.topics.items()
            for source, times in sending_times(self._bootstrap, topic).items()
        }
        return silences(sent, watched, faults.begun, faults.away)

    def _all_run(self) -> bool:
        return all(states(self._cluster, name) == ["RUNNING"] * (TASKS + 1) for name in self.topics)

    def _committed(self, name: str) -> dict[int, int]:
        """Return the number with which each source partition goes on."""
        offsets = self._cluster.request("GET", f"/connectors/{name}/offsets").json()["offsets"]
        return {each["partition"]["source"]: each["offset"]["next"] for each in offsets}

    def _progresses(self, name: str, before: dict[int, int]) -> bool:
        now = self._committed(name)
        return len(now) == SOURCES and all(end > before.get(source, 0) for source, end in now.items())


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
