"""A cluster changes hands with its connectors running: from Java to us, and back."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from hosts.plugins import plugin_path
from support.jars import require
from support.java_worker import JARS, JavaWorker
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PATIENCE = 900.0
KINDS = ("config", "offset", "status")


def lines(path: Path) -> list[str]:
    return path.read_text().split() if path.exists() else []


def test_a_cluster_goes_from_java_to_us_and_back(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    require(JARS)
    given, taken, topic = tmp_path / "in.txt", tmp_path / "out.txt", kafka.create_topic(partitions=3)
    given.write_text("one\n")
    # A sink that did not stop in time would not have committed what it wrote.
    java = JavaWorker(bootstrap, tmp_path, **{"task.shutdown.graceful.timeout.ms": "60000"})
    source, sink = f"{java.name}-in", f"{java.name}-out"
    ours = WorkerProcess(bootstrap, tmp_path, **{**java.settings, "listeners": "http://127.0.0.1:0"})

    def goes_on(worker: WorkerProcess, all_lines: list[str]) -> None:
        """Append a line, and check that both connectors run and that nothing is lost or duplicated."""
        with given.open("a") as file:
            file.write(f"{all_lines[-1]}\n" if len(all_lines) > 1 else "")
        until(lambda: sorted(lines(taken)) == sorted(all_lines), f"{all_lines}: {lines(taken)}", PATIENCE)
        for name in (source, sink):
            until(lambda name=name: worker.states(name) == ["RUNNING"] * 2, f"{name} runs", PATIENCE)
        size = given.stat().st_size
        at = [{"partition": {"filename": str(given)}, "offset": {"position": size}}]
        until(lambda: worker.get(f"/connectors/{source}/offsets")["offsets"] == at, f"offset {size}", PATIENCE)
        until(lambda: all_committed(worker), "that the sink has committed", PATIENCE)
        assert sorted(lines(taken)) == sorted(all_lines)

    def all_committed(worker: WorkerProcess) -> bool:
        shown = worker.get(f"/connectors/{sink}/offsets")["offsets"]
        at = {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in shown}
        return all(at.get(record.partition, 0) > record.offset for record in kafka.read_all(topic))

    with java:
        java.put(source, connector__class="FileStreamSource", file=str(given), topic=topic)
        java.put(sink, connector__class="FileStreamSink", file=str(taken), topics=topic)
        goes_on(java, ["one"])
    with ours:
        goes_on(ours, ["one", "two"])
    with JavaWorker(bootstrap, tmp_path, **java.settings) as again:
        goes_on(again, ["one", "two", "three"])

    for kind in KINDS:
        internal = java.settings[f"{kind}.storage.topic"]
        places = defaultdict(set)
        for record in kafka.read_all(internal):
            places[record.key].add(record.partition)
        assert places
        assert all(len(partitions) == 1 for partitions in places.values()), f"{internal}: {dict(places)}"


def test_connectors_from_jars_go_from_java_to_us_and_back(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    """Each goes on where the other worker has left it, and what is asked of its offsets is answered alike."""
    require(JARS)
    topic, taken, journal = kafka.create_topic(), tmp_path / "out.txt", tmp_path / "journal.txt"
    plugins = {"plugin.path": plugin_path(tmp_path / "plugins", "conduct")}
    java = JavaWorker(bootstrap, tmp_path, **plugins, **{"task.shutdown.graceful.timeout.ms": "60000"})
    source, sink = f"{java.name}-in", f"{java.name}-out"
    ours = WorkerProcess(bootstrap, tmp_path, **{**java.settings, "listeners": "http://127.0.0.1:0"})

    def goes_on(worker: WorkerProcess, count: int) -> None:
        """Check that there are this many numbers in all, each once and in order."""
        worker.put(
            source,
            connector__class="ConductSource",
            topic=topic,
            records=str(count),
            tasks__max="1",
            journal=str(journal),
        )
        numbers = list(map(str, range(count)))
        until(lambda: taken_numbers() == numbers, f"{count} numbers: {taken_numbers()[-3:]}", PATIENCE)
        # The sink reads what is not committed yet, too.
        until(lambda: kafka.values(topic) == [number.encode() for number in numbers], "that all is committed", PATIENCE)
        at = [{"partition": {"task": "0"}, "offset": {"next": count}}]
        until(lambda: worker.get(f"/connectors/{source}/offsets")["offsets"] == at, f"next {count}", PATIENCE)
        until(lambda: committed(worker) > kafka.read_all(topic)[-1].offset, "that the sink has committed", PATIENCE)
        assert taken_numbers() == numbers

    def taken_numbers() -> list[str]:
        return [line.split()[1] for line in taken.read_text().splitlines()] if taken.exists() else []

    def committed(worker: WorkerProcess) -> int:
        shown = worker.get(f"/connectors/{sink}/offsets")["offsets"]
        return int(shown[0]["offset"]["kafka_offset"]) if shown else -1

    with java:
        java.put(sink, connector__class="penstock.tests.ConductSink", file=str(taken), topics=topic)
        goes_on(java, 100)
    with ours:
        goes_on(ours, 250)
    with JavaWorker(bootstrap, tmp_path, **java.settings) as again:
        goes_on(again, 300)
    starts = [line.split()[2] for line in journal.read_text().splitlines() if line.startswith("start from")]
    # Twice where the worker first ran it with the configuration that it found.
    assert list(dict.fromkeys(starts)) == ["0", "100", "250"]
