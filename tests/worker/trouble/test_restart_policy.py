"""``penstock.restart.policy`` in a real worker: failed tasks are restarted, and later restarts survive the worker."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

PLUGINS = Path(__file__).parent / "plugins"
CLASS = "failing.Failing"


def policy(worker: WorkerProcess, name: str) -> dict[str, Any]:
    """Return the restart policy's part of the task's status."""
    tasks = worker.get(f"/connectors/{name}/status?penstock=true")["penstock"]["tasks"]
    shown: dict[str, Any] = tasks[0]["restart_policy"] if tasks else {}
    return shown


def test_failed_tasks_are_restarted(bootstrap: str, tmp_path: Path) -> None:
    settings = {"connector__class": CLASS, "folder": str(tmp_path)}
    on_failure = {"plugin__path": str(PLUGINS), "penstock__restart__policy": "on-failure"}
    with WorkerProcess(bootstrap, tmp_path, **on_failure) as worker:
        worker.put("connector", **settings, failures="0", connector__failures="1")
        worker.put("once", **settings, failures="1")
        worker.put("twice", **settings, failures="2")
        worker.put("never", **settings, failures="1", penstock__restart__policy="never")

        worker.running("connector")
        until(lambda: worker.states("never") == ["RUNNING", "FAILED"], "that one stays FAILED")
        failed = tmp_path / "twice-task"
        until(lambda: failed.exists() and failed.read_bytes() == b"xx", "that it has failed twice")
        until(lambda: policy(worker, "twice").get("next_restart"), "that the second restart is due")
        due = policy(worker, "twice")
        worker.running("once")
        assert policy(worker, "once") == {"restarts": 1, "next_restart": None, "reason": None}
        assert due["restarts"] == 1
        assert due["reason"].endswith("RuntimeError: not yet")
        assert policy(worker, "never") is None
        metrics = worker.http.get("/metrics").text
        shown = 'connector_task_penstock_policy_restarts{connector="twice",task="0"} 1.0'
        assert shown in metrics
        due_ms = datetime.fromisoformat(due["next_restart"]).timestamp() * 1000
        lines = [line for line in metrics.splitlines() if "task_penstock_next_restart_timestamp" in line]
        assert [float(line.split()[1]) for line in lines if 'connector="twice"' in line] == [due_ms]
        log = worker.log.read_text()
        assert "Restarting task twice-0, which has failed: restart 1" in log
        assert "Restarting task never-0" not in log

        # The count is in the topics: a worker that starts later knows it, and starts the task again.
        worker.stop()
        worker.start().ready()
        worker.running("twice")
        assert policy(worker, "twice")["restarts"] == 1
