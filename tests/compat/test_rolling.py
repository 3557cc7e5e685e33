"""Workers of Java and of Penstock in one group, with running connectors.

``docs/how-to/migrate.md`` is what happens here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.jars import require
from support.java_worker import JARS, JavaWorker
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PATIENCE = 900.0
KINDS = ("config", "offset", "status")
TAKES_OVER = {"scheduled.rebalance.max.delay.ms": "500", "task.shutdown.graceful.timeout.ms": "15000"}
"""After the first delay (five minutes by default) others take over the work of a worker that has left. A sink that did
not stop within the second one would not have committed what it wrote. Java's worker waits for all of it while a
source's task waits for the worker to admit it.
"""


class Migration:
    """Workers of one group, a source from a file to a topic, and a sink from there to a file."""

    def __init__(self, bootstrap: str, kafka: Kafka, folder: Path, running: ExitStack) -> None:
        self.bootstrap, self.kafka, self.folder, self._running = bootstrap, kafka, folder, running
        self.given, self.taken = folder / "in.txt", folder / "out.txt"
        self.topic = kafka.create_topic(partitions=3)
        first = JavaWorker(bootstrap, folder, **TAKES_OVER)
        self.settings = first.settings
        self.source, self.sink = f"{first.name}-in", f"{first.name}-out"
        self.lines: list[str] = []
        self.batch_size = 2000
        self._first: JavaWorker | None = first

    def java(self) -> WorkerProcess:
        first, self._first = self._first, None
        return first or JavaWorker(self.bootstrap, self.folder, **self.settings)

    def ours(self) -> WorkerProcess:
        return WorkerProcess(self.bootstrap, self.folder, **{**self.settings, "listeners": "http://127.0.0.1:0"})

    def start(self, *workers: WorkerProcess) -> list[WorkerProcess]:
        """Start the workers all at once; they stop with the test."""
        for worker in workers:
            self._running.callback(lambda worker=worker: worker.process and worker.kill())
        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda worker: worker.start().ready(), workers))

    def proceeds(self, *workers: WorkerProcess) -> None:
        """Check that the pipeline works on: through each worker the source gets another task configuration, which the
        leader has to accept from whichever worker runs the connector; then a line arrives, and none is lost or
        duplicated.
        """
        for worker in workers:
            self.batch_size += 1
            self.configure(worker)
            until(self._has_batch_size(worker), f"batch.size {self.batch_size}", PATIENCE)
        self.lines.append(f"line-{len(self.lines)}")
        with self.given.open("a") as file:
            file.write(self.lines[-1] + "\n")
        until(lambda: len(self.taken_lines()) >= len(self.lines), f"{self.lines}: {self.taken_lines()}", PATIENCE)
        worker = workers[-1]
        for name, tasks in ((self.source, 1), (self.sink, 2)):
            until(
                lambda name=name, tasks=tasks: worker.states(name) == ["RUNNING"] * (tasks + 1),
                f"{name} runs: {worker.states(name)}",
                PATIENCE,
            )
        size = self.given.stat().st_size
        at = [{"partition": {"filename": str(self.given)}, "offset": {"position": size}}]
        until(lambda: worker.get(f"/connectors/{self.source}/offsets")["offsets"] == at, f"offset {size}", PATIENCE)
        until(lambda: self._all_committed(worker), "that the sink has committed", PATIENCE)
        assert sorted(self.taken_lines()) == sorted(self.lines)

    def configure(self, worker: WorkerProcess) -> None:
        source = {"connector.class": "FileStreamSource", "file": str(self.given), "topic": self.topic}
        until(lambda: self._put(worker, self.source, **source, **{"batch.size": str(self.batch_size)}), "put", PATIENCE)

    @staticmethod
    def _put(worker: WorkerProcess, name: str, **config: str) -> bool:
        """Return whether the worker accepted the configuration: workers of both kinds answer 409 during a rebalance,
        and 500 while the leader that they know is gone.
        """
        answer = worker.http.put(f"/connectors/{name}/config", json={**PLAIN_STRINGS, **config})
        gone = answer.status_code == 500 and "trying to forward REST request" in answer.text
        assert gone or answer.status_code in (200, 201, 409), answer.text
        return answer.status_code in (200, 201)

    def _has_batch_size(self, worker: WorkerProcess) -> Any:
        def has() -> bool:
            answer = worker.http.get(f"/connectors/{self.source}/tasks")
            sizes = [task["config"]["batch.size"] for task in answer.json()] if answer.status_code == 200 else []
            return sizes == [str(self.batch_size)]

        return has

    def create_sink(self, worker: WorkerProcess) -> None:
        sink = {"connector.class": "FileStreamSink", "file": str(self.taken), "topics": self.topic, "tasks.max": "2"}
        until(lambda: self._put(worker, self.sink, **sink), "put", PATIENCE)

    def taken_lines(self) -> list[str]:
        return self.taken.read_text().split() if self.taken.exists() else []

    def _all_committed(self, worker: WorkerProcess) -> bool:
        shown = worker.get(f"/connectors/{self.sink}/offsets")["offsets"]
        at = {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in shown}
        return all(at.get(record.partition, 0) > record.offset for record in self.kafka.read_all(self.topic))

    def internal(self) -> dict[str, list[Any]]:
        """Return the records about connectors in the internal topics, except for statuses, which workers write
        again.
        """
        names = [self.settings[f"{kind}.storage.topic"] for kind in ("config", "offset")]
        return {
            name: [(r.key, r.value) for r in self.kafka.read_all(name) if b"session" not in r.key] for name in names
        }


PLAIN_STRINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
}


@pytest.fixture
def migration(bootstrap: str, kafka: Kafka, tmp_path: Path) -> Iterator[Migration]:
    require(JARS)
    with ExitStack() as running:
        yield Migration(bootstrap, kafka, tmp_path, running)


def test_workers_of_both_kinds_share_a_group(migration: Migration) -> None:
    java = migration.start(migration.java(), migration.java())
    migration.create_sink(java[0])
    migration.proceeds(*java)
    asked(migration, java[0])
    ours = migration.start(migration.ours(), migration.ours())
    migration.proceeds(java[0], java[1], *ours)
    java[0].stop()
    migration.proceeds(java[1], ours[0])
    java[1].stop()
    migration.proceeds(*ours)
    [back] = migration.start(migration.java())
    migration.proceeds(ours[1], back)
    ours[0].stop()
    migration.proceeds(back, ours[1])
    ours[1].stop()
    migration.proceeds(back)
    assert sorted(migration.taken_lines()) == sorted(migration.lines)


@pytest.mark.parametrize("protocol", ["eager", "compatible"])
def test_older_protocols_in_a_group_of_both_kinds(migration: Migration, protocol: str) -> None:
    migration.settings["connect.protocol"] = protocol
    [java] = migration.start(migration.java())
    migration.create_sink(java)
    [ours] = migration.start(migration.ours())
    migration.proceeds(java, ours)
    java.stop()
    migration.proceeds(ours)
    assert sorted(migration.taken_lines()) == sorted(migration.lines) == ["line-0", "line-1"]


def asked(migration: Migration, java: WorkerProcess) -> None:
    """Run ``penstock doctor`` on the running cluster: it reports that everything can run on Penstock, and writes
    nothing.
    """
    properties = migration.folder / "doctor.properties"
    properties.write_text("".join(f"{key}={value}\n" for key, value in migration.settings.items()))
    before = migration.internal()
    command = [sys.executable, "-m", "penstock.cli", "doctor", str(properties), "--output", "json"]
    done = subprocess.run([*command, "--url", java.settings["listeners"]], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    sections = {section["title"]: section for section in json.loads(done.stdout)}
    source, sink = sections[f"Connector {migration.source}"], sections[f"Connector {migration.sink}"]
    assert (source["verdict"], source["facts"]) == ("works", ["1 source partitions have an offset"])
    committed = rf"group `connect-{migration.sink}` has committed offsets of [123] partitions"
    assert (sink["verdict"], len(sink["facts"])) == ("works", 1)
    assert re.fullmatch(committed, sink["facts"][0]), sink["facts"]
    worker = sections[f"Worker, {properties}"]
    assert worker["verdict"] == "works", worker
    missing = [each["subject"] for each in sections["Plugins of the cluster"]["findings"] if each["verdict"] != "works"]
    assert missing == []
    facts = " ".join(sections["Kafka"]["facts"])
    assert all(migration.settings[f"{kind}.storage.topic"] in facts for kind in KINDS)
    assert migration.internal() == before
