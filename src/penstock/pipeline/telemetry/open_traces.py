"""Opens the traces of a run of a task. Apart from ``traces``, which ``spans`` needs, so that imports make no circle."""

from __future__ import annotations

import importlib
import logging

from penstock.pipeline.task import TaskSpec
from penstock.pipeline.telemetry.traces import NO_TRACES, TRACES, NoTraces, is_on

log = logging.getLogger(__name__)


def open_traces(spec: TaskSpec) -> NoTraces:
    """Open the traces of a run of a task, as its worker's settings say."""
    if not is_on(spec.worker_config, TRACES):
        return NO_TRACES
    try:
        spans = importlib.import_module("penstock.pipeline.telemetry.spans")
    except ImportError as error:
        log.warning(
            "No traces of %s-%d: the Python module `%s` is missing here: pip install 'penstock[opentelemetry]'",
            spec.connector,
            spec.task,
            error.name,
        )
        return NO_TRACES
    traces: NoTraces = spans.Spans.of(spec)
    return traces
