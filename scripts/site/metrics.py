"""The page of the metrics at ``GET /metrics``, made from what the worker says of them."""

from __future__ import annotations

import html

from penstock.worker.monitoring.prometheus_text import PrometheusText, described, full_name, kind_of

SECTIONS = {
    "connect-worker-metrics": ("The worker", "Those of a connector's tasks have the label `connector`."),
    "connect-worker-rebalance-metrics": ("Rebalances", "Of distributed workers."),
    "connect-coordinator-metrics": ("Assignment", "Of distributed workers."),
    "connector-metrics": ("Connectors", "Label `connector`."),
    "connector-task-metrics": (
        "Tasks",
        "Labels `connector` and `task`; stages have `stage`; places have `direction`, `unit`, and `topic` and "
        "`partition`, or `source`.",
    ),
    "source-task-metrics": ("Tasks of sources", "Labels `connector` and `task`."),
    "sink-task-metrics": ("Tasks of sinks", "Labels `connector` and `task`."),
    "task-error-metrics": ("Errors of tasks", "Labels `connector` and `task`."),
    "connect-spark-metrics": ("Applications of Spark", "Label `application`: `hosted` or `queries`."),
    "jvm": ("Java of Spark", "Label `application`: `hosted` or `queries`; and `area`, or `gc`."),
    "admin-client-metrics": ("Admin clients", "Label `clientid`."),
    "consumer-metrics": ("Consumers", "Label `clientid`."),
    "consumer-fetch-manager-metrics": ("Consumers by topic", "Labels `clientid` and `topic`; the lag has `partition`."),
    "producer-metrics": ("Producers", "Label `clientid`."),
    "producer-topic-metrics": ("Producers by topic", "Labels `clientid` and `topic`."),
}
"""Titles and labels, by the type of Java's MBean."""


def page() -> str:
    rows: dict[str, list[str]] = {type: [] for type in SECTIONS}
    for type, name, meaning in described():
        rows[type].append(_row(full_name(type, name), meaning))
    parts = [
        "# Metrics",
        "What `GET /metrics` of a worker has, in Prometheus' format; and [OTLP](../how-to/telemetry.md), if it is "
        "switched on. Names are those that the common rules of Prometheus' JMX exporter give Java Connect's MBeans. "
        "Those with `penstock` are not in Java Connect. A value that is a text is a label, and the metric is 1. Rates "
        "and averages are of the task's present run, rates of its last half minute; totals begin again with each run.",
    ]
    for type, (title, labels) in SECTIONS.items():
        parts += [f"## {title}", labels, _table(rows[type])]
    process = [
        _row(sample.name, family.documentation.rstrip("."))
        for family in PrometheusText(tuple).families()
        for sample in family.samples
    ]
    parts += ["## The worker's process", "Of the worker alone, not of its tasks.", _table(process)]
    parts += [
        "## Plugins",
        "Metrics that plugins add (KIP-877) are `kafka_connect_plugins_<name>`; those of MBeans of plugins from jars "
        "have the MBean's name. [More](../health.md#metrics-for-dashboards)",
    ]
    return "\n\n".join(parts) + "\n"


def _row(name: str, meaning: str) -> str:
    return f"| `{name}` | {kind_of(name)} | {html.escape(meaning, quote=False).replace('|', '&#124;')} |"


def _table(rows: list[str]) -> str:
    return "\n".join(["| metric | type | meaning |", "|---|---|---|", *rows])
