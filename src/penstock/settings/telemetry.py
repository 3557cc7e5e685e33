"""The settings that send traces and metrics elsewhere; where to and how say OpenTelemetry's variables ``OTEL_*``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError

TRACES, METRICS, HEADERS = (f"penstock.telemetry.{each}" for each in ("traces", "metrics", "headers"))


def define_telemetry(config: ConfigDef) -> None:
    for name, meaning in (
        (
            TRACES,
            "Whether tasks record a trace of each batch and send it by OTLP. The variables `OTEL_*` of the worker say "
            "where to, and how many: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_TRACES_SAMPLER`. Needs "
            "`penstock[opentelemetry]`.",
        ),
        (
            METRICS,
            "Whether the worker sends the metrics of `GET /metrics` by OTLP as well, every "
            "`OTEL_METRIC_EXPORT_INTERVAL` milliseconds (60000). Needs `penstock[opentelemetry]`.",
        ),
        (
            HEADERS,
            "Whether records of sources get the header `traceparent` (W3C Trace Context), by which sinks continue "
            f"their trace. Only with `{TRACES}=true`.",
        ),
    ):
        config.define(name, ConfigType.BOOLEAN, False, importance=Importance.LOW, documentation=meaning)


def check_telemetry(values: Mapping[str, Any]) -> None:
    if values[HEADERS] and not values[TRACES]:
        raise ConfigError(f"`{HEADERS}=true` has no effect without `{TRACES}=true`; set both, or none of them")
