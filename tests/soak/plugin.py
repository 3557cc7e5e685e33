"""Two sources whose records reveal faults, for the soak and the kill test; a worker finds them by ``plugin.path``.

``Beats`` sends heartbeats, which show when each run of a task worked. ``Counting`` sends numbers, which show losses,
duplicates and wrong order.
"""

from __future__ import annotations

import json
import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Mapping
from typing import ClassVar

from penstock.api.connector import ExactlyOnceSupport, SourceConnector
from penstock.api.record import SourceRecord
from penstock.api.source import SourceTask

log = logging.getLogger(__name__)

__all__ = ["Beats", "Counting"]


class Paced(SourceTask):
    """Returns records every ``pace`` seconds."""

    pace: ClassVar[float] = 0.5

    def start(self, config: Mapping[str, str]) -> None:
        self._due = 0.0

    def poll(self) -> list[SourceRecord] | None:
        now = time.monotonic()
        if now < self._due:
            return None
        self._due = now + self.pace
        return self.records()

    def records(self) -> list[SourceRecord]:
        raise NotImplementedError

    def idle(self) -> float:
        return max(0.0, self._due - time.monotonic())


class BeatTask(Paced):
    """Sends heartbeats: who works (connector, task, run, process), with which revision of the configuration, and when.

    ``at`` is in milliseconds of the machine's monotonic clock, which its processes share. A run's first record has
    the time of its start.
    """

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._topic, self._place = config["topic"], {"task": config["task"]}
        self._beat = {key: config[key] for key in ("name", "task", "revision")} | {
            "run": uuid.uuid4().hex,
            "pid": os.getpid(),
            "at": int(time.monotonic() * 1000),
            "number": 0,
        }

    def records(self) -> list[SourceRecord]:
        beat, number = self._beat, self._beat["number"] + 1
        self._beat = {**beat, "number": number, "at": int(time.monotonic() * 1000)}
        return [
            SourceRecord(
                topic=self._topic,
                value=json.dumps(self._beat if number > 1 else beat),
                source_partition=self._place,
                source_offset={"number": number},
            )
        ]


class Beats(SourceConnector):
    """Has ``tasks.max`` tasks, which send heartbeats to ``topic``; ``revision`` is passed on."""

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return BeatTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._config, "task": str(task)} for task in range(max_tasks)]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED


class CountingTask(Paced):
    """Counts on from the committed offset in each of its source partitions; a record is two numbers:
    ``<source partition> <number>``.
    """

    pace = 0.05

    def start(self, config: Mapping[str, str]) -> None:
        super().start(config)
        self._topic, self._topic_partitions = config["topic"], int(config["topic.partitions"])
        if loud := float(config.get("loud.seconds", "0")):
            threading.Thread(target=_print, args=(time.monotonic() + loud,), daemon=True).start()
        self._next = {}
        for source in map(int, config["sources"].split(",")):
            offset = self.context.offset_reader.offset({"source": source})
            self._next[source] = offset["next"] if offset else 0

    def records(self) -> list[SourceRecord]:
        found = []
        for source, first in self._next.items():
            self._next[source] = first + random.randrange(30)
            found += [self._record(source, number) for number in range(first, self._next[source])]
        return found

    def _record(self, source: int, number: int) -> SourceRecord:
        return SourceRecord(
            topic=self._topic,
            partition=source % self._topic_partitions,
            value=f"{source} {number}",
            source_partition={"source": source},
            source_offset={"next": number + 1},
        )


def _print(until: float) -> None:
    """Print and log as many lines as possible."""
    while time.monotonic() < until:
        for number in range(100):
            print(f"a line of a plugin that prints without end, number {number}", flush=True)
            log.warning("A line of a plugin that logs without end, number %d", number)


class Counting(SourceConnector):
    """Divides ``source.partitions`` among the tasks; each is sent to one of ``topic.partitions`` of ``topic``."""

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return CountingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        sources = range(int(self._config["source.partitions"]))
        dealt = [sources[task::max_tasks] for task in range(max_tasks)]
        return [{**self._config, "sources": ",".join(map(str, each))} for each in dealt if each]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        return ExactlyOnceSupport.SUPPORTED
