"""Connectors in environments: validation, definitions, life cycle, errors, offsets."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.api.connector import ExactlyOnceSupport
from penstock.api.errors import ConnectError
from penstock.core.config.validation import WorkerRules
from penstock.core.model.events import ConnectorEnded, ConnectorRunning
from penstock.core.model.state import STARTED
from penstock.hosts.python.messages import AddPluginMetric, ReadPluginMetric
from penstock.hosts.python.metrics import ForeignMetrics
from penstock.hosts.python.process import PluginProcess
from penstock.java.text import java_class_name
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.trace import trace
from penstock.plugins import Plugins
from penstock.worker.connectors.connectors import Connectors
from penstock.worker.connectors.run import ConnectorSetup
from support.waiting import until

CONFIG = {"name": "n", "connector.class": "one_source.Source", "topic": "t", "own.thing": "x"}
LIMIT = "penstock.plugin.max.memory.bytes"
PERCENT = "penstock.plugin.max.cpu.percent"


class Context:
    """A real ``ConnectorContext`` that records the calls it gets."""

    def __init__(self) -> None:
        self.metrics = MetricsOfPlugins({"connector": "n"})
        self.plugin_metrics = self.metrics.of()
        self.asked = 0
        self.errors: list[BaseException] = []

    def request_task_reconfiguration(self) -> None:
        self.asked += 1

    def raise_error(self, error: BaseException) -> None:
        self.errors.append(error)


def connector(plugins: Plugins, **config: str) -> Any:
    made = plugins.connector(CONFIG)()
    made.context = Context()
    made.start({**CONFIG, **config})
    return made


def test_validation_runs_in_the_environment(plugins: Plugins) -> None:
    def errors(**config: str) -> dict[str, list[str]]:
        infos = plugins.validate({**CONFIG, **config}, WorkerRules())
        return {each.value.name: list(each.value.errors) for each in infos.configs if each.value.errors}

    assert errors() == {}
    problem = "Invalid value 3 for configuration count: must be even, says wire_format 1"
    assert errors(count="3", topic="forbidden") == {"count": [problem], "topic": ["not this topic"]}
    assert errors(count="x")["count"][0].startswith("Invalid value x for configuration count: Not a number")
    assert "Value must be at least 67108864" in errors(**{LIMIT: "5"})[LIMIT][0]
    assert "Value must be at least 1" in errors(**{PERCENT: "0"})[PERCENT][0]
    keys = {each.name: each for each in plugins.config("one_source.Source") or ()}
    assert (keys["count"].default_value, keys["topic"].documentation) == ("4", "Where to.")


def test_limits_are_refused_where_they_have_no_effect(plugins: Plugins, tmp_path: Path) -> None:
    config = {"connector.class": "FileStreamSource", "name": "n", "topic": "t", "file": "f", LIMIT: str(1 << 30)}
    message = plugins.validate(config, WorkerRules()).message
    assert message is not None
    assert "no effect on FileStreamSourceConnector, which has no environment of its own" in message


def test_the_life_of_a_connector(plugins: Plugins) -> None:
    made = connector(plugins, trouble="ask")
    (config,) = made.task_configs(1)
    assert config["wire"] == "1"
    assert int(config["process"]) != os.getpid()
    assert os.getsid(int(config["process"])) != os.getsid(0), "signals to the worker's group don't reach it"
    assert made.context.asked == 1
    (metric,) = made.context.metrics.read()
    assert (metric["name"], metric["value"]) == ("starts", 1.0)
    assert java_class_name(made.task_class()) == "one_source.Task"
    made.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(int(config["process"]), 0)


def test_questions(plugins: Plugins) -> None:
    made = plugins.connector(CONFIG)()
    assert made.exactly_once_support(CONFIG) is ExactlyOnceSupport.SUPPORTED  # type: ignore[attr-defined]
    assert made.alter_offsets(CONFIG, [({"part": "a"}, {"at": 1})])  # type: ignore[attr-defined]
    with pytest.raises(ConnectError, match="an offset has the key") as raised:
        made.alter_offsets(CONFIG, [({"part": "a"}, {})])  # type: ignore[attr-defined]
    assert java_class_name(type(raised.value)) == ConnectError.java_name, "as of a plugin in the worker"
    assert type(raised.value).__name__ == "PickyError"


def test_an_error_has_the_plugins_trace(plugins: Plugins) -> None:
    with pytest.raises(ConnectError) as raised:
        connector(plugins, trouble="start")
    lines = trace(raised.value).splitlines()
    assert lines[0] == f"{ConnectError.java_name}: it will not start"
    assert "\tat start(" in lines[1]
    assert "one_source.py:" in lines[1]


def test_the_process_of_a_connector_that_is_given_up_ends(plugins: Plugins) -> None:
    """The connector's ``stop`` does not return."""
    events: list[Any] = []
    setup = ConnectorSetup(
        new=lambda config: plugins.connector(config)(),
        resolve=dict,
        resolve_to_start=lambda name, config: dict(config),
        starts=lambda name, config: None,
        check=lambda connector, config: None,
        prepare=lambda config: None,
        task_class_name=java_class_name,
        offsets=lambda name, config: [],
    )
    runs = Connectors(setup, events.append, stop_timeout=1)
    runs.start("n", 1, {**CONFIG, "trouble": "stuck"}, STARTED)
    until(lambda: ConnectorRunning("n", 1, "1.0") in events, "it runs")
    made: Any = runs._runs[1].connector
    process = made._process
    runs.stop(1)
    until(lambda: process.gone, "its process has been ended")
    assert events[1:] == [ConnectorEnded("n", 1)]
    until(lambda: made._process is None, "nothing is left")


def test_after_a_question_that_takes_too_long_another_process_answers(
    plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = plugins.connector(CONFIG)()
    questions = made.plugin.questions  # type: ignore[attr-defined]
    assert made.validate(CONFIG)
    before = questions._process
    monkeypatch.setattr("penstock.hosts.python.questions.CALL_SECONDS", 1.0)
    with pytest.raises(ConnectError, match="has not returned for 1 s"):
        made.validate({**CONFIG, "topic": "slow"})
    assert before.gone
    monkeypatch.undo()
    assert made.validate(CONFIG)
    questions.close()
    with pytest.raises(ConnectError, match="plugin one-source: it has been removed or replaced"):
        made.validate(CONFIG)


def test_a_connector_that_will_not_start_leaves_nothing(plugins: Plugins) -> None:
    made = plugins.connector(CONFIG)()
    made.context = Context()
    with pytest.raises(ConnectError, match="it has begun"):
        made.start({**CONFIG, "trouble": "late"})
    assert made._process is None  # type: ignore[attr-defined]
    assert made.context.metrics.read() == []


def test_metrics_of_a_process_that_has_ended_are_left_out(plugins: Plugins) -> None:
    """Metrics of all connectors are read together, so an error would hide the others."""
    metrics = MetricsOfPlugins({"connector": "n"})
    process = PluginProcess(plugins.connector(CONFIG).plugin.environment.folder, "test")  # type: ignore[attr-defined]
    ForeignMetrics("connector", metrics.of, process.call).answer(AddPluginMetric("a", "", 0, {}))
    process.close()
    assert metrics.read() == []


def test_late_metrics_are_not_read_again_for_some_time(plugins: Plugins) -> None:
    made = connector(plugins, trouble="slow metrics")
    asked: list[Any] = []
    call = made._metrics.call
    made._metrics.call = lambda *args, **options: (asked.append(args), call(*args, **options))[1]
    assert [metric["name"] for metric in made.context.metrics.read()] == ["starts"]
    assert made.context.metrics.read() == []
    assert asked == [(ReadPluginMetric("connector", number),) for number in (0, 1)]
    made.stop()


def test_a_connector_whose_process_ends_starts_again(plugins: Plugins) -> None:
    made = connector(plugins)
    (config,) = made.task_configs(1)
    os.kill(int(config["process"]), signal.SIGKILL)
    until(lambda: made.context.asked == 1, "it is started again and asks for new tasks")
    (after,) = made.task_configs(1)
    assert after["process"] != config["process"]
    assert made.context.errors == []
    made.stop()


def test_a_connector_that_is_stopped_does_not_start_again(plugins: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.hosts.python.connector.PAUSES_S", (6.0,))
    before = set(threading.enumerate())
    made = connector(plugins)
    (watch,) = [each for each in threading.enumerate() if each.name == "watch-n" and each not in before]
    os.kill(int(made.task_configs(1)[0]["process"]), signal.SIGKILL)
    until(lambda: made._process is None, "its end is seen")
    made.stop()
    watch.join()
    assert made._process is None
    assert made.context.metrics.read() == []


def test_a_connector_that_has_failed_does_not_start_again(plugins: Plugins) -> None:
    before = set(threading.enumerate())
    made = connector(plugins)
    process = made._process
    (watch,) = [each for each in threading.enumerate() if each.name == "watch-n" and each not in before]
    made.has_failed()
    os.kill(int(made.task_configs(1)[0]["process"]), signal.SIGKILL)
    watch.join()
    assert made._process is process, "no other one"
    assert process.gone
    assert (made.context.asked, made.context.errors) == (0, [])
    made.stop()
    assert made._process is None


def test_a_connector_that_has_used_up_its_processor_time_fails(plugins: Plugins) -> None:
    made = connector(plugins, trouble="burn", **{"penstock.plugin.max.cpu.ms": "1000"})
    with pytest.raises(ConnectError, match=r"penstock\.plugin\.max\.cpu\.ms allows 1 s"):
        made.task_configs(1)
    until(lambda: len(made.context.errors) == 1, "it is reported")
    assert "used up its processor time" in str(made.context.errors[0])
    made.stop()
