"""The time that a task spends in each of its stages, by whole batches: it shows which stage is slowest.

The loops count ``poll``, ``put`` and ``commit``, the sender ``send``, and ``timed`` the steps between. What a task
waits for while there is nothing to do does not count.
"""

from __future__ import annotations

import time
from dataclasses import replace

from penstock.api.batch import Batch
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.telemetry.plugin_calls import PluginCalls

_STAGES = {
    PipelineStage.TRANSFORMATION: "transform",
    PipelineStage.KEY_CONVERTER: "convert",
    PipelineStage.VALUE_CONVERTER: "convert",
    PipelineStage.HEADER_CONVERTER: "convert",
}


def timed(steps: list[Step], metrics: Metrics, calls: PluginCalls | None = None) -> list[Step]:
    """Return the steps with their time counted. ``calls``: where each attempt counts as a call of its plugin."""
    calls = calls or PluginCalls()
    return [_timed(step, _STAGES[step.stage], metrics, calls) if step.stage in _STAGES else step for step in steps]


def _timed(step: Step, stage: str, metrics: Metrics, calls: PluginCalls) -> Step:
    apply, spent, clock, name = step.apply, metrics.spent, time.monotonic, f"{stage} by {step.plugin}"

    def counted(batch: Batch) -> Batch:
        began = clock()
        try:
            with calls.entered(name):
                return apply(batch)
        finally:
            spent(stage, clock() - began)

    return replace(step, apply=counted)
