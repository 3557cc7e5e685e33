"""Operators that create, change, pause, restart and delete connectors without end, and the expected final state."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from soak.beats import Runs
from soak.cluster import Cluster
from support.worker_process import PLAIN, WorkerProcess

MOST_TASKS = 2


@dataclass(slots=True)
class Wanted:
    """The last requested state of a connector."""

    config: dict[str, str]
    state: str = "RUNNING"

    @property
    def tasks(self) -> int | None:
        """Required number of tasks, or None: a paused connector is asked for new tasks only when it is resumed."""
        match self.state:
            case "STOPPED":
                return 0
            case "PAUSED":
                return None
        return int(self.config["tasks.max"])


class Operator:
    """Changes its own connectors one after the other, on its own thread.

    Only a change that a worker has confirmed counts as requested. The first connector is left alone once it has been
    created: its tasks live long, so that their use of resources can be observed.
    """

    def __init__(self, cluster: Cluster, names: Sequence[str], topic: str, pace: float) -> None:
        self.wanted: dict[str, Wanted] = {}
        self.done: Counter[str] = Counter()
        self.failure: BaseException | None = None
        """The exception that ended the operator early."""
        self._cluster, self._names, self._topic, self._pace = cluster, names, topic, pace
        self._ended = threading.Event()
        self._revision = 0
        self._thread = threading.Thread(target=self._work, name="operator")

    def create_all(self) -> None:
        """Create all connectors. Called once, before ``start``."""
        for name in self._names:
            self._create(name)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stop, and return when the last request has been carried out."""
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        try:
            while not self._ended.wait(random.uniform(0, 2 * self._pace)):
                name = random.choice(self._names[1:])
                if name not in self.wanted:
                    self._create(name)
                    continue
                match random.choice(("change", "change", "pause", "resume", "stop", "restart", "delete")):
                    case "change":
                        self._configure(name)
                        self.done["changed"] += 1
                    case "restart":
                        self._cluster.request("POST", f"/connectors/{name}/restart?includeTasks=true")
                        self.done["restarted"] += 1
                    case "delete":
                        self._cluster.request("DELETE", f"/connectors/{name}")
                        del self.wanted[name]
                        self.done["deleted"] += 1
                    case verb:
                        self._steer(name, verb)
        except BaseException as error:
            self.failure = error

    def _create(self, name: str) -> None:
        self._configure(name)
        self.done["created"] += 1

    def _configure(self, name: str) -> None:
        self._revision += 1
        config = {
            **PLAIN,
            "name": name,
            "connector.class": "plugin.Beats",
            "topic": self._topic,
            "tasks.max": str(random.randint(1, MOST_TASKS)),
            "revision": f"{name}/{self._revision}",
        }
        self._cluster.request("PUT", f"/connectors/{name}/config", config)
        self.wanted.setdefault(name, Wanted(config)).config = config

    def _steer(self, name: str, verb: str) -> None:
        self._cluster.request("PUT", f"/connectors/{name}/{verb}")
        states = {"pause": ("PAUSED", "paused"), "resume": ("RUNNING", "resumed"), "stop": ("STOPPED", "stopped")}
        self.wanted[name].state, told = states[verb]
        self.done[told] += 1


def differences(worker: WorkerProcess, wanted: Mapping[str, Wanted], apart: Collection[str] = ()) -> list[str]:
    """Describe the differences between this worker's answers and the last requested state, except for connectors that
    stand ``apart``.
    """
    found: dict[str, Any] = worker.get("/connectors?expand=info&expand=status")
    found = {name: one for name, one in found.items() if name not in apart}
    at = f"says {worker.http.base_url}"
    wrong = [f"{name} is missing, {at}" for name in sorted(wanted.keys() - found.keys())]
    wrong += [f"{name} exists although it was deleted, {at}" for name in sorted(found.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & found.keys()):
        asked, info, status = wanted[name], found[name]["info"], found[name]["status"]
        if info["config"] != asked.config:
            wrong.append(f"the configuration of {name} is {info['config']}, not {asked.config}, {at}")
        states = [status["connector"]["state"], *(task["state"] for task in status["tasks"])]
        if set(states) != {asked.state} or asked.tasks not in (None, len(states) - 1):
            tasks = "" if asked.tasks is None else f" with {asked.tasks} tasks"
            wrong.append(f"{name}{tasks} should be {asked.state}, but it is {states}, {at}")
    return wrong


def beats_amiss(runs: Runs, since: int, wanted: Mapping[str, Wanted]) -> list[str]:
    """Describe tasks that should work but have sent no heartbeat after this time, and tasks that have but should
    not.
    """
    late = runs.since(since)
    due = {
        (name, task): asked.config["revision"]
        for name, asked in wanted.items()
        if asked.state == "RUNNING"
        for task in range(asked.tasks or 0)
    }
    wrong = [f"task {name}-{task} is missing: no heartbeat" for name, task in sorted(due.keys() - late.keys())]
    wrong += [f"task {name}-{task} runs, but should not" for name, task in sorted(late.keys() - due.keys())]
    for name, task in sorted(due.keys() & late.keys()):
        revisions = [run.revision for run in late[name, task]]
        if revisions != [due[name, task]]:
            wrong.append(f"task {name}-{task} runs with {revisions}, not with {due[name, task]}")
    return wrong


def milliseconds() -> int:
    return int(time.monotonic() * 1000)
