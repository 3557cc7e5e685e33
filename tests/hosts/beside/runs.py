"""Connectors that run in both workers at once, and comparisons of their behaviour."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hosts.beside.cases import SINK, Config
from hosts.beside.conftest import Pair
from support.waiting import until
from support.worker_process import WorkerProcess

SECONDS = 900


def config(kind: str, topic: str, folder: Path, worker: WorkerProcess, own: Config) -> Config:
    named = {"topics": topic} if kind == SINK else {"topic": f"{topic}-{worker.name}"}
    return {
        "connector.class": kind,
        "tasks.max": "1",
        "journal": str(folder / f"journal-{worker.name}"),
        **named,
        **own,
    }


def name(case: str, worker: WorkerProcess) -> str:
    return f"{case.replace(' ', '-')}-{worker.name}"


def alike(worker: WorkerProcess, text: str) -> str:
    return text.replace(worker.name, "WORKER")


def head(trace: str) -> list[str]:
    """Return the trace's exceptions and the plugin's frames."""
    own = re.compile(r"\tat (app//)?penstock\.tests\.")
    return [line for line in trace.splitlines() if not line.startswith("\t") or own.match(line)]


def told(worker: WorkerProcess, connector: str) -> dict[str, Any]:
    """Return the states of the connector and its tasks, with their traces."""
    status = json.loads(alike(worker, worker.http.get(f"/connectors/{connector}/status").text))
    parts = {"connector": status["connector"], **{f"task {each['id']}": each for each in status["tasks"]}}
    return {part: (found["state"], *head(found.get("trace", ""))) for part, found in parts.items()}


def calls(folder: Path, worker: WorkerProcess) -> list[str]:
    """Return the methods in the order of their first calls, periodic ones last, without validations and puts of no
    records.
    """
    journal = folder / f"journal-{worker.name}"
    names = [line.split(" ")[0] for line in journal.read_text().splitlines()] if journal.exists() else []
    found = [each for each in dict.fromkeys(names) if each not in ("validate", "configs", "put.nothing")]
    return sorted(found, key=lambda each: each in ("commit", "flush"))


def compare(pair: Pair, look: Callable[[WorkerProcess], Any]) -> None:
    """Assert that the views of both workers become equal: the effects of a request take a moment."""
    with suppress(AssertionError):
        until(lambda: look(pair.ours) == look(pair.java), "", SECONDS)
    assert look(pair.ours) == look(pair.java)


Seen = dict[str, Any]
"""Views of a worker's connectors, by case."""


@dataclass(frozen=True, slots=True)
class Runs:
    """A connector of each case in both workers; each has a folder of its own."""

    pair: Pair
    folder: Path
    cases: list[str]

    def start(self, topic: str, kind_of: Callable[[str], tuple[str, Config]]) -> None:
        for case in self.cases:
            (self.folder / case).mkdir()
            kind, own = kind_of(case)
            for worker in self.pair.both:
                worker.put(name(case, worker), **config(kind, topic, self.folder / case, worker, own))

    def wait(self, what: str, seen: Callable[[str, WorkerProcess], Any]) -> None:
        """Wait until ``seen`` is true of each case, or the time is over: the tests of the missing cases then fail."""

        def missing() -> list[str]:
            return [f"{case} in {each.name}" for each in self.pair.both for case in self.cases if not seen(case, each)]

        with suppress(AssertionError):
            until(lambda: not missing(), what, SECONDS)

    def soon(self, look: Callable[[str, WorkerProcess], Any], apart: Collection[str] = ()) -> tuple[Seen, Seen]:
        """Return the views of our worker and of Java's once they are equal: the effects of a request take a moment.
        ``apart``: cases that never become equal.
        """

        def seen(worker: WorkerProcess) -> Seen:
            return {case: look(case, worker) for case in self.cases}

        def equal() -> bool:
            ours, java = seen(self.pair.ours), seen(self.pair.java)
            return all(ours[case] == java[case] for case in self.cases if case not in apart)

        with suppress(AssertionError):
            until(equal, "both alike", SECONDS)
        return seen(self.pair.ours), seen(self.pair.java)

    def delete(self) -> None:
        for case in self.cases:
            for worker in self.pair.both:
                assert worker.http.delete(f"/connectors/{name(case, worker)}").status_code == 204

    def states(self, case: str, worker: WorkerProcess) -> Any:
        return told(worker, name(case, worker))

    def calls(self, case: str, worker: WorkerProcess) -> list[str]:
        return calls(self.folder / case, worker)
