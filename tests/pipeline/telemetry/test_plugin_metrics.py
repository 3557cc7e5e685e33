"""The metrics of plugins (KIP-877): what they register, and what comes of it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from penstock.api.batch import Batch
from penstock.api.plugin_metrics import Monitorable, PluginMetrics
from penstock.api.transform import Predicate, Transformation
from penstock.pipeline.chain import Chain
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.spark.messages.task import FROM_TASK, MetricsReport
from penstock.worker.monitoring.mbean_values import plugin_values
from penstock.worker.monitoring.prometheus_text import PrometheusText

TASK = {"connector": "c", "task": "0"}


class Counting(Transformation, Monitorable):
    java_name = "x.Counting"
    seen = 0

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        metrics.add("seen-total", "Records that it has seen", lambda: self.seen, {"kind": "all"})

    def apply_batch(self, batch: Batch) -> Batch:
        self.seen += len(batch)
        return batch


def test_a_transform_counts() -> None:
    plugins = MetricsOfPlugins(TASK)
    config = {"transforms": "a,b", "transforms.a.type": "x.Counting", "transforms.b.type": "x.Counting"}
    for step in Chain.build(config, lambda kind, name: Counting, plugins).steps[:1]:
        step.apply(Batch.of("t", ["1", "2"]))
    assert [(each["name"], each["tags"], each["value"]) for each in plugins.read()] == [
        ("seen-total", {**TASK, "transformation": "a", "kind": "all"}, 2.0),
        ("seen-total", {**TASK, "transformation": "b", "kind": "all"}, 0.0),
    ]


class Watching(Predicate, Monitorable):
    java_name = "x.Watching"
    seen = 0

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        metrics.add("tested-total", "Records that it has seen", lambda: self.seen)

    def test_batch(self, batch: Batch) -> list[bool]:
        self.seen += len(batch)
        return [True] * len(batch)


def test_a_predicate_of_two_transforms_registers_its_metrics_once() -> None:
    plugins = MetricsOfPlugins(TASK)
    config = {"transforms": "a,b", "predicates": "p", "predicates.p.type": "x.Watching"}
    for alias in ("a", "b"):
        config |= {f"transforms.{alias}.type": "x.Counting", f"transforms.{alias}.predicate": "p"}
    chain = Chain.build(config, lambda kind, name: Watching if kind == "predicate" else Counting, plugins)
    for step in chain.steps:
        step.apply(Batch.of("t", ["1", "2"]))
    tested = [each for each in plugins.read() if each["name"] == "tested-total"]
    assert [(each["tags"], each["value"]) for each in tested] == [({**TASK, "predicate": "p"}, 2.0)]


def test_what_is_added_can_be_removed() -> None:
    plugins = MetricsOfPlugins(TASK)
    metrics = plugins.of(converter="key")
    metrics.add("bytes-total", "", lambda: 1)
    metrics.remove("bytes-total")
    assert plugins.read() == []
    with pytest.raises(ValueError, match="There is no metric bytes-total"):
        metrics.remove("bytes-total")


def test_whatever_plugins_add_can_be_shown() -> None:
    """A task sends it as JSON."""
    plugins = MetricsOfPlugins(TASK)
    shard: Any = 1
    for value in (float("nan"), float("inf"), 7.0):
        plugins.of().add(f"is-{value}", "", partial(float, value), {"shard": shard})
    reported = FROM_TASK.decode(FROM_TASK.encode(MetricsReport({"metrics": plugins.read()})))
    assert isinstance(reported, MetricsReport)
    shown = PrometheusText(lambda: plugin_values(reported.values["metrics"])).render().decode()
    assert 'kafka_connect_plugins_is_7_0{connector="c",shard="1",task="0"} 7.0' in shown
    assert "is_nan" not in shown


def broken() -> float:
    raise OSError("away")


def test_a_value_that_cannot_be_had_hides_no_other() -> None:
    plugins = MetricsOfPlugins(TASK)
    metrics = plugins.of()
    metrics.add("away", "", broken)
    metrics.add("there", "", lambda: 7)
    assert [(each["name"], each["value"]) for each in plugins.read()] == [("there", 7.0)]


@pytest.mark.parametrize(
    ("name", "tags", "said"),
    [
        ("rows-total", {}, "There is a metric rows-total with"),
        ("rows_total", {}, "There is a metric rows_total with"),
        ("", {}, "is no name of a metric"),
        ("a b", {}, "is no name of a metric"),
        ("new", {"task": "1"}, "The tag 'task' is set by the runtime"),
        ("new", {"-": "1"}, "must begin with a letter"),
    ],
)
def test_what_is_refused(name: str, tags: dict[str, str], said: str) -> None:
    metrics: Any = MetricsOfPlugins(TASK).of()
    metrics.add("rows-total", "", lambda: 1)
    with pytest.raises(ValueError, match=said):
        metrics.add(name, "", lambda: 1, tags)
