"""Attributes of MBeans, by Java's names: those that a task's report gives, and those of Kafka's clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

SOURCE = ("source-record-", "poll-batch-", "transaction-size-")
SINK = ("sink-record-", "put-batch-", "offset-commit-seq-no", "offset-commit-completion-", "offset-commit-skip-")
ERROR = ("total-", "deadletterqueue-", "last-error-timestamp")
STAGE = "penstock-stage-"
PLACE = (("position", "position"), ("records-total", "records"), ("behind", "behind"), ("rate", "per_second"))
Labels = tuple[tuple[str, str], ...]


class Value(NamedTuple):
    """An attribute of an MBean. ``labels`` are the MBean's own, connector and task; texts are values as well."""

    type: str
    name: str
    labels: Labels
    value: float | str


def task_values(labels: Labels, values: Mapping[str, Any]) -> Iterator[Value]:
    """``labels`` are those of the task."""
    for name, value in values.items():
        if isinstance(value, (str, list)):
            continue
        if name.startswith(STAGE):
            stage, _, ending = name.removeprefix(STAGE).partition("-seconds")
            if ending == "-total":  # Prometheus makes rates of it
                yield Value("connector-task-metrics", f"{STAGE}seconds-total", (*labels, ("stage", stage)), value)
        else:
            yield Value(type_of(name), name, labels, value)
    yield from _places(labels, values.get("penstock-places", ()))


def type_of(name: str) -> str:
    """The MBean of a task's metric of this name."""
    if name.startswith(SOURCE):
        return "source-task-metrics"
    if name.startswith(SINK) or name == "partition-count":
        return "sink-task-metrics"
    return "task-error-metrics" if name.startswith(ERROR) else "connector-task-metrics"


def _places(labels: Labels, places: Iterable[Mapping[str, Any]]) -> Iterator[Value]:
    for place in places:
        where = (("direction", place["direction"]), *_where(place, "topic", "partition", "source"))
        unit = (("unit", place["unit"]),)
        for name, key in PLACE:
            if place.get(key) is not None:
                yield Value("connector-task-metrics", f"penstock-place-{name}", (*labels, *where, *unit), place[key])


def _where(place: Mapping[str, Any], *names: str) -> Labels:
    return tuple((name, str(place[name])) for name in names if name in place)


def plugin_values(metrics: Iterable[Mapping[str, Any]]) -> Iterator[Value]:
    """Plugins' own: KIP-877's, and their MBeans'."""
    for metric in metrics:
        type = "mbean" if metric.get("mbean") else "plugins"
        yield Value(type, metric["name"], tuple(metric["tags"].items()), metric["value"])


TOPIC_METRICS = {"producer": "producer-topic-metrics", "consumer": "consumer-fetch-manager-metrics"}


def client_values(clients: Iterable[Mapping[str, Any]]) -> Iterator[Value]:
    """Yield the values of clients as ``Statistics.described`` returns them; clients of the same name count as one."""
    sums: defaultdict[tuple[str, str, Labels], float] = defaultdict(float)
    for client in clients:
        for type, name, labels, value in _client_values(client):
            sums[type, name, labels] += value
    for (type, name, labels), total in sums.items():
        yield Value(type, name, labels, total)


def _client_values(client: Mapping[str, Any]) -> Iterator[tuple[str, str, Labels, float]]:
    kind, labels = client["kind"], (("clientid", client["client_id"]),)
    for name, value in client["values"].items():
        yield f"{kind}-metrics", name, labels, value
    if kind not in TOPIC_METRICS:
        return
    for topic, values in client["topics"].items():
        for name, value in values.items():
            yield TOPIC_METRICS[kind], name, (*labels, ("topic", topic)), value
    for place in client.get("partitions", ()):
        where = (*labels, ("topic", place["topic"]), ("partition", str(place["partition"])))
        yield TOPIC_METRICS[kind], "records-lag", where, place["records-lag"]
