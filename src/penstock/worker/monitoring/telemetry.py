"""What a worker sends elsewhere, as its settings say; what that needs is imported only then."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

from prometheus_client.core import Metric

from penstock.api.errors import ConfigError
from penstock.settings.telemetry import METRICS, TRACES


class Sender(Protocol):
    def start(self) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Telemetry:
    senders: tuple[Sender, ...]
    variables: dict[str, str]
    """OpenTelemetry's variables, which tasks get wherever they run."""

    @classmethod
    def of(cls, values: Mapping[str, Any], families: Callable[[], Iterable[Metric]], worker: str) -> Self:
        """Raises ConfigError if something that the settings need is missing or wrong."""
        senders, variables = [], {}
        if values[TRACES]:
            _needed(TRACES, "penstock.pipeline.telemetry.otlp").exporter("trace").shutdown()
            variables = {name: value for name, value in os.environ.items() if name.startswith("OTEL_")}
        if values[METRICS]:
            senders.append(_needed(METRICS, "penstock.worker.monitoring.otlp_metrics").OtlpMetrics(families, worker))
        return cls(tuple(senders), variables)

    def start(self) -> None:
        for sender in self.senders:
            sender.start()

    def close(self) -> None:
        for sender in self.senders:
            sender.close()


def _needed(setting: str, module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"The Python module `{error.name}` is missing, which `{setting}=true` needs: "
            "pip install 'penstock[opentelemetry]'"
        ) from error
