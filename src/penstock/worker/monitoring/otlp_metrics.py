"""The metrics of ``GET /metrics``, by their names, sent by OTLP (``penstock.telemetry.metrics``).

Needs the extra ``opentelemetry``; imported only where this is switched on.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.core import Metric as Family

from penstock.api.errors import ConfigError
from penstock.pipeline.telemetry import otlp

log = logging.getLogger(__name__)

INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
CLOSE_S = 2.0


class OtlpMetrics:
    """Sends what ``families`` gives, at each interval, in a thread of its own."""

    def __init__(self, families: Callable[[], Iterable[Family]], worker: str) -> None:
        """Raises ConfigError for variables that are not valid."""
        self._families, self._resource = families, otlp.resource(worker)
        self._exporter: MetricExporter = otlp.exporter("metric")
        self._interval = _interval()
        self._began = time.time_ns()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="otlp-metrics", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Send the metrics once more; a collector that is down does not delay the worker's end."""
        self._ended.set()
        if self._thread.ident is None:  # the worker could not start
            self._exporter.shutdown()
        else:
            self._thread.join(CLOSE_S)

    def _run(self) -> None:
        while not self._ended.wait(self._interval):
            self._send()
        self._send()
        self._exporter.shutdown()

    def _send(self) -> None:
        try:
            sent = self._exporter.export(metrics_data(self._families(), self._resource, self._began, time.time_ns()))
            if sent is not MetricExportResult.SUCCESS:
                log.debug("The collector has not taken the metrics")
        except Exception:
            log.warning("The metrics could not be sent to the collector", exc_info=True)


def metrics_data(families: Iterable[Family], resource: Resource, began: int, now: int) -> MetricsData:
    """Convert Prometheus' metrics to OTLP: counters become monotonic sums since ``began``, all others gauges."""
    points: dict[str, list[NumberDataPoint]] = {}
    about: dict[str, Family] = {}
    for family in families:
        for name, labels, value, *_ in family.samples:
            if math.isfinite(value):
                about[name] = family
                points.setdefault(name, []).append(NumberDataPoint(dict(labels), began, now, value))
    metrics = [Metric(name, about[name].documentation, "", _data(about[name], points[name])) for name in points]
    scope = ScopeMetrics(InstrumentationScope(otlp.SCOPE), metrics, "")
    return MetricsData([ResourceMetrics(resource, [scope], "")])


def _data(family: Family, points: list[NumberDataPoint]) -> Sum | Gauge:
    if family.type == "counter":
        return Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)
    return Gauge(points)


def _interval() -> float:
    """Return the interval of OpenTelemetry's variable, in seconds."""
    given = os.environ.get(INTERVAL, "").strip() or "60000"
    try:
        milliseconds = float(given)
    except ValueError:
        milliseconds = 0.0
    if not 0 < milliseconds < math.inf:
        raise ConfigError(f"The variable {INTERVAL} is {given}; expected a number of milliseconds, such as 60000")
    return milliseconds / 1000
