"""What a worker sends to a collector, and what it says if it can't."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.settings import WorkerSettings
from penstock.worker.monitoring.prometheus import PrometheusText
from penstock.worker.monitoring.task_values import Value
from penstock.worker.monitoring.telemetry import Telemetry
from support.otlp import Collector, attributes

VALUES = (
    Value("source-task-metrics", "source-record-poll-total", (("connector", "c"), ("task", "0")), 7),
    Value("source-task-metrics", "source-record-poll-total", (("connector", "c"), ("task", "1")), 8),
    Value("connector-metrics", "status", (("connector", "c"),), "running"),
    Value("connect-worker-metrics", "task-count", (), 2),
    Value("connect-worker-rebalance-metrics", "time-since-last-rebalance-ms", (), float("inf")),
)
OFF = {"penstock.telemetry.traces": False, "penstock.telemetry.metrics": False}
TRACES = {**OFF, "penstock.telemetry.traces": True}
METRICS = {**OFF, "penstock.telemetry.metrics": True}


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
        yield collector


def telemetry(values: dict[str, bool]) -> Telemetry:
    return Telemetry.of(values, PrometheusText(lambda: VALUES).families, "host:8083")


def test_a_collector_gets_what_prometheus_reads(collector: Collector) -> None:
    made = telemetry(METRICS)
    made.start()
    made.close()
    sent = {metric.name: metric for metric in collector.metrics()}
    names = {line.split("{")[0].split()[0] for line in scraped() if not line.startswith("#")}
    assert sent.keys() == names - {"kafka_connect_worker_rebalance_time_since_last_rebalance_ms"}
    polled = sent["kafka_connect_source_task_source_record_poll_total"].sum
    assert polled.is_monotonic
    assert [(attributes(point), point.as_double or point.as_int) for point in polled.data_points] == [
        ({"connector": "c", "task": "0"}, 7),
        ({"connector": "c", "task": "1"}, 8),
    ]
    (status,) = sent["kafka_connect_connector_status"].gauge.data_points
    assert attributes(status) == {"connector": "c", "status": "running"}
    (request,) = collector.received
    resource = attributes(request.resource_metrics[0].resource)
    assert (resource["service.name"], resource["service.instance.id"]) == ("penstock", "host:8083")


def scraped() -> list[str]:
    return PrometheusText(lambda: VALUES).render().decode().splitlines()


def test_only_what_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k")
    assert telemetry(OFF) == Telemetry((), {})
    traces = telemetry(TRACES)
    assert (traces.senders, traces.variables["OTEL_EXPORTER_OTLP_HEADERS"]) == ((), "api-key=k")


@pytest.mark.parametrize("values", [TRACES, METRICS])
def test_a_missing_extra_is_named(values: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("penstock.") and "otlp" in name]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.metrics.export", None)
    with pytest.raises(ConfigError, match=r"`penstock\.telemetry\.\w+=true` needs: pip install 'penstock\[opentele"):
        telemetry(values)


def test_an_interval_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1m")
    with pytest.raises(ConfigError, match="OTEL_METRIC_EXPORT_INTERVAL is 1m; right is a number of milliseconds"):
        telemetry(METRICS)


def test_headers_without_traces_are_refused() -> None:
    config = {
        "bootstrap.servers": "localhost:9092",
        "key.converter": "k",
        "value.converter": "v",
        "offset.storage.file.filename": "f",
        "penstock.telemetry.headers": "true",
    }
    with pytest.raises(ConfigError, match=r"no effect without `penstock\.telemetry\.traces=true`"):
        WorkerSettings.standalone_of(config)
