"""Tasks whose plugin does not return: reported, or started again."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.waiting import until
from support.worker_process import WorkerProcess
from worker.trouble.test_hangs import part, told

pytestmark = pytest.mark.integration

PLUGINS = Path(__file__).parent / "plugins"
STALLS = {"plugin__path": str(PLUGINS), "penstock__task__stalled__after__ms": "2000"}


def test_a_stalled_task_is_reported_until_it_goes_on(bootstrap: str, tmp_path: Path) -> None:
    with WorkerProcess(bootstrap, tmp_path, **STALLS, penstock__health__tasks="true") as worker:
        worker.put("c", connector__class="stalling.Stalling", folder=str(tmp_path))
        stalled = told(worker, "c", "is stalled", task=True)
        assert stalled["state"] == "RUNNING"
        assert stalled["trace"].startswith("The task is stalled: poll has not returned since 20")
        assert "stalling.py" in stalled["trace"]
        shown = worker.http.get("/connectors/c/status", params={"penstock": "true"}).json()
        assert [task["stalled"] for task in shown["penstock"]["tasks"]] == [True]
        health = worker.http.get("/health")
        assert (health.status_code, health.json()["message"]) == (500, "Stalled: task c-0.")
        name = 'connector_task_penstock_stalled{connector="c",task="0"}'
        until(lambda: f"{name} 1.0" in worker.http.get("/metrics").text, "that the figures say so")
        (tmp_path / "go-on").touch()
        until(lambda: "trace" not in part(worker, "c", task=True), "that it goes on")
        until(lambda: worker.http.get("/health").status_code == 200, "that the worker is well")
        until(lambda: f"{name} 0.0" in worker.http.get("/metrics").text, "that the figures say so")


def test_a_stalled_task_is_restarted(bootstrap: str, tmp_path: Path) -> None:
    with WorkerProcess(bootstrap, tmp_path, **STALLS, penstock__stalled__action="restart") as worker:
        worker.put("c", connector__class="stalling.Stalling", folder=str(tmp_path), once="true")
        until(lambda: (tmp_path / "goes-on").exists(), "that the second run works")
        worker.running("c")
        assert "Task c-0 was lost: The task is stalled: poll has not returned since" in worker.log.read_text()
