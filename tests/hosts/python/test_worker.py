"""A worker whose plugins come and go: connectors with two majors of a package, and one that breaks its limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from hosts.python.plugins import sink_wheel, source_wheel
from penstock.hosts.python.environment import environments, sweep
from penstock.hosts.python.install import install
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import PLAIN, WorkerProcess

pytestmark = pytest.mark.integration

SOURCE = "one_source.Source"


@pytest.fixture(scope="module")
def worker(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """Nothing is installed when it starts."""
    folder = tmp_path_factory.mktemp("worker")
    (folder / "plugins").mkdir()
    with WorkerProcess(bootstrap, folder, **{"plugin.path": str(folder / "plugins")}, **PLAIN) as up:
        yield up


def versions(worker: WorkerProcess) -> dict[str, str]:
    return {each["class"]: each["version"] for each in worker.get("/connector-plugins")}


def test_plugins_come_run_side_by_side_change_and_go(worker: WorkerProcess, kafka: Kafka, tmp_path: Path) -> None:
    folder = worker.folder / "plugins"
    assert SOURCE not in versions(worker)
    install(source_wheel(tmp_path / "source"), folder)
    install(sink_wheel(tmp_path / "sink"), folder)
    assert (versions(worker)[SOURCE], versions(worker)["two_sink.Sink"]) == ("1.0", "2.0")

    topic, out = kafka.create_topic(), tmp_path / "out"
    worker.put("source", **{"connector.class": SOURCE, "topic": topic, "count": "4"})
    worker.put("sink", **{"connector.class": "two_sink.Sink", "topics": topic, "file": str(out)})
    lines = "".join(f"v1:{row} v2:{topic}\n" for row in range(4))
    until(lambda: out.exists() and out.read_text() == lines, f"one major writes, another reads: {worker.log}")
    worker.running("source")
    worker.running("sink")
    (task,) = worker.get("/connectors/source/tasks")
    assert task["config"]["task.class"] == "one_source.Task"
    until(
        lambda: (
            worker.get("/connectors/source/offsets")["offsets"] == [{"partition": {"part": "a"}, "offset": {"at": 4}}]
        ),
        "its offsets are committed",
    )

    limit = {"penstock.plugin.max.memory.bytes": str(256 << 20)}
    worker.put("greedy", **{"connector.class": SOURCE, "topic": topic, "trouble": "memory", **limit})
    until(lambda: worker.states("greedy") == ["RUNNING", "FAILED"], "the limit fails its task")
    said = worker.get("/connectors/greedy/status")["tasks"][0]["trace"]
    assert "The plugin needs more memory than penstock.plugin.max.memory.bytes=268435456 allows" in said
    worker.running("source")
    worker.running("sink")

    install(source_wheel(tmp_path / "newer", "1.1", major=2), folder)
    assert versions(worker)[SOURCE] == "1.1"
    worker.put("source", **{"connector.class": SOURCE, "topic": topic, "count": "6"})
    lines += "".join(f"v2:{row} v2:{topic}\n" for row in (4, 5))
    until(lambda: out.read_text() == lines, f"the new version goes on: {worker.log}")

    for name in ("source", "sink", "greedy"):
        assert worker.http.delete(f"/connectors/{name}").status_code == 204
    for plugin in environments([str(folder)]):
        plugin.retire()
    assert SOURCE not in versions(worker)
    until(lambda: sweep(folder) == [], "no process of them is left")
    assert list(folder.iterdir()) == []
