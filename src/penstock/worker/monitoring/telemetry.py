"""Traces, metrics and lineage that a worker sends elsewhere.

Their libraries are imported only if settings ask for them.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from prometheus_client.core import Metric

from penstock.api.errors import ConfigError
from penstock.core.model.events import LoopEvent
from penstock.settings import WorkerSettings
from penstock.settings.telemetry import LINEAGE, LINEAGE_NAMESPACE, METRICS, TRACES
from penstock.worker.monitoring.lineage.runs import LineageConnector


class TelemetrySender(Protocol):
    def start(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Known:
    """Sources of what telemetry sends. Any thread may call these functions."""

    worker: str
    metrics: Callable[[], Iterable[Metric]]
    connector: Callable[[str], LineageConnector | None]
    resolve: Callable[[Mapping[str, str]], dict[str, str]]
    """Replaces references to config providers. May block."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    senders: tuple[TelemetrySender, ...]
    variables: dict[str, str]
    """OpenTelemetry's variables, which tasks get wherever they run."""
    observe: Callable[[LoopEvent], None] = lambda event: None
    """Called by the worker's loop with every event; returns at once."""

    @classmethod
    def of(cls, settings: WorkerSettings, known: Known) -> Self:
        """Raises ConfigError if something that the settings need is missing or wrong."""
        values, senders, variables = settings.values, [], {}
        observers: dict[str, Any] = {}
        if values[TRACES]:
            _needed(TRACES, "penstock.pipeline.telemetry.otlp").exporter("trace").shutdown()
            variables = {name: value for name, value in os.environ.items() if name.startswith("OTEL_")}
        if values[METRICS]:
            module = _needed(METRICS, "penstock.worker.monitoring.otlp_metrics")
            senders.append(module.OtlpMetrics(known.metrics, known.worker))
        if values[LINEAGE]:
            senders.append(lineage := _lineage(settings, known))
            observers = {"observe": lineage.observe}
        return cls(tuple(senders), variables, **observers)

    def start(self) -> None:
        for sender in self.senders:
            sender.start()

    def close(self) -> None:
        for sender in self.senders:
            sender.close()


def _lineage(settings: WorkerSettings, known: Known) -> Any:
    sender = _needed(LINEAGE, "penstock.worker.monitoring.lineage.sender", "openlineage")
    group = settings.group.group_id if settings.group else "standalone"
    namespace = settings.values[LINEAGE_NAMESPACE] or group
    place = sender.JobPlace(namespace, known.worker, settings.bootstrap_servers)
    return sender.Lineage(settings.config, place, known.connector, known.resolve)


def _needed(setting: str, module: str, extra: str = "opentelemetry") -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"The Python module `{error.name}` is missing, which `{setting}=true` needs: "
            f"pip install 'penstock[{extra}]'"
        ) from error
