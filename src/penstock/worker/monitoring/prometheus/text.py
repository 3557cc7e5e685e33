"""``GET /metrics``: the worker's figures as Prometheus reads them, named as the rules of Prometheus' JMX exporter that
Kafka Connect is commonly run with (Strimzi's) name Java's MBeans, so that dashboards and alerts for those work here.

``kafka.connect:type=source-task-metrics,connector=c,task=0``'s ``source-record-poll-total`` is
``kafka_connect_source_task_source_record_poll_total{connector="c",task="0"}``. A value that is a text becomes a label
of the value 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from prometheus_client import CollectorRegistry, PlatformCollector, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from penstock.pipeline.telemetry.plugin_metrics import plain
from penstock.worker.monitoring.mbean_values import Value
from penstock.worker.monitoring.prometheus.meanings import meaning


class PrometheusText(Collector):
    """``values`` gives all metrics; it is called for every scrape."""

    def __init__(self, values: Callable[[], Iterable[Value]]) -> None:
        self._values = values
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)

    def render(self) -> bytes:
        """The text format, version 0.0.4. May be called from any thread."""
        return generate_latest(self._registry)

    def families(self) -> Iterable[Metric]:
        """All that ``render`` writes. May be called from any thread."""
        return self._registry.collect()

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for type, name, labels, value in self._values():
            whole = full_name(type, name)
            family = families.get(whole)
            if family is None:
                about = _about(type, name)
                family = families[whole] = Metric(whole.removesuffix("_total"), about, kind_of(whole))
            if isinstance(value, str):
                family.add_sample(whole, {**dict(labels), name.replace("-", "_"): value}, 1)
            else:
                family.add_sample(whole, dict(labels), value)
        yield from families.values()


def kind_of(name: str) -> str:
    """Return the kind of a metric by its full name in Prometheus."""
    return "counter" if name.endswith("_total") else "gauge"


CLIENTS = ("admin-client", "consumer", "producer")


@lru_cache(maxsize=4096)
def full_name(type: str, name: str) -> str:
    """The rules drop ``-metrics``, and the ``connect-`` of the worker's own types; those of clients name them."""
    group = type.removesuffix("-metrics").removeprefix("connect-")
    if group == "mbean":
        return name
    if group == "jvm":
        return plain(f"jvm_{name}")
    return plain(f"kafka_{'' if group.startswith(CLIENTS) else 'connect_'}{group}_{name}")


def _about(type: str, name: str) -> str:
    if (known := meaning(type, name)) is not None:
        return known
    return f"{name} of a plugin's MBeans" if type == "mbean" else f"{name} of a plugin"
