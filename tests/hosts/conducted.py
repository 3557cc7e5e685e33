"""Sinks and sources of the test plugin that does what its configuration says (``java/conduct``), and the files that
they write.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts.plugins import plugin_path
from penstock.core.model.skips import Skip
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from penstock.hosts.jvm.tasks.source_task import JavaSourceTask
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun
from support.worker_process import QUICK_JAVA

CONDUCT = {"connector.class": "penstock.tests.ConductSink", "task.class": "penstock.tests.ConductSinkTask"}
SOURCE = {"connector.class": "penstock.tests.ConductSource", "task.class": "penstock.tests.ConductSourceTask"}
ONE_JVM = {"penstock.java.process": "worker", "penstock.java.opts": QUICK_JAVA}
"""Settings that put all tasks of these tests into one JVM, which saves the time of its start."""


class Sinks:
    """Runs the sink of these tests; ``written`` and ``journal`` read its output and its log of calls."""

    def __init__(self, bootstrap: str, folder: Path, path: str) -> None:
        self._bootstrap, self.folder, self._path = bootstrap, folder, path

    def run(
        self,
        topic: str,
        worker: dict[str, str] | None = None,
        task: type[JavaSinkTask] = JavaSinkTask,
        skips: tuple[Skip, ...] = (),
        **config: str,
    ) -> TaskRun:
        own = {key.replace("__", "."): value for key, value in config.items()}
        files = {"file": str(self.folder / "written"), "journal": str(self.folder / "journal")}
        settings = {**ONE_JVM, **(worker or {})}
        config = {**CONDUCT, **files, "topics": topic, **own}
        return TaskRun(task, self._bootstrap, config, settings, plugin_path=(self._path,), skips=skips)

    @property
    def written(self) -> list[str]:
        return self._lines("written")

    @property
    def journal(self) -> list[str]:
        return self._lines("journal")

    def calls(self, name: str) -> list[str]:
        """Return the details of this method's calls from the journal."""
        return [line[len(name) :].strip() for line in self.journal if line.split(" ")[0] == name]

    def _lines(self, name: str) -> list[str]:
        file = self.folder / name
        return file.read_text().splitlines() if file.exists() else []


def values(lines: list[str]) -> list[str]:
    """Return the value of each line, without the topic, partition and offset before it."""
    return [line.split(" ", 1)[1] for line in lines]


@dataclass
class Conducted:
    """Runs a source that does what its configuration says and logs each call."""

    bootstrap: str
    topic: str
    folder: Path

    def __call__(
        self, config: dict[str, str], worker: dict[str, str] | None = None, task: Any = JavaSourceTask, **spec: Any
    ) -> TaskRun:
        own = {**SOURCE, "topic": self.topic, "task": "0", "journal": str(self.folder / "journal"), **config}
        path = plugin_path(self.folder / "plugins", "conduct")
        worker = {"penstock.java.opts": f"{QUICK_JAVA} -Xmx128m", **(worker or {})}
        return TaskRun(task, self.bootstrap, own, worker, plugin_path=(path,), **spec)

    def calls(self, place: str) -> list[str]:
        journal = self.folder / "journal"
        lines = journal.read_text().splitlines() if journal.exists() else []
        return [line.partition(" ")[2] for line in lines if line.partition(" ")[0] == place]


def stored(kafka: Kafka, topic: str) -> list[tuple[bytes | None, bytes | None]]:
    return [(r.key, r.value) for r in kafka.read_all(topic)]
