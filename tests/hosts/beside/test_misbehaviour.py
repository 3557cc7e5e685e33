"""What misbehaves does so here as in Java Connect: the same answers, states, calls, and traces but for the frames of
the runtimes.

All cases of a kind run at once, a connector each in both workers; a test looks at what was seen of one of them.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hosts.beside.conftest import Pair
from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PLUGINS = ("conduct", "odd", "chain")
SECONDS = 120
SOON = 20
SOURCE, SINK = "penstock.tests.ConductSource", "penstock.tests.ConductSink"
THROW = "throw java.lang.IllegalStateException on purpose"
CONNECT_ERROR = "org.apache.kafka.connect.errors.ConnectException"
CONNECT = f"throw {CONNECT_ERROR} on purpose"
NO_OFFSETS = "The task's preCommit has returned null instead of offsets"
NO_CONFIG = "penstock.tests.odd.Odd$NoConfig.config() must return a ConfigDef that is not null."
CONFIG = "throw org.apache.kafka.common.config.ConfigException on purpose"
ERROR = "throw java.lang.LinkageError on purpose"
MISSING = "throw org.apache.kafka.connect.errors.NotFoundException on purpose"
UNSUPPORTED = "throw java.lang.UnsupportedOperationException on purpose"

Config = dict[str, str]


def deed(place: str, what: str = THROW, **more: str) -> Config:
    return {f"at.{place}": what, **{name.replace("__", "."): value for name, value in more.items()}}


FAIL: dict[str, tuple[str, Config]] = {
    "connector.start": (SOURCE, deed("connector.start")),
    "connector.start.error": (SOURCE, deed("connector.start", ERROR)),
    "connector.start.missing": (SOURCE, deed("connector.start", "missing")),
    "connector.start.connect": (SINK, deed("connector.start", CONNECT)),
    "raised later": (SOURCE, {"raise.after.ms": "500"}),
    "start": (SOURCE, deed("start")),
    "start.error": (SOURCE, deed("start", "missing")),
    "start.config": (SOURCE, deed("start", CONFIG)),
    "poll": (SOURCE, deed("poll@2")),
    "poll.error": (SOURCE, deed("poll@2", ERROR)),
    "poll.checked": (SOURCE, deed("poll@2", "throw java.io.IOException on purpose")),
    "poll.stack": (SOURCE, deed("poll@2", "throw java.lang.StackOverflowError on purpose")),
    "poll.connect": (SOURCE, deed("poll@2", CONNECT)),
    "sink.start": (SINK, deed("start")),
    "open": (SINK, deed("open")),
    "put": (SINK, deed("put")),
    "put.error": (SINK, deed("put", ERROR)),
    "put.checked": (SINK, deed("put", "throw java.io.IOException on purpose")),
    "put.connect": (SINK, deed("put", CONNECT)),
    "too many tasks": (SOURCE, {"tasks.made": "3"}),
    "commit.null": (SINK, {"commit.null": "true"}),
    "broken task": ("penstock.tests.odd.Odd$BrokenTask", {}),
    "hidden task": ("penstock.tests.odd.Odd$HiddenTask", {}),
}
"""Which end with something FAILED."""


@pytest.fixture(scope="module")
def topic(kafka: Kafka) -> str:
    topic = kafka.create_topic()
    kafka.produce(topic, ["a", "b"])
    return topic


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
    """The exceptions, and the frames of the plugin."""
    own = re.compile(r"\tat (app//)?penstock\.tests\.")
    return [line for line in trace.splitlines() if not line.startswith("\t") or own.match(line)]


def told(worker: WorkerProcess, connector: str) -> dict[str, Any]:
    """Of the connector and its tasks: the states, and why."""
    status = json.loads(alike(worker, worker.http.get(f"/connectors/{connector}/status").text))
    parts = {"connector": status["connector"], **{f"task {each['id']}": each for each in status["tasks"]}}
    return {part: (found["state"], *head(found.get("trace", ""))) for part, found in parts.items()}


def calls(folder: Path, worker: WorkerProcess) -> list[str]:
    """The methods in the order of their first calls, those last that come with time, and without validations and puts
    without records.
    """
    journal = folder / f"journal-{worker.name}"
    names = [line.split(" ")[0] for line in journal.read_text().splitlines()] if journal.exists() else []
    found = [each for each in dict.fromkeys(names) if each not in ("validate", "configs", "put.nothing")]
    return sorted(found, key=lambda each: each in ("commit", "flush"))


def compare(pair: Pair, look: Callable[[WorkerProcess], Any]) -> None:
    """Soon equal: what follows a request takes a moment."""
    with suppress(AssertionError):
        until(lambda: look(pair.ours) == look(pair.java), "", SOON)
    assert look(pair.ours) == look(pair.java)


Seen = dict[str, Any]
"""By case."""


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
        """Until it is seen of each, or time is over: what is missing fails the tests that look for it."""

        def missing() -> list[str]:
            return [f"{case} in {each.name}" for each in self.pair.both for case in self.cases if not seen(case, each)]

        with suppress(AssertionError):
            until(lambda: not missing(), what, SECONDS)

    def soon(self, look: Callable[[str, WorkerProcess], Any], apart: Collection[str] = ()) -> tuple[Seen, Seen]:
        """What is seen of ours and of Java's, when it is equal: what follows a request takes a moment. ``apart``: cases
        that never are.
        """

        def seen(worker: WorkerProcess) -> Seen:
            return {case: look(case, worker) for case in self.cases}

        def equal() -> bool:
            ours, java = seen(self.pair.ours), seen(self.pair.java)
            return all(ours[case] == java[case] for case in self.cases if case not in apart)

        with suppress(AssertionError):
            until(equal, "both alike", SOON)
        return seen(self.pair.ours), seen(self.pair.java)

    def delete(self) -> None:
        for case in self.cases:
            for worker in self.pair.both:
                assert worker.http.delete(f"/connectors/{name(case, worker)}").status_code == 204

    def states(self, case: str, worker: WorkerProcess) -> Any:
        return told(worker, name(case, worker))

    def calls(self, case: str, worker: WorkerProcess) -> list[str]:
        return calls(self.folder / case, worker)


@pytest.fixture(scope="module")
def failed(pair: Pair, topic: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Seen, Seen]]:
    runs = Runs(pair, tmp_path_factory.mktemp("failed"), [*FAIL])
    runs.start(topic, FAIL.__getitem__)
    runs.wait("all failed", lambda case, worker: "FAILED" in worker.states(name(case, worker)))
    states = runs.soon(runs.states, apart=["commit.null"])
    runs.delete()
    return {"states": states, "calls": runs.soon(runs.calls)}


@pytest.mark.parametrize("case", FAIL)
def test_what_fails(failed: dict[str, tuple[Seen, Seen]], case: str) -> None:
    ours, java = failed["states"]
    assert "FAILED" in str(java[case])
    expected = java[case]
    if case == "commit.null":  # Java Connect itself stumbles over the null
        assert '"taskProvidedOffsets" is null' in str(expected["task 0"])
        expected = {**expected, "task 0": ("FAILED", f"{CONNECT_ERROR}: {NO_OFFSETS}")}
    assert ours[case] == expected
    ours, java = failed["calls"]
    assert ours[case] == java[case]


ANSWERS: dict[str, tuple[str, str, str, Config]] = {
    "validate": (SOURCE, "PUT", "validate", deed("validate")),
    "validate.error": (SOURCE, "PUT", "validate", deed("validate", ERROR)),
    "validate.config": (SOURCE, "PUT", "validate", deed("validate", CONFIG)),
    "validate.null": (SOURCE, "PUT", "validate", {"valid": "null"}),
    "create": (SOURCE, "PUT", "config", deed("validate")),
    "create.error": (SOURCE, "PUT", "config", deed("validate", ERROR)),
    "create.config": (SOURCE, "PUT", "config", deed("validate", CONFIG)),
    "create.null": (SOURCE, "PUT", "config", {"valid": "null"}),
    "no config": ("penstock.tests.odd.Odd$NoConfig", "PUT", "config", {}),
    "throwing config": ("penstock.tests.odd.Odd$ThrowingConfig", "PUT", "config", {}),
    "definitions of no config": ("penstock.tests.odd.Odd$NoConfig", "GET", "plugin", {}),
    "definitions of throwing config": ("penstock.tests.odd.Odd$ThrowingConfig", "GET", "plugin", {}),
    "unmade": ("penstock.tests.odd.Odd$Unmade", "PUT", "config", {}),
    "uninitialized": ("penstock.tests.odd.Odd$Uninitialized", "PUT", "config", {}),
    "throwing version": ("penstock.tests.odd.Odd$ThrowingVersion", "PUT", "config", {}),
    "no version": ("penstock.tests.odd.Odd$NoVersion", "PUT", "config", {}),
}


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
        # We have connectors that Java Connect has not.
        text, *_ = alike(worker, answer.text).split("available connectors are: ")
        answers.append((answer.status_code, text))
        if answer.status_code == 201:
            worker.http.delete(f"/connectors/{connector}")
    java, ours = answers
    if case == "definitions of no config":  # Java Connect itself stumbles over the null
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


OFFSETS = [{"partition": {"task": "0"}, "offset": {"next": 3}}]
LAST = [{"partition": {"task": "0"}, "offset": {"next": 100}}]
ALTERED: dict[str, tuple[str, Config, Any]] = {
    "altered": (SOURCE, {}, OFFSETS),
    "altered.throws": (SOURCE, deed("alterOffsets"), OFFSETS),
    "altered.connect": (SOURCE, deed("alterOffsets", CONNECT), OFFSETS),
    "altered.missing": (SOURCE, deed("alterOffsets", MISSING), OFFSETS),
    "altered.unsupported": (SOURCE, deed("alterOffsets", UNSUPPORTED), OFFSETS),
    "altered.error": (SOURCE, deed("alterOffsets", ERROR), OFFSETS),
    "sink altered": (SINK, {}, [{"partition": {"kafka_topic": "TOPIC", "kafka_partition": 0}, "offset": None}]),
    "unsupported": ("penstock.tests.odd.Odd", {}, OFFSETS),
    "reset": (SOURCE, {}, None),
    "reset.throws": (SOURCE, deed("alterOffsets"), None),
}
"""Which are stopped, and given other offsets, or none."""


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
    """The answer, and the offsets after it."""
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


CONTENT = {"Content-Type": "application/json"}


def altered(folder: Path, worker: WorkerProcess) -> list[str]:
    journal = folder / f"journal-{worker.name}"
    return (
        [line for line in journal.read_text().splitlines() if line.startswith("alterOffsets")]
        if journal.exists()
        else []
    )


RUN: dict[str, tuple[str, Config, str]] = {
    "taskConfigs": (SOURCE, deed("taskConfigs"), "taskConfigs"),
    "no list of tasks": (SOURCE, {"tasks.made": "null"}, "taskConfigs"),
    "a list of null": (SOURCE, {"tasks.made": "hole"}, "taskConfigs"),
    "no tasks": (SOURCE, {"tasks.made": "0"}, "taskConfigs"),
    "no task class": ("penstock.tests.odd.Odd$NoTaskClass", {}, ""),
    "connector.stop": (SOURCE, deed("connector.stop"), "poll"),
    "commit": (SOURCE, deed("commit"), "commit"),
    "commitRecord": (SOURCE, deed("commitRecord"), "commitRecord"),
    "stop": (SOURCE, deed("stop"), "poll"),
    "flush": (SINK, deed("flush"), "flush"),
    "close": (SINK, deed("close"), "put"),
    "sink.stop": (SINK, deed("stop"), "put"),
    "retried": (SINK, deed("put@1", "throw org.apache.kafka.connect.errors.RetriableException not yet"), "put"),
    "fewer tasks": (SOURCE, {"reconfigure.after.ms": "500", "tasks.then": "2", "tasks.max": "3"}, "poll"),
}
"""Which go on, or never begin; with a call that both have made."""


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
def test_what_goes_on(going: dict[str, tuple[Seen, Seen]], case: str) -> None:
    assert not RUN[case][2] or RUN[case][2] in going["calls"][1][case]
    for ours, java in going.values():
        assert ours[case] == java[case]


def test_what_exits_harms_nobody_else(pair: Pair, kafka: Kafka, tmp_path: Path) -> None:
    """Java Connect's worker would end."""
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
