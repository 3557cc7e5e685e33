"""One preview, from the configuration to what would happen to each record."""

from __future__ import annotations

from typing import Any

from penstock.api.batch import Batch
from penstock.api.connector import SourceConnector
from penstock.api.errors import ConfigError, ConnectError
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.preview.poll import poll
from penstock.preview.request import PreviewRequest
from penstock.preview.sample import sample
from penstock.preview.steps import steps_of, traced


def preview(request: PreviewRequest) -> dict[str, Any]:
    """``kind``, ``records`` and ``error``: what kept it from being tried at all, with the stage."""
    kind, stage = "unknown", "CONFIGURATION"
    try:
        java = JavaSettings.of(request.worker, tuple(request.plugin_path))
        plugins = Plugins.discover(tuple(request.plugin_path), task_classes(java), request.worker)
        kind, resolve = plugins.kind(request.connector), plugins.resolver(request.connector)
        with task_jvm(_spec(request, kind)), steps_of(request.connector, request.worker, resolve, kind) as steps:
            stage = "KAFKA_CONSUME" if kind == "sink" else "TASK_POLL"
            batch = sample(request) if kind == "sink" else _polled(plugins, request)
            rows = [] if batch is None else [batch.select([i]) for i in range(len(batch))]
            records = [traced(row, steps) for row in rows]
    except Exception as error:
        message = str(error) if isinstance(error, (ConfigError, HarmfulError)) else headline(error)
        return {"kind": kind, "records": [], "error": {"stage": stage, "message": message}}
    return {"kind": kind, "records": records, "error": None}


class HarmfulError(ConnectError):
    """A source that may not be polled, or not without being asked for it."""


def _polled(plugins: Plugins, request: PreviewRequest) -> Batch | None:
    connector = plugins.connector(request.connector)()
    if getattr(connector.task_class(), "kind", "") == "query":
        name = request.connector.get("connector.class")
        raise HarmfulError(
            f"{name} can't be previewed: its records are made by a query of Spark, which would have to run"
        )
    made = connector.tasks_for_preview(request.connector) if isinstance(connector, SourceConnector) else None
    if made is None and not request.poll and not getattr(connector, "polling_is_harmless", False):
        name = request.connector.get("connector.class")
        raise HarmfulError(f'{name} does not say that polling it is harmless: ask for it explicitly, with "poll": true')
    return poll(connector, request, made)


def _spec(request: PreviewRequest, kind: str) -> TaskSpec:
    return TaskSpec(
        connector=request.connector.get("name", "preview"),
        task=0,
        run=0,
        kind=kind,
        task_class="",
        config=request.connector,
        connector_config=request.connector,
        worker_config=request.worker,
        plugin_path=tuple(request.plugin_path),
    )
