"""Workers of Java Connect 4.4 and of Penstock in one group, with a source that is exactly once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from hosts.plugins import plugin_path
from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import jars
from penstock.hosts.jvm.build import KAFKA
from support.java_worker import NewerJavaWorker
from support.kafka.client import Kafka
from support.machine import missing
from support.waiting import until
from support.worker_process import PLAIN, WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PATIENCE = 900.0
TASKS = 2
QUICK = {"scheduled.rebalance.max.delay.ms": "500", "session.timeout.ms": "10000"}
"""Other workers take over the work of one that has been killed without the five minutes of the first delay."""


class Group:
    """Workers of one group, and a source each of whose tasks sends the numbers from 0 on to one topic."""

    def __init__(self, bootstrap: str, kafka: Kafka, folder: Path, running: ExitStack) -> None:
        try:
            plugins = plugin_path(folder / "plugins", "conduct", compiled_against=jars("connect-4.4"))
        except EmbeddedError as error:
            missing(f"no jars for this test: {error}")
        self._bootstrap, self._kafka, self._folder, self._running = bootstrap, kafka, folder, running
        self.topic = kafka.create_topic(partitions=2)
        first = NewerJavaWorker(bootstrap, folder, **PLAIN, **QUICK, **{"plugin.path": plugins})
        self._settings = {key: value for key, value in first.settings.items() if key != "listeners"}
        self.connector = f"{first.name}-numbers"
        self._records = 0

    def java(self) -> WorkerProcess:
        return self._start(NewerJavaWorker(self._bootstrap, self._folder, **self._settings))

    def ours(self) -> WorkerProcess:
        return self._start(WorkerProcess(self._bootstrap, self._folder, **self._settings, **{KAFKA: "4.4"}))

    def _start(self, worker: WorkerProcess) -> WorkerProcess:
        self._running.callback(lambda: worker.process and worker.kill())
        return worker.start().ready()

    def more(self, worker: WorkerProcess) -> None:
        """Have each task send further numbers, by a request to this worker."""
        self._records += 5000
        config = {
            "connector.class": "penstock.tests.ConductSource",
            "tasks.max": str(TASKS),
            "topic": self.topic,
            "records": str(self._records),
            "exactly.once.support": "required",
        }
        until(lambda: self._put(worker, config), f"that {self.connector} is configured", PATIENCE)

    def _put(self, worker: WorkerProcess, config: dict[str, str]) -> bool:
        """Return whether the worker accepted the configuration: workers of both kinds answer 409 during a rebalance,
        and 500 while the leader that they know is gone.
        """
        answer = worker.http.put(f"/connectors/{self.connector}/config", json=config)
        gone = answer.status_code == 500 and "trying to forward REST request" in answer.text
        assert gone or answer.status_code in (200, 201, 409), answer.text
        return answer.status_code in (200, 201)

    def counted(self) -> Counter[int]:
        return Counter(int(value) for value in self._kafka.values(self.topic))

    def arrives(self, worker: WorkerProcess) -> None:
        """Wait until all numbers have been committed, and check that each task has sent each of them once."""
        until(
            lambda: len(self.counted()) == self._records and sum(self.counted().values()) >= TASKS * self._records,
            f"{self._records} numbers of {TASKS} tasks",
            PATIENCE,
        )
        assert self.counted() == dict.fromkeys(range(self._records), TASKS)
        ends = [{"partition": {"task": str(task)}, "offset": {"next": self._records}} for task in range(TASKS)]

        def offsets() -> bool:
            shown = worker.get(f"/connectors/{self.connector}/offsets")["offsets"]
            return sorted(shown, key=lambda each: each["partition"]["task"]) == ends

        until(offsets, f"offsets {ends}", PATIENCE)

    def spread(self, *workers: WorkerProcess) -> None:
        """Wait until the tasks run, as many on each of the workers."""

        def places() -> list[str]:
            status = workers[0].get(f"/connectors/{self.connector}/status")
            return sorted(task["worker_id"] for task in status["tasks"] if task["state"] == "RUNNING")

        expected = len(workers)
        until(lambda: len(places()) == TASKS and len(set(places())) == expected, f"{places()}", PATIENCE)


@pytest.fixture
def group(bootstrap: str, kafka: Kafka, tmp_path: Path) -> Iterator[Group]:
    with ExitStack() as running:
        yield Group(bootstrap, kafka, tmp_path, running)


def test_killed_workers_of_a_mixed_group_repeat_and_lose_nothing(group: Group) -> None:
    java = group.java()
    group.more(java)
    group.arrives(java)
    ours = group.ours()
    group.spread(java, ours)
    group.more(ours)
    group.arrives(java)
    group.more(ours)
    java.kill()
    group.arrives(ours)
    again = group.java()
    group.spread(ours, again)
    group.more(again)
    ours.kill()
    group.arrives(again)
    assert set(group.counted().values()) == {TASKS}
