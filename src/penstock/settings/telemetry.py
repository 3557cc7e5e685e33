"""The settings that send traces, metrics and lineage elsewhere.

Where traces and metrics go to and how say OpenTelemetry's variables ``OTEL_*``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError

TRACES, METRICS, HEADERS = (f"penstock.telemetry.{each}" for each in ("traces", "metrics", "headers"))

LINEAGE, LINEAGE_NAMESPACE = "penstock.openlineage.enabled", "penstock.openlineage.namespace"
LINEAGE_TRANSPORT = "penstock.openlineage.transport."
"""The settings of a transport by the names that openlineage-python has for them."""


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
    _define_lineage(config)


def _define_lineage(config: ConfigDef) -> None:
    config.define(
        LINEAGE,
        ConfigType.BOOLEAN,
        False,
        importance=Importance.LOW,
        documentation="Whether the worker sends events of OpenLineage: what its connectors read and write, run by run. "
        "Needs `penstock[openlineage]`.",
    )
    for name, type, meaning in (
        ("namespace", ConfigType.STRING, "The namespace of the jobs; by default the worker's `group.id`."),
        (
            "transport.type",
            ConfigType.STRING,
            "Where events go to: `http`, `file`, or another transport of openlineage-python, whose settings begin with "
            f"`{LINEAGE_TRANSPORT}` too. By default what `openlineage.yml` or variables `OPENLINEAGE_*` say.",
        ),
        (
            "transport.url",
            ConfigType.STRING,
            "With `http`: the address of the collector, such as `http://marquez:5000`.",
        ),
        ("transport.auth.apiKey", ConfigType.PASSWORD, "With `http`: the key that the collector wants."),
        ("transport.log_file_path", ConfigType.STRING, "With `file`: the file that events are appended to."),
    ):
        config.define(f"penstock.openlineage.{name}", type, None, importance=Importance.LOW, documentation=meaning)


def check_telemetry(values: Mapping[str, Any]) -> None:
    if values[HEADERS] and not values[TRACES]:
        raise ConfigError(f"`{HEADERS}=true` has no effect without `{TRACES}=true`; set both, or none of them")
