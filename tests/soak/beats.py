"""Analysis of heartbeats: the times at which each run of a task worked, and whether two of them did at once.

A run works from its start to its last heartbeat, by the clock of the machine, not by that of the topic. A task ran
twice if a run was started before an earlier one of the same task, in whatever worker or process, sent its last
heartbeat.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

Task = tuple[str, int]


@dataclass(slots=True)
class Run:
    """A run; its times are milliseconds of the machine's monotonic clock."""

    id: str
    pid: int
    revision: str
    first: int
    last: int


@dataclass(slots=True)
class Runs:
    """All runs of all tasks, by their heartbeats."""

    count: int = 0
    of: dict[Task, dict[str, Run]] = field(default_factory=dict)

    def add(self, beat: dict[str, Any]) -> None:
        runs = self.of.setdefault((beat["name"], int(beat["task"])), {})
        run = runs.setdefault(beat["run"], Run(beat["run"], beat["pid"], beat["revision"], beat["at"], beat["at"]))
        run.first, run.last = min(run.first, beat["at"]), max(run.last, beat["at"])
        self.count += 1

    def twice(self) -> list[str]:
        """Describe each pair of a task's runs that worked at the same time."""
        return [sentence for task, runs in self.of.items() for sentence in _overlaps(task, runs.values())]

    def since(self, at: int) -> dict[Task, list[Run]]:
        """Return the runs with a heartbeat after this time."""
        late = {task: [run for run in runs.values() if run.last > at] for task, runs in self.of.items()}
        return {task: runs for task, runs in late.items() if runs}

    def total(self) -> int:
        return sum(map(len, self.of.values()))


def _overlaps(task: Task, runs: Iterable[Run]) -> list[str]:
    found, longest = [], None
    for before, after in pairwise(sorted(runs, key=lambda run: run.first)):
        longest = before if longest is None or before.last > longest.last else longest
        if after.first < longest.last:
            found.append(
                f"task {task[0]}-{task[1]} ran twice for {min(longest.last, after.last) - after.first} ms: run "
                f"{after.id} (process {after.pid}) was started at {after.first}, run {longest.id} (process "
                f"{longest.pid}) was at work from {longest.first} to {longest.last}"
            )
    return found


class BeatReader:
    """Reads a topic of heartbeats while it is written, uncommitted ones too: they show that a task worked."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.runs = Runs()
        self.lock = threading.Lock()
        """Lock held while ``runs`` is changed."""
        self._ended = threading.Event()
        self._settings = {
            "bootstrap.servers": bootstrap,
            "group.id": "beats",  # never joined: after a rebalance everything would be read from the start
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
        }
        self._topic = topic
        self._thread = threading.Thread(target=self._read, name="beats")

    def __enter__(self) -> BeatReader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _read(self) -> None:
        consumer = Consumer(self._settings)
        consumer.assign([TopicPartition(self._topic, 0, OFFSET_BEGINNING)])
        while not self._ended.is_set():
            messages = consumer.consume(1000, 0.2)
            if fatal := [error for message in messages if (error := message.error()) is not None and error.fatal()]:
                raise KafkaException(fatal[0])
            # Other errors mean that the broker is unreachable; reading resumes at its position.
            beats = [json.loads(message.value()) for message in messages if message.error() is None]
            with self.lock:
                for beat in beats:
                    self.runs.add(beat)
        consumer.close()
