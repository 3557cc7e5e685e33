"""A Spark that has no room for its files: its tasks say so, and run when there is room again."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from penstock.core.model.tasks import SparkDied, TaskId, TaskRunning, TaskWaiting
from penstock.pipeline.task import TaskSpec
from penstock.spark.settings import HostSettings
from support.spark.host import Hosted

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_tasks_say_that_spark_has_no_room_and_run_when_it_has_some(spec: Callable[..., TaskSpec], full_disk: Path):
    filler = full_disk / "filler"
    with suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    # With encryption Spark writes no file before a task runs, and would start.
    hosted = Hosted(HostSettings(spark={"spark.local.dir": str(full_disk), "spark.io.encryption.enabled": "false"}))
    hosted.start()
    try:
        one = spec()
        id = TaskId(one.connector, 0)
        hosted.run(one)
        (died,) = hosted.events.until(SparkDied)
        advice = f"Free space on the disk of {full_disk}, or set spark.local.dir to another folder."
        assert died.reason == f"Spark did not start: [Errno 28] No space left on device. {advice}"
        told = hosted.events.until(TaskWaiting, id)
        if told[-1].reason == "Spark is starting":
            told = hosted.events.until(TaskWaiting, id)
        assert told[-1].reason == f"{died.reason} It is being started again."
        filler.unlink()
        hosted.events.until(TaskRunning, id)
    finally:
        hosted.close(20.0)
