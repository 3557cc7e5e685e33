from __future__ import annotations

import json
import logging
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hosts.python.plugins import source_wheel
from penstock.core.model.tasks import SparkReady, TaskEnded, TaskId, TaskRunning, TaskWaiting, TopicSeen
from penstock.embedded.ports import free_port
from penstock.hosts.python.environment import FOLDER, pack
from penstock.hosts.python.install import install
from penstock.hosts.python.tasks import EnvironmentSourceTask
from penstock.pipeline.task import TaskSpec
from penstock.spark.settings import HostSettings
from support.spark.class_data import EXECUTORS_JAVA, java_options
from support.spark.host import Hosted
from support.waiting import until

pytestmark = [pytest.mark.integration, pytest.mark.slow]

TASK = f"{EnvironmentSourceTask.__module__}:{EnvironmentSourceTask.__qualname__}"


def test_tasks_run_on_the_executors_of_a_cluster_and_are_seen_in_its_pages(
    spec: Callable[..., TaskSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One of them of a plugin with an environment of its own, which Spark brings in an archive."""
    monkeypatch.chdir(tmp_path)  # Spark's workers have a folder `work` where they are
    environment = packed(tmp_path)
    caplog.set_level(logging.INFO)
    port = free_port()
    cluster = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.ui.enabled": "true",
        "spark.ui.port": str(port),
        "spark.archives": f"{tmp_path}/plugins.tar.gz#{FOLDER}",
        EXECUTORS_JAVA: java_options(),
    }
    hosted = Hosted(HostSettings(spark=cluster))
    hosted.start()
    try:
        assert hosted.events.until(SparkReady) == [SparkReady(2)]
        tasks = [spec("count") for _ in range(3)]
        ids = [TaskId(each.connector, 0) for each in tasks]
        for each, id in zip(tasks[:2], ids, strict=False):
            hosted.run(each)
            hosted.events.until(TaskRunning, id)
        hosted.run(tasks[2])
        waiting = hosted.events.until(TaskWaiting, ids[2])[0]
        assert waiting.reason == "No slot of Spark is free: all 2 slots for tasks are taken"
        assert seen(f"http://127.0.0.1:{port}/api/v1/applications", "Connector " + ids[0].connector) == {
            "source-record-poll-total": "3"
        }
        until(lambda: "Counting" in caplog.messages, "the task's line")
        hosted.stop(ids[0])
        hosted.events.until(TaskEnded, ids[0])
        hosted.events.until(TaskRunning, ids[2])
        hosted.stop(ids[2])
        foreign = replace(spec("made", topic="t"), task_class=TASK, environment=environment)
        hosted.run(foreign)
        events = hosted.events.until(TaskRunning, TaskId(foreign.connector, 0))
        assert [each.topic for each in events if isinstance(each, TopicSeen)] == ["v1:0"]
    finally:
        hosted.close(20.0)


def packed(folder: Path) -> dict[str, str]:
    """Return the place of a plugin's task whose environment is only in ``plugins.tar.gz``."""
    made = install(source_wheel(folder / "wheels"), folder / "plugins")
    pack([made], folder / "plugins.tar.gz")
    shutil.rmtree(folder / "plugins")
    return {"folder": str(made.folder), "target": "one_source:Source", "class": "one_source.Task"}


def seen(pages: str, description: str) -> dict[str, str]:
    """Wait until the job with this description shows accumulators, and return them."""

    def get(path: str) -> Any:
        with urllib.request.urlopen(pages + path) as answer:
            return json.load(answer)

    application = "/" + get("")[0]["id"]
    deadline = time.monotonic() + 900.0
    while time.monotonic() < deadline:
        for job in get(application + "/jobs?status=running"):
            if job.get("description", "").startswith(description):
                stage = get(f"{application}/stages/{job['stageIds'][0]}?details=false")[0]
                if stage["accumulatorUpdates"]:
                    return {each["name"]: each["value"] for each in stage["accumulatorUpdates"]}
        time.sleep(0.5)
    return {}
