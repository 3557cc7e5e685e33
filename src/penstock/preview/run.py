"""One preview, from the configuration to what would happen to each record."""

from __future__ import annotations

import base64
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import ConfigError
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from penstock.hosts.python import wire
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.trace import headline
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.preview.poll import HarmfulError, harmless_tasks, poll
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


def _polled(plugins: Plugins, request: PreviewRequest) -> Batch | None:
    if request.sampled is not None:
        found: Batch | None = wire.read(base64.b64decode(request.sampled)) if request.sampled else None
        return found
    connector = plugins.connector(request.connector)()
    return poll(connector, request, harmless_tasks(connector, request))


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
