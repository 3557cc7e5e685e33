"""Take the probes' connectors through all states, many at once, and collect the calls that they log."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from confluent_kafka import Consumer

from calls.cells import INTERVAL, Cells, cells_of, read
from support.kafka.client import Kafka
from support.waiting import SECONDS, until

SETTLED = 2.4 * INTERVAL
"""Seconds to wait until only the present state decides which calls are made."""
LASTS = 6 * INTERVAL
WORKERS = ("distributed", "exactly once", "standalone")
SETTINGS = {"offset.flush.interval.ms": str(int(INTERVAL * 1000))}
BOUNDARIES = ("poll", "interval", "connector")
MODES: dict[str, tuple[str, str, dict[str, str]]] = {
    "source, at least once": ("source", "distributed", {}),
    "source, standalone": ("source", "standalone", {}),
    **{
        f"source, exactly once, boundary {boundary}": (
            "source",
            "exactly once",
            {"exactly.once.support": "required", "transaction.boundary": boundary},
        )
        for boundary in BOUNDARIES
    },
    "sink, distributed": ("sink", "distributed", {}),
    "sink, standalone": ("sink", "standalone", {}),
}
"""Modes by name: the kind of the connector, its worker, and its settings."""


@dataclass(slots=True)
class Subject:
    """A connector of the probes in one mode."""

    mode: str
    worker: httpx.Client
    classes: Mapping[str, str]
    """The classes of the probes: source, sink, converter, transform, predicate."""
    folder: Path
    topic: str
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return MODES[self.mode][0]

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def log(self) -> Path:
        return self.folder / "calls"

    def config(self) -> dict[str, str]:
        log = {"probe.log": str(self.log)}
        topic = {"topic": self.topic} if self.kind == "source" else {"topics": self.topic}
        parts = {
            "value.converter": self.classes["converter"],
            "transforms.t.type": self.classes["transform"],
            "transforms.t.predicate": "p",
            "predicates.p.type": self.classes["predicate"],
        }
        logs = {f"{part}.probe.log": str(self.log) for part in ("value.converter", "transforms.t", "predicates.p")}
        return {
            "connector.class": self.classes[self.kind],
            "tasks.max": "1",
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "transforms": "t",
            "predicates": "p",
            **log,
            **topic,
            **parts,
            **logs,
            **MODES[self.mode][2],
        }

    def order(self, state: str) -> None:
        """Tell the task what to do from its next poll or put on."""
        written = self.folder / "control.new"
        written.write_text(state)
        written.replace(self.folder / "control")

    def request(self, method: str, path: str, **options: Any) -> None:
        def answered() -> bool:
            """Return whether the worker answered; it does not while the group rebalances."""
            answer = self.worker.request(method, f"/connectors/{self.name}{path}", **options)
            assert answer.status_code < 300 or answer.status_code == 409, answer.text
            return answer.status_code != 409

        until(answered, f"{method} {path} of {self.name}")

    def status(self) -> dict[str, Any]:
        answer = self.worker.get(f"/connectors/{self.name}/status")
        return answer.json() if answer.status_code == 200 else {}

    def reaches(self, state: str, connector: str | None = None) -> None:
        def there() -> bool:
            status = self.status()
            if not status or status["connector"]["state"] != (connector or state):
                return False
            tasks = [task["state"] for task in status["tasks"]]
            return tasks == [] if state == "STOPPED" else tasks == [state]

        until(there, f"{self.name} ({self.mode}) is {state}", SECONDS)

    def cells(self) -> Cells:
        return cells_of(read(self.log), self.kind, self.spans)


def observe(subjects: Sequence[Subject], kafka: Kafka) -> None:
    """Take all subjects through the states at once, and note when each was in which state."""
    sinks = [subject for subject in subjects if subject.kind == "sink"]
    with ThreadPoolExecutor(max(len(subjects), 1)) as pool:

        def each(do: Callable[[Subject], object]) -> None:
            for done in [pool.submit(do, subject) for subject in subjects]:
                done.result()

        def lasting(state: str, order: str | None = None) -> None:
            if order is not None:
                for subject in subjects:
                    subject.order(order)
            _wait(SETTLED, sinks, kafka, order)
            begin = time.time()
            _wait(LASTS, sinks, kafka, order)
            for subject in subjects:
                subject.spans[state] = (begin, time.time())

        each(_start)
        for state in ("busy", "idle", "filtering", "retrying"):
            lasting(state, state)
        lasting("resting", "idle")
        each(lambda subject: _turn(subject, "pause", "PAUSED", "pausing"))
        lasting("paused")
        each(lambda subject: _turn(subject, "resume", "RUNNING", "resuming"))
        each(_rebalance)
        each(_stop)
        each(_fail)
        for subject in subjects:
            del subject.spans["resting"]
        each(lambda subject: subject.request("DELETE", ""))
    for subject in subjects:
        (subject.folder / "spans.json").write_text(json.dumps([subject.mode, subject.spans]))


def _wait(seconds: float, sinks: Sequence[Subject], kafka: Kafka, order: str | None) -> None:
    """Wait; meanwhile produce records for the sinks if a task needs some to carry out the order."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        if order in ("busy", "filtering", "retrying"):
            for subject in sinks:
                kafka.produce(subject.topic, [order] * 3)
        time.sleep(min(0.05, max(left, 0)))


def _calls(subject: Subject, part: str, *methods: str) -> int:
    return sum(call.part == part and call.method in methods for call in read(subject.log))


def _start(subject: Subject) -> None:
    begin = time.time()
    subject.request("PUT", "/config", json=subject.config())
    subject.reaches("RUNNING")
    first = ("open",) if subject.kind == "sink" else ("poll without records",)
    until(lambda: _calls(subject, "task", *first), f"the first call of {subject.name}", SECONDS)
    subject.spans["starting"] = (begin, time.time())


def _turn(subject: Subject, request: str, reached: str, state: str) -> None:
    begin = time.time()
    subject.request("PUT", f"/{request}")
    subject.reaches(reached)
    time.sleep(SETTLED)
    subject.spans[state] = (begin, time.time())


def _rebalance(subject: Subject) -> None:
    """Have another member join a sink's group and leave it again."""
    if subject.kind == "source":
        return
    begin = time.time()
    joined: list[Any] = []
    settings = {"bootstrap.servers": str(subject.worker.headers["bootstrap"]), "group.id": f"connect-{subject.name}"}
    guest = Consumer({**settings, "partition.assignment.strategy": "range", "heartbeat.interval.ms": 300})
    guest.subscribe([subject.topic], on_assign=lambda _, partitions: joined.extend(partitions))
    try:
        until(lambda: guest.poll(0.1) is None and joined, f"the guest of {subject.name}", SECONDS)
    finally:
        guest.close()
    until(lambda: _calls(subject, "task", "open") >= 3, f"{subject.name} has all its partitions again", SECONDS)
    time.sleep(SETTLED)
    subject.spans["rebalancing"] = (begin, time.time())


def _stop(subject: Subject) -> None:
    begin = time.time()
    subject.request("PUT", "/stop")
    subject.reaches("STOPPED")
    until(lambda: _calls(subject, "task", "stop"), f"the stop of {subject.name}", SECONDS)
    time.sleep(SETTLED)
    subject.spans["stopping"] = (begin, time.time())


def _fail(subject: Subject) -> None:
    seen = _calls(subject, "task", "poll that raises", "put that raises")
    subject.request("PUT", "/resume")
    subject.reaches("RUNNING")
    begin = time.time()
    subject.order("failing")
    if subject.kind == "sink":
        Kafka(str(subject.worker.headers["bootstrap"])).produce(subject.topic, ["failing"] * 3)
    until(
        lambda: _calls(subject, "task", "poll that raises", "put that raises") > seen, f"{subject.name} fails", SECONDS
    )
    subject.reaches("FAILED", "RUNNING")
    time.sleep(SETTLED)
    subject.spans["failing"] = (begin, time.time())
