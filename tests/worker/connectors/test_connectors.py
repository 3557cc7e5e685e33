"""Connectors that block: each is logged, and none delays another."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pytest

from penstock.api.connector import Connector, SourceConnector
from penstock.api.errors import ConnectError
from penstock.api.source import SourceTask
from penstock.core.model.actions import GeneratedTasks
from penstock.core.model.events import (
    Completed,
    ConnectorDelayed,
    ConnectorEnded,
    ConnectorFailed,
    ConnectorPaused,
    ConnectorRunning,
    ConnectorStopped,
)
from penstock.core.model.state import PAUSED, STARTED, STOPPED
from penstock.core.topic_creation.groups import check_topic_creation
from penstock.hosts.jvm.plugins.connector import JavaSourceConnector
from penstock.java.regex import compile_regex
from penstock.worker.connectors import connectors, run
from penstock.worker.connectors.connectors import Connectors
from penstock.worker.connectors.run import ConnectorSetup
from support.waiting import until

WAIT_S = 1.0


class Blocking(SourceConnector):
    """Blocks in the method that its configuration names, until it is released."""

    go: ClassVar[threading.Event]

    def start(self, config: Mapping[str, str]) -> None:
        self._config = config
        self._block("start")

    def stop(self) -> None:
        self._block("stop")

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        self._block("task_configs")
        return [{"of": str(max_tasks)}] * int(self._config.get("tasks", "1"))

    def task_class(self) -> type[SourceTask]:
        return SourceTask

    def _block(self, method: str) -> None:
        if self._config.get("block") == method:
            self.go.wait()
        if self._config.get("fail") == method:
            raise ValueError(f"{method} fails")
        if self._config.get("exit") == method:
            sys.exit(f"{method} exits")


class Wordless(Exception):
    def __init__(self, code: int) -> None:
        self.code = code

    def __str__(self) -> str:
        return f"{self.reason}"  # type: ignore[attr-defined]


class Noting(SourceConnector):
    """Fails as its configuration says, and records how it ends."""

    ends: ClassVar[list[str]]

    def start(self, config: Mapping[str, str]) -> None:
        match config.get("fail"):
            case "start":
                raise ValueError("start fails")
            case "raise_error":
                self.context.raise_error(ValueError("raised"))
            case "raise_error with a text":
                text: Any = "the server is away"
                self.context.raise_error(text)
            case "without a message":
                raise Wordless(7)

    def stop(self) -> None:
        self.ends.append("stop")

    def task_class(self) -> type[SourceTask]:
        return SourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{}, {}]


class OfJava(Noting, JavaSourceConnector):
    @classmethod
    def version(cls) -> str:
        return "1"

    def start(self, config: Mapping[str, str]) -> None:
        self._wanted = True
        super().start(config)

    def give_up(self) -> None:
        self.ends.append("give_up")


CLASSES: dict[str, type[Connector]] = {each.__name__: each for each in (Blocking, Noting, OfJava)}


class Runs:
    def __init__(self) -> None:
        self.events: list[Any] = []
        self.started: list[str] = []
        self.secret = ""
        setup = ConnectorSetup(
            new=lambda config: CLASSES[config["connector.class"]](),
            resolve=self._resolve,
            resolve_to_start=self._resolve_to_start,
            starts=lambda name, config: None,
            check=self._check,
            prepare=lambda config: None,
            task_class_name=lambda cls: cls.__name__,
            offsets=lambda name, config: [],
        )
        self.connectors = Connectors(setup, self.events.append, stop_timeout=WAIT_S)

    def _resolve_to_start(self, name: str, config: Mapping[str, str]) -> dict[str, str]:
        self.started.append(name)
        return self._resolve(config)

    def _resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        if config.get("block") == "resolve":
            Blocking.go.wait()
        given = {k: v.replace("${env:SECRET}", self.secret) for k, v in config.items()}
        return {k: v.removeprefix("${env:").removesuffix("}") for k, v in given.items()}

    @staticmethod
    def _check(connector: Connector, config: Mapping[str, str]) -> None:
        check_topic_creation(config, compile_regex)

    def start(self, name: str, run: int, block: str = "", **config: str) -> None:
        self.connectors.start(name, run, {"connector.class": "Blocking", "block": block, **config}, STARTED)

    def of(self, name: str) -> list[Any]:
        return [event for event in self.events if getattr(event, "name", None) == name]

    def delay(self, name: str, what: str) -> str:
        """Return the reason of the first delay that begins with ``what``."""

        def told() -> list[str]:
            reasons = [event.reason for event in self.of(name) if isinstance(event, ConnectorDelayed)]
            return [reason for reason in reasons if reason and reason.startswith(what)]

        return str(until(told, f"the delay of {name}")[0])


def made(event: Any) -> list[dict[str, str]]:
    """Return the task configurations in the answer to request 7."""
    assert isinstance(event, Completed)
    assert event.token == 7
    assert isinstance(event.value, GeneratedTasks)
    return event.value.configs


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runs]:
    monkeypatch.setattr(run, "LONG_S", WAIT_S)
    monkeypatch.setattr(connectors, "LOOK_S", WAIT_S / 20)
    Blocking.go = threading.Event()
    yield Runs()
    Blocking.go.set()


def test_a_start_that_blocks_is_logged_and_delays_no_other(runs: Runs) -> None:
    runs.start("a", 1, "start")
    reason = runs.delay("a", "start() of the connector")
    assert re.match(r"start\(\) of the connector has not returned for \d+ s\. It is at\n\tat ", reason)
    assert "\tat _block(" in reason
    runs.start("b", 2)
    until(lambda: runs.of("b"), "b")
    assert runs.of("b") == [ConnectorRunning("b", 2, "unknown")]
    Blocking.go.set()
    until(lambda: len(runs.of("a")) == 3, "a goes on")
    assert runs.of("a")[1:] == [ConnectorDelayed("a", 1, None), ConnectorRunning("a", 1, "unknown")]


def test_a_config_provider_that_blocks_is_logged(runs: Runs) -> None:
    runs.start("a", 1, "resolve")
    reason = runs.delay("a", "The resolution of the connector's configuration has not returned for")
    assert "\tat _resolve(" in reason
    Blocking.go.set()
    until(lambda: ConnectorRunning("a", 1, "unknown") in runs.of("a"), "a goes on")


def test_task_configs_that_block_are_logged(runs: Runs) -> None:
    runs.start("a", 1, "task_configs")
    runs.connectors.make_task_configs(7, 1, 1)
    assert "has not returned" in runs.delay("a", "task_configs() of the connector")
    Blocking.go.set()
    until(lambda: [e for e in runs.events if isinstance(e, Completed)], "the tasks")
    assert made(runs.events[-1]) == [{"of": "1", "task.class": "SourceTask"}]


def test_a_stop_that_blocks_is_logged(runs: Runs) -> None:
    runs.start("a", 1, "stop")
    runs.connectors.change_state(1, PAUSED)
    assert "has not returned" in runs.delay("a", "stop() of the connector")
    Blocking.go.set()
    until(lambda: ConnectorPaused("a", 1, "unknown") in runs.events, "a is paused")


def test_a_connector_that_does_not_stop_in_time_leaves_its_thread_behind(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    runs.start("a", 1, "start")
    runs.delay("a", "start() of the connector")
    runs.connectors.stop(1)
    until(lambda: ConnectorEnded("a", 1) in runs.events, "its end")
    assert "Connector a did not stop in time; its thread is abandoned: start() of the connector" in caplog.text


def test_a_connector_that_fails_at_its_stop_is_stopped_all_the_same(runs: Runs) -> None:
    runs.start("a", 1, fail="stop")
    runs.connectors.change_state(1, STOPPED)
    until(lambda: ConnectorStopped("a", 1, "unknown") in runs.events, "a is stopped")
    runs.start("b", 2, fail="stop")
    runs.connectors.change_state(2, PAUSED)
    until(lambda: runs.of("b")[1:], "b has failed")
    assert runs.of("b")[1].trace.startswith("ValueError: stop fails")
    assert not [event for event in runs.of("a") if isinstance(event, ConnectorFailed)]


def test_a_connector_that_exits_ends_no_thread(runs: Runs) -> None:
    runs.start("a", 1, exit="task_configs")
    runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: [e for e in runs.events if isinstance(e, Completed)], "the answer")
    assert isinstance(runs.events[-1].error, ConnectError)
    assert str(runs.events[-1].error) == "The plugin has raised SystemExit: task_configs exits"
    runs.start("b", 2, exit="stop")
    runs.connectors.change_state(2, STOPPED)
    until(lambda: ConnectorStopped("b", 2, "unknown") in runs.events, "b is stopped")
    runs.start("c", 3, exit="stop")
    until(lambda: runs.of("c"), "c runs")
    runs.connectors.stop(3)
    until(lambda: ConnectorEnded("c", 3) in runs.events, "c has ended")
    assert not [event for event in runs.events if isinstance(event, ConnectorFailed)]


@pytest.mark.parametrize("fail", ["start", "raise_error", "task_configs"])
@pytest.mark.parametrize(("kind", "end"), [("Noting", "stop"), ("OfJava", "give_up")])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_failed_connector_is_stopped_once_unless_it_is_javas(
    runs: Runs, kind: str, end: str, fail: str, stopped: bool
) -> None:
    """Java's is not stopped, as in Java Connect; one in Python may release its resources."""
    Noting.ends = []
    runs.connectors.start("a", 1, {"connector.class": kind, "fail": fail}, STARTED)
    if fail == "task_configs":
        runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: [e for e in runs.of("a") if isinstance(e, ConnectorFailed)], "the failure")
    if stopped:
        runs.connectors.change_state(1, STOPPED)
    runs.connectors.stop(1)
    until(lambda: ConnectorEnded("a", 1) in runs.events, "its end")
    assert Noting.ends == [end]
    assert any(isinstance(e, ConnectorStopped) for e in runs.of("a")) is stopped


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        ("raise_error with a text", "org.apache.kafka.connect.errors.ConnectException: the server is away"),
        ("without a message", "Wordless: (no message: its __str__ has raised AttributeError)"),
    ],
)
def test_every_kind_of_failure_is_reported(runs: Runs, fail: str, said: str) -> None:
    runs.connectors.start("a", 1, {"connector.class": "Noting", "fail": fail}, STARTED)
    until(lambda: [e for e in runs.of("a") if isinstance(e, ConnectorFailed)], "a has failed")
    assert said in runs.of("a")[-1].trace.splitlines()[0]


@pytest.mark.parametrize("fail", ["raise_error", "task_configs"])
def test_a_failed_connector_does_not_start_again_in_a_new_jvm(runs: Runs, fail: str) -> None:
    Noting.ends = []
    runs.connectors.start("a", 1, {"connector.class": "OfJava", "fail": fail}, STARTED)
    until(lambda: [e for e in runs.of("a") if isinstance(e, ConnectorRunning)], "it runs")
    if fail == "task_configs":
        runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: [e for e in runs.of("a") if isinstance(e, ConnectorFailed)], "the failure")
    made = runs.connectors._runs[1].connector
    assert isinstance(made, OfJava)
    assert not made._wanted
    runs.connectors.stop(1)
    until(lambda: ConnectorEnded("a", 1) in runs.events, "its end")


def test_a_connector_that_never_started_is_not_stopped(runs: Runs) -> None:
    Noting.ends = []
    runs.connectors.start("a", 1, {"connector.class": "Noting"}, PAUSED)
    runs.connectors.stop(1)
    until(lambda: ConnectorEnded("a", 1) in runs.events, "its end")
    assert Noting.ends == []


@pytest.mark.parametrize("target", [PAUSED, STOPPED])
def test_a_connector_that_begins_as_paused_or_stopped_fails_for_what_it_could_not_start_with(
    runs: Runs, target: str
) -> None:
    """In Java, Worker.startConnector makes a SourceConnectorConfig, whatever the target state."""
    invalid = {"connector.class": "Noting", "topic.creation.groups": "g", "topic.creation.default.partitions": "1"}
    runs.connectors.start("a", 1, invalid, target)
    until(lambda: runs.of("a"), "its failure")
    assert isinstance(runs.of("a")[0], ConnectorFailed)
    assert "topic.creation" in runs.of("a")[0].trace
    runs.connectors.change_state(1, STOPPED)
    runs.connectors.stop(1)
    until(lambda: ConnectorEnded("a", 1) in runs.events, "its end")
    assert not [e for e in runs.of("a") if isinstance(e, ConnectorPaused | ConnectorStopped)]


def test_a_config_provider_may_supply_the_number_of_tasks(runs: Runs) -> None:
    runs.start("a", 1, **{"tasks.max": "${env:3}"})
    runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: runs.events[1:], "the tasks")
    assert made(runs.events[1]) == [{"of": "3", "task.class": "SourceTask"}]


def test_tasks_are_known_by_the_values_that_they_were_made_of(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compared by a digest, which reveals no secret."""

    def digest_of(password: str) -> bytes:
        monkeypatch.setattr(runs, "secret", password)
        runs.events.clear()
        runs.connectors.make_task_configs(7, 1, 1)
        until(lambda: runs.events, "the tasks")
        found = runs.events[0].value.resolved
        assert password.encode() not in found
        return bytes(found)

    runs.start("a", 1, password="${env:SECRET}")
    until(lambda: runs.events, "a runs")
    one, two, three = map(digest_of, ("one", "one", "two"))
    assert one == two != three


@pytest.mark.parametrize("enforced", ["true", "${env:true}"])
def test_too_many_tasks_fail_the_connector(runs: Runs, enforced: str) -> None:
    runs.start("a", 1, tasks="2", **{"tasks.max.enforce": enforced})
    runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: runs.of("a")[1:], "the failure")
    assert (
        "The connector a has generated 2 tasks, which is greater than 1, the maximum number of tasks it is configured "
        "to create. This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by "
        "reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be removed in a "
        "future release of Kafka Connect."
    ) in runs.of("a")[1].trace


def test_only_values_that_a_connector_is_started_with_make_it_start_again(runs: Runs) -> None:
    """Otherwise it would never restart if its tasks are configured more often than values expire."""
    runs.start("a", 1)
    runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: runs.events[1:], "the tasks")
    runs.connectors._runs[1].source_offsets()
    assert runs.started == ["a"]


def test_too_many_tasks_may_be_allowed(runs: Runs) -> None:
    runs.start("a", 1, tasks="2", **{"tasks.max.enforce": "${env:false}"})
    runs.connectors.make_task_configs(7, 1, 1)
    until(lambda: runs.events[1:], "the tasks")
    assert made(runs.events[1]) == [{"of": "1", "task.class": "SourceTask"}] * 2
