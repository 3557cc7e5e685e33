"""A source task as the worker outlines it."""

from __future__ import annotations

from penstock.pipeline.task import TaskSpec

SOURCE = TaskSpec(
    connector="c",
    task=0,
    run=1,
    kind="source",
    task_class="m:T",
    config={},
    connector_config={},
    worker_config={},
)
