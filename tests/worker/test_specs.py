"""Specifications of tasks that are about to start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, cast

from penstock.core.model.actions import StartTask
from penstock.core.model.tasks import TaskId
from penstock.plugins import Plugins
from penstock.spark.messages.task import ADMISSIONS, Admission, AdmittedTask
from penstock.worker.specs import Specs, WorkerFacts


def test_a_task_can_start_although_its_connector_has_returned_a_null_setting() -> None:
    """In standalone mode there is no config topic that leaves such settings out."""
    worker = WorkerFacts({}, "", False, True, (), lambda: "", {})
    connector = {"name": "n", "connector.class": "FileStreamSink", "topics": "t"}
    unused = cast(Any, None)
    specs = Specs(worker, Plugins.discover(()), dict, lambda catalog, config: None, unused)
    task = cast(dict[str, str], {"file": "out", "format": None})
    spec = specs.outline(StartTask(TaskId("n", 0), 1, task, connector, False, ()))
    admission = Admission("proof", AdmittedTask(spec, 10.0))
    assert ADMISSIONS.decode(ADMISSIONS.encode(admission)) == admission
    assert spec.config == {"file": "out"}


NOT_PREPARED = """
import os, sys
from penstock.core.model.actions import StartTask
from penstock.core.model.tasks import TaskId
from penstock.settings.worker import WorkerSettings
from penstock.worker.assembly import Worker

converter = "org.apache.kafka.connect.json.JsonConverter"
config = {"bootstrap.servers": "localhost:1", "key.converter": converter, "value.converter": converter}
config |= {"offset.storage.file.filename": sys.argv[1], "listeners": "http://127.0.0.1:0"}
worker, found = Worker(WorkerSettings.standalone_of(config)), []
worker._loop.deliver = found.append
worker._redaction.learn({"database.password": "hunter22"})
failure = ValueError("refused: hunter22")
worker._parts.tasks._not_prepared(StartTask(TaskId("n", 0), 1, {}, {}, False, ()), failure)
print(found[0].trace, flush=True)
os._exit(0)
"""


def test_the_trace_of_a_task_that_could_not_be_prepared_has_no_secrets(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", NOT_PREPARED, tmp_path / "offsets"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "ValueError: refused: [hidden]"
