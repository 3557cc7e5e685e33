"""Dashboards and alerts have data: Strimzi's for Kafka Connect by metric name, Penstock's by every expression."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from penstock.worker.monitoring.prometheus_text import PrometheusText, described, full_name
from support.kafka.client import Kafka, Record
from support.tasks.runs import JSON
from support.waiting import until
from support.worker_process import WorkerProcess

HERE = Path(__file__).parent
GRAFANA = Path(__file__).parents[3] / "deploy" / "grafana"
STRIMZI = [line for line in (HERE / "strimzi-metrics.txt").read_text().splitlines() if not line.startswith("#")]

JOINED = {
    "kafka_connect_connector_connector_class": ("connector",),
    "kafka_connect_connector_connector_type": ("connector",),
    "kafka_connect_connector_connector_version": ("connector",),
    "kafka_connect_connector_task_status": ("connector", "task"),
}
"""Metrics that Strimzi's dashboard joins with others: the labels that must identify one series each."""

SELECTOR = re.compile(r"\b((?:kafka|jvm|process)_\w+)(?:\{([^}]*)\})?")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
Series = list[tuple[str, dict[str, str]]]


def expressions(document: Any) -> Iterator[str]:
    """Yield all expressions of a dashboard or of rules."""
    match document:
        case dict():
            for name, value in document.items():
                if name in ("expr", "definition") and isinstance(value, str):
                    yield value
                else:
                    yield from expressions(value)
        case list():
            for each in document:
                yield from expressions(each)


def selectors(expression: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return the metrics of an expression with their matchers; a dashboard's variables match anything."""
    found = SELECTOR.findall(expression)
    return [(name, [m for m in MATCHER.findall(matchers) if not m[2].startswith("$")]) for name, matchers in found]


def matches(labels: dict[str, str], matcher: tuple[str, str, str]) -> bool:
    name, how, value = matcher
    equal = re.fullmatch(value, labels.get(name, "")) is not None if "~" in how else labels.get(name, "") == value
    return equal is not how.startswith("!")


def without_data(wanted: list[str], series: Series) -> list[str]:
    """Return the expressions with a metric that has no series."""

    def there(name: str, matchers: list[tuple[str, str, str]]) -> bool:
        return any(name == each and all(matches(labels, m) for m in matchers) for each, labels in series)

    return [each for each in wanted if not all(there(*selector) for selector in selectors(each))]


def ambiguous(series: Series) -> list[tuple[str, ...]]:
    """Return labels of joined metrics that have several series: Prometheus would refuse the whole expression."""
    seen = Counter((name, *(labels[label] for label in JOINED[name])) for name, labels in series if name in JOINED)
    return [key for key, count in seen.items() if count > 1]


OURS = [
    *expressions(json.loads((GRAFANA / "penstock.json").read_text())),
    *expressions(yaml.safe_load((GRAFANA / "alerts.yaml").read_text())),
]


def test_an_expression_without_data_is_found() -> None:
    series: Series = [("kafka_a", {"x": "1"}), ("jvm_b", {})]
    known = ['sum(rate(kafka_a{x="1"}[5m])) / jvm_b', 'kafka_a{x=~"1|2",y!="3",z=~"$any"}']
    unknown = ['kafka_a{x="2"}', "sum(kafka_c)", "jvm_b + kafka_c", 'kafka_a{x!~"1"}']
    assert without_data([*known, *unknown], series) == unknown


def test_a_join_with_several_series_is_found() -> None:
    one = ("kafka_connect_connector_task_status", {"connector": "c", "task": "0", "status": "running"})
    other = ("kafka_connect_connector_task_status", {"connector": "c", "task": "0", "status": "failed"})
    assert ambiguous([one, ("kafka_a", {})]) == []
    assert ambiguous([one, other]) == [("kafka_connect_connector_task_status", "c", "0")]


def test_every_expression_of_ours_asks_for_a_metric() -> None:
    assert len(OURS) > 30
    assert all(map(selectors, OURS))


@pytest.mark.integration
def test_they_have_data(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    """The worker has a source, a sink with a dead letter, a failed task and a failed connector."""
    (tmp_path / "in.txt").write_text("".join(f"line {i}\n" for i in range(100)))
    topic, dead = kafka.create_topic(), f"{kafka.create_topic()}-dead"
    kafka.produce(topic, [Record("{", partition=0), Record('{"schema": null, "payload": 1}', partition=0)])
    queue = {"errors__tolerance": "all", "errors__deadletterqueue__topic__name": dead}
    copies = {"errors__deadletterqueue__topic__replication__factor": "1", "value__converter": JSON}
    sink = {"connector__class": "FileStreamSink", "topics": topic}
    process = {sample.name for family in PrometheusText(tuple).families() for sample in family.samples}
    known = process | {full_name(type, name) for type, name, _ in described()}
    with WorkerProcess(bootstrap, tmp_path, offset__flush__interval__ms="500") as worker:
        source = {"connector__class": "FileStreamSource", "file": str(tmp_path / "in.txt")}
        worker.put("in", topic=kafka.create_topic(), **source)
        worker.put("never", topic="x", offsets__storage__topic=kafka.create_topic(), **source)  # not compacted
        worker.put("out", file=str(tmp_path / "out.txt"), **sink, **queue, **copies)
        worker.put("broken", file="/srv/no such folder/out.txt", **sink)

        def series() -> Series:
            families = text_string_to_metric_families(worker.http.get("/metrics").text)
            return [(sample.name, sample.labels) for family in families for sample in family.samples]

        def missing() -> list[str]:
            return without_data([*STRIMZI, *OURS], series())

        with contextlib.suppress(AssertionError):
            until(lambda: not missing(), "data of every expression")
        assert missing() == []
        assert {name for name, _ in series()} - known == set(), "each has its meaning"
        assert ambiguous(series()) == []
