"""Telemetry that a worker exports to a collector, and its messages if it cannot."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator

import pytest

from penstock.api.errors import ConfigError
from penstock.settings import WorkerSettings
from penstock.worker.monitoring import otlp_metrics
from penstock.worker.monitoring.mbean_values import Value
from penstock.worker.monitoring.prometheus_text import PrometheusText
from penstock.worker.monitoring.telemetry import Known, Telemetry
from support.otlp import Collector, attributes

CONFIG = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": "k",
    "value.converter": "v",
    "offset.storage.file.filename": "f",
}
VALUES = (
    Value("source-task-metrics", "source-record-poll-total", (("connector", "c"), ("task", "0")), 7),
    Value("source-task-metrics", "source-record-poll-total", (("connector", "c"), ("task", "1")), 8),
    Value("connector-metrics", "status", (("connector", "c"),), "running"),
    Value("connect-worker-metrics", "task-count", (), 2),
    Value("connect-worker-rebalance-metrics", "time-since-last-rebalance-ms", (), float("inf")),
)
TRACES, METRICS, LINEAGE = (
    f"penstock.{each}" for each in ("telemetry.traces", "telemetry.metrics", "openlineage.enabled")
)


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "3600000")
        yield collector


def telemetry(*on: str) -> Telemetry:
    settings = WorkerSettings.standalone_of({**CONFIG, **dict.fromkeys(on, "true")})
    return Telemetry.of(settings, Known("host:8083", PrometheusText(lambda: VALUES).families, lambda name: None, dict))


def test_a_collector_gets_what_prometheus_reads(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp_metrics, "CLOSE_S", 60.0)
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


def test_a_worker_that_could_not_start_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    before = set(threading.enumerate())
    made = telemetry(METRICS, LINEAGE)
    assert len(made.senders) == 2
    made.close()
    assert [each.name for each in threading.enumerate() if each not in before and not each.daemon] == []


def scraped() -> list[str]:
    return PrometheusText(lambda: VALUES).render().decode().splitlines()


def test_only_what_is_switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=k")
    off = telemetry()
    assert (off.senders, off.variables) == ((), {})
    traces = telemetry(TRACES)
    assert (traces.senders, traces.variables["OTEL_EXPORTER_OTLP_HEADERS"]) == ((), "api-key=k")


@pytest.mark.parametrize(
    ("setting", "needed", "extra"),
    [
        (TRACES, "opentelemetry.sdk.resources", "opentelemetry"),
        (METRICS, "opentelemetry.sdk.metrics.export", "opentelemetry"),
        (LINEAGE, "openlineage.client", "openlineage"),
    ],
)
def test_a_missing_extra_is_named(setting: str, needed: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [
        name for name in sys.modules if name.startswith("penstock.") and ("otlp" in name or "lineage" in name)
    ]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, needed, None)
    with pytest.raises(ConfigError, match=rf"`{re.escape(setting)}=true` needs: pip install 'penstock\[{extra}\]'"):
        telemetry(setting)


def test_an_interval_that_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1m")
    with pytest.raises(ConfigError, match="OTEL_METRIC_EXPORT_INTERVAL is 1m; expected a number of milliseconds"):
        telemetry(METRICS)


def test_headers_without_traces_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"no effect without `penstock\.telemetry\.traces=true`"):
        telemetry("penstock.telemetry.headers")
