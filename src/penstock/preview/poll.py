"""Records of a source for a preview, from a task made for it, which starts at the beginning and is thrown away."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.api.batch import Batch
from penstock.api.connector import Connector, SourceConnector
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.kafka import KafkaClients
from penstock.api.plugin_metrics import PluginMetrics
from penstock.api.returned import polled_batch, task_configs
from penstock.api.source import SourceTask
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS, InternalTopics
from penstock.kafka.connector_clients import ConnectorClients
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.preview.messages import PreviewRequest

IDLE_S = 3.0
"""Time without records after which a source counts as read."""


@dataclass(slots=True)
class NoOffsets:
    """An ``OffsetReader`` of a source without committed offsets."""

    def offset(self, partition: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return None

    def offsets(self, partitions: Sequence[Mapping[str, Any] | None]) -> list[dict[str, Any] | None]:
        return [None for _ in partitions]


@dataclass(frozen=True, slots=True)
class PreviewContext:
    """A ``SourceTaskContext`` and a ``ConnectorContext``."""

    configs: Mapping[str, str]
    offset_reader: NoOffsets = field(default_factory=NoOffsets)
    transaction: None = None
    plugin_metrics: PluginMetrics = field(default_factory=lambda: MetricsOfPlugins({}).of())
    internal: InternalTopics = NO_INTERNAL_TOPICS

    @property
    def kafka(self) -> KafkaClients:
        return ConnectorClients(lambda: self.internal)

    def request_task_reconfiguration(self) -> None:
        pass

    def raise_error(self, error: Exception) -> None:
        raise error


class HarmfulError(ConnectError):
    """Polling a source for a preview may do harm, and the request does not ask for it explicitly."""


def harmless_tasks(connector: Connector, request: PreviewRequest) -> list[dict[str, str]] | None:
    """Return configurations of tasks that may be polled, or None if the connector is to be started and asked.

    Raises HarmfulError.
    """
    source = connector if isinstance(connector, SourceConnector) else None
    connector.context = PreviewContext(dict(request.connector), internal=request.internal_topics)  # type: ignore[assignment]
    made = None if source is None else source.tasks_for_preview(request.connector)
    if made is None and not request.poll and not (source is not None and source.polling_is_harmless):
        name = request.connector.get("connector.class")
        raise HarmfulError(f'{name} does not say that polling it is harmless: ask for it explicitly, with "poll": true')
    return made


def poll(connector: Connector, request: PreviewRequest, configs: list[dict[str, str]] | None = None) -> Batch | None:
    """Poll at most ``limit`` records; return None if there are none. Raises what the connector raises.

    ``configs``: configurations of its tasks; without them the connector is started and asked.
    """
    task_class = connector.task_class()
    if not issubclass(task_class, SourceTask):
        raise ConnectError(f"The tasks of {request.connector.get('connector.class')} can't be polled for a preview")
    if configs is None:
        configs = _task_configs(connector, request)
    if not configs:
        return None
    task = task_class()
    task.context = PreviewContext(dict(configs[0]), internal=request.internal_topics)
    try:
        task.start(dict(configs[0]))
        return _polled(task, request)
    finally:
        task.stop()


def _task_configs(connector: Connector, request: PreviewRequest) -> list[dict[str, str]]:
    config = dict(request.connector)
    connector.context = PreviewContext(config, internal=request.internal_topics)  # type: ignore[assignment]
    connector.start(config)
    try:
        return task_configs(connector.task_configs(1))
    finally:
        connector.stop()


def _polled(task: SourceTask, request: PreviewRequest) -> Batch | None:
    found: list[Batch] = []
    deadline = time.monotonic() + request.seconds
    idle_since = time.monotonic()
    while sum(map(len, found)) < request.limit and time.monotonic() < deadline:
        try:
            given = task.poll()
        except RetriableError:
            given = None
        if (batch := polled_batch(given)) is None:
            if time.monotonic() - idle_since > IDLE_S:
                break
            time.sleep(min(task.idle(), 0.2))
            continue
        idle_since = time.monotonic()
        found.append(batch)
    if not found:
        return None
    everything = Batch.concat(found) if len(found) > 1 else found[0]
    return everything.select(list(range(min(request.limit, len(everything)))))
