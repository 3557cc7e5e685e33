"""Exporters to a collector of OpenTelemetry, and the resource, by the variables ``OTEL_*``.

Imported only where telemetry is switched on; needs the extra ``opentelemetry``.
"""

from __future__ import annotations

import importlib
import os
from importlib.metadata import version
from typing import Any, Literal

from opentelemetry.sdk.resources import (
    SERVICE_INSTANCE_ID,
    SERVICE_NAME,
    SERVICE_VERSION,
    OTELResourceDetector,
    Resource,
)

from penstock.api.errors import ConfigError

SERVICE = "penstock"
SCOPE = "penstock"
_EXPORTERS = {
    "http/protobuf": "opentelemetry.exporter.otlp.proto.http",
    "grpc": "opentelemetry.exporter.otlp.proto.grpc",
}


def resource(instance: str | None = None) -> Resource:
    """Return the resource of the service ``penstock``, or of the one that the variables ``OTEL_*`` name."""
    own = {SERVICE_NAME: SERVICE, SERVICE_VERSION: version("penstock")}
    own |= {} if instance is None else {SERVICE_INSTANCE_ID: instance}
    return Resource.create(own).merge(OTELResourceDetector().detect())


def exporter(signal: Literal["trace", "metric"]) -> Any:
    """Raises ConfigError for a protocol that there is not."""
    variables = (f"OTEL_EXPORTER_OTLP_{signal.upper()}S_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    name = next((name for name in variables if os.environ.get(name, "").strip()), variables[-1])
    protocol = os.environ.get(name, "").strip() or "http/protobuf"
    if protocol not in _EXPORTERS:
        raise ConfigError(f"The variable {name} is {protocol}; expected {' or '.join(_EXPORTERS)}")
    module = importlib.import_module(f"{_EXPORTERS[protocol]}.{signal}_exporter")
    return module.OTLPSpanExporter() if signal == "trace" else module.OTLPMetricExporter()
