"""Misbehaving connectors give the same answers, states, calls and traces here as in Java Connect, except for the
frames of the runtimes.

All cases of a kind run at once, with one connector in each worker; a test checks the results of one case.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from hosts.beside.cases import (
    ALTERED,
    ANSWERS,
    CONNECT_ERROR,
    FAIL,
    LAST,
    NO_CONFIG,
    NO_OFFSETS,
    RUN,
    SINK,
    SOURCE,
    deed,
)
from hosts.beside.conftest import Pair
from hosts.beside.runs import SECONDS, Runs, Seen, alike, compare, config, name, told
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLUGINS = ("conduct", "odd", "chain")
CONTENT = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", "b"])
    return topic


@pytest.fixture(scope="module")
def failed(pair: Pair, topic: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Seen, Seen]]:
    runs = Runs(pair, tmp_path_factory.mktemp("failed"), [*FAIL])
    runs.start(topic, FAIL.__getitem__)
    runs.wait("all failed", lambda case, worker: "FAILED" in worker.states(name(case, worker)))
    states = runs.soon(runs.states, apart=["commit.null"])
    runs.delete()
    return {"states": states, "calls": runs.soon(runs.calls)}


@pytest.mark.parametrize("case", FAIL)
def test_a_misbehaving_plugin_fails_as_in_java(failed: dict[str, tuple[Seen, Seen]], case: str) -> None:
    ours, java = failed["states"]
    assert "FAILED" in str(java[case])
    expected = java[case]
    if case == "commit.null":  # Java Connect fails with a NullPointerException of its own
        assert '"taskProvidedOffsets" is null' in str(expected["task 0"])
        expected = {**expected, "task 0": ("FAILED", f"{CONNECT_ERROR}: {NO_OFFSETS}")}
    assert ours[case] == expected
    ours, java = failed["calls"]
    assert ours[case] == java[case]


@pytest.mark.parametrize("case", ANSWERS)
def test_answers(pair: Pair, topic: str, tmp_path: Path, case: str) -> None:
    kind, method, what, own = ANSWERS[case]
    answers = []
    for worker in pair.both:
        connector = name(case, worker)
        path = {
            "validate": f"/connector-plugins/{kind}/config/validate",
            "plugin": f"/connector-plugins/{kind}/config",
            "config": f"/connectors/{connector}/config",
        }[what]
        full = {"name": connector, **config(kind, topic, tmp_path, worker, own)}
        answer = worker.http.request(method, path, json=full if method == "PUT" else None)
        # Penstock has connectors that Java Connect does not have.
        text, *_ = alike(worker, answer.text).split("available connectors are: ")
        answers.append((answer.status_code, text))
        if answer.status_code == 201:
            worker.http.delete(f"/connectors/{connector}")
    java, ours = answers
    if case == "definitions of no config":  # Java Connect fails with a NullPointerException of its own
        assert '"pluginConfigDefs\\" is null' in java[1]
        java = refused(400, NO_CONFIG)
    if case == "create.error":  # Java Connect has no answer to an Error
        assert java == (500, "")
        java = refused(500, "on purpose")
    assert ours == java


def refused(status: int, message: str) -> tuple[int, str]:
    return status, json.dumps({"error_code": status, "message": message}, separators=(",", ":"))


def test_plugins_are_listed_alike(pair: Pair) -> None:
    def listed(worker: WorkerProcess) -> list[str]:
        found = worker.get("/connector-plugins?connectorsOnly=false")
        own = [each for each in found if each["class"].startswith("penstock.tests.")]
        return sorted(str((each["class"], each.get("version"), each["type"])) for each in own)

    assert len(listed(pair.java)) > 5
    compare(pair, listed)


@pytest.fixture(scope="module")
def changed(pair: Pair, topic: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Seen, Seen]]:
    runs = Runs(pair, tmp_path_factory.mktemp("altered"), [*ALTERED])
    runs.start(topic, lambda case: ALTERED[case][:2])

    def begun(case: str, worker: WorkerProcess) -> bool:
        states = worker.states(name(case, worker))
        if set(states) != {"RUNNING"} or len(states) < 2:
            return False
        return ALTERED[case][0] != SOURCE or worker.get(f"/connectors/{name(case, worker)}/offsets")["offsets"] == LAST

    runs.wait("all run, and have sent all they have", begun)
    for case in runs.cases:
        for worker in pair.both:
            worker.http.put(f"/connectors/{name(case, worker)}/stop").raise_for_status()
    runs.wait("all are stopped", lambda case, worker: worker.states(name(case, worker)) == ["STOPPED"])
    answers: tuple[Seen, Seen] = {}, {}
    for worker, seen in zip((pair.ours, pair.java), answers, strict=True):
        seen |= {case: alter(case, topic, worker) for case in runs.cases}
    runs.delete()
    return {"answers": answers, "calls": runs.soon(lambda case, worker: altered(runs.folder / case, worker))}


def alter(case: str, topic: str, worker: WorkerProcess) -> tuple[int, str, Any]:
    """Return the answer, and the offsets after it."""
    *_, offsets = ALTERED[case]
    path = f"/connectors/{name(case, worker)}/offsets"
    body = json.dumps({"offsets": offsets}).replace("TOPIC", topic)
    method = "DELETE" if offsets is None else "PATCH"
    answer = worker.http.request(method, path, content=None if offsets is None else body, headers=CONTENT)
    return answer.status_code, alike(worker, answer.text), worker.get(path)


@pytest.mark.parametrize("case", ALTERED)
def test_altered_offsets(changed: dict[str, tuple[Seen, Seen]], case: str) -> None:
    ours, java = changed["answers"]
    assert ours[case] == java[case]
    ours, java = changed["calls"]
    assert ours[case] == java[case]


def altered(folder: Path, worker: WorkerProcess) -> list[str]:
    journal = folder / f"journal-{worker.name}"
    return (
        [line for line in journal.read_text().splitlines() if line.startswith("alterOffsets")]
        if journal.exists()
        else []
    )


@pytest.fixture(scope="module")
def going(pair: Pair, topic: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Seen, Seen]]:
    runs = Runs(pair, tmp_path_factory.mktemp("going"), [*RUN])
    runs.start(topic, lambda case: RUN[case][:2])
    runs.wait("the calls", lambda case, worker: not RUN[case][2] or RUN[case][2] in runs.calls(case, worker))
    time.sleep(3)
    states = runs.soon(runs.states)
    runs.delete()
    return {"states": states, "calls": runs.soon(lambda case, worker: set(runs.calls(case, worker)))}


@pytest.mark.parametrize("case", RUN)
def test_an_odd_plugin_keeps_running_as_in_java(pair: Pair, going: dict[str, tuple[Seen, Seen]], case: str) -> None:
    assert not RUN[case][2] or RUN[case][2] in going["calls"][1][case]
    for ours, java in going.values():
        assert ours[case] == java[case], logged(pair.ours, name(case, pair.ours))


def logged(worker: WorkerProcess, connector: str) -> str:
    """Return the last lines of the worker's log about a connector."""
    return "\n".join([line for line in worker.log.read_text().splitlines() if connector in line][-40:])


def test_a_plugin_that_exits_does_not_affect_other_connectors(pair: Pair, kafka: Kafka, tmp_path: Path) -> None:
    """In Java Connect the worker would exit."""
    worker, topic, connector = pair.ours, kafka.create_topic(), name("exits", pair.ours)
    kafka.produce(topic, ["one"])
    out = tmp_path / "out"
    worker.put("neighbour", **{"connector.class": SINK, "topics": topic, "file": str(out), "tasks.max": "1"})
    until(lambda: out.exists() and out.read_text().endswith(" one\n"), "the neighbour writes", SECONDS)
    own = config(SOURCE, topic, tmp_path, worker, deed("validate", "exit 7"))
    answer = worker.http.put(f"/connector-plugins/{SOURCE}/config/validate", json={"name": connector, **own})
    assert answer.status_code == 500
    assert "has ended its JVM: The JVM of the plugin exited with code 7" in answer.json()["message"]
    worker.put(connector, **config(SOURCE, topic, tmp_path, worker, deed("connector.start", "exit 7")))
    until(lambda: worker.states(connector)[:1] == ["FAILED"], f"{connector} failed", SECONDS)
    (said, *_) = told(worker, connector)["connector"][1:]
    assert said.endswith(
        "Connector exits-WORKER has ended its JVM while it started: The JVM of the plugin exited with code 7"
    )
    assert worker.http.delete(f"/connectors/{connector}").status_code == 204
    kafka.produce(topic, ["two"])
    until(lambda: out.read_text().endswith(" two\n"), "the neighbour goes on", SECONDS)
    worker.running("neighbour")
    assert worker.http.delete("/connectors/neighbour").status_code == 204
