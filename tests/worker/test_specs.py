"""Specifications of tasks that are about to start."""

from __future__ import annotations

from typing import Any, cast

from penstock.core.model.actions import StartTask
from penstock.core.model.tasks import TaskId
from penstock.plugins import Plugins
from penstock.spark.messages.task import ADMISSIONS, Admission, AdmittedTask
from penstock.worker.specs import Specs, WorkerFacts


def test_a_task_can_start_although_its_connector_has_returned_a_null_setting() -> None:
    """In standalone mode no config topic leaves such settings out."""
    worker = WorkerFacts({}, "", False, True, (), lambda: "", {})
    connector = {"name": "n", "connector.class": "FileStreamSink", "topics": "t"}
    unused = cast(Any, None)
    specs = Specs(worker, Plugins.discover(()), dict, lambda catalog, config: None, unused)
    task = cast(dict[str, str], {"file": "out", "format": None})
    spec = specs.outline(StartTask(TaskId("n", 0), 1, task, connector, False, ()))
    admission = Admission("proof", AdmittedTask(spec, 10.0))
    assert ADMISSIONS.decode(ADMISSIONS.encode(admission)) == admission
    assert spec.config == {"file": "out"}
