"""Metrics of Kafka's clients, those of tasks and the worker's own, by the names they have in Java's JMX."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from penstock.worker.monitoring.task_values import Labels, Value

TOPICS = {"producer": "producer-topic-metrics", "consumer": "consumer-fetch-manager-metrics"}


def client_values(clients: Iterable[Mapping[str, Any]]) -> Iterator[Value]:
    """As ``Statistics.described`` gives each; clients of the same name count as one."""
    sums: defaultdict[tuple[str, str, Labels], float] = defaultdict(float)
    for client in clients:
        for type, name, labels, value in _values(client):
            sums[type, name, labels] += value
    for (type, name, labels), total in sums.items():
        yield Value(type, name, labels, total)


def _values(client: Mapping[str, Any]) -> Iterator[tuple[str, str, Labels, float]]:
    kind, labels = client["kind"], (("clientid", client["client_id"]),)
    for name, value in client["values"].items():
        yield f"{kind}-metrics", name, labels, value
    if kind not in TOPICS:
        return
    for topic, values in client["topics"].items():
        for name, value in values.items():
            yield TOPICS[kind], name, (*labels, ("topic", topic)), value
    for place in client.get("partitions", ()):
        where = (*labels, ("topic", place["topic"]), ("partition", str(place["partition"])))
        yield TOPICS[kind], "records-lag", where, place["records-lag"]
