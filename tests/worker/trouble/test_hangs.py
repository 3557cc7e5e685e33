"""Connectors and tasks that block: the worker reports where, and all others go on."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import httpx
import pytest

from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration

PLUGINS = Path(__file__).parent / "plugins"
CLASS = "stuck.Stuck"


def part(worker: WorkerProcess, name: str, task: bool = False) -> dict[str, Any]:
    """Return the connector's or its task's part of the status."""
    answer = worker.http.get(f"/connectors/{name}/status")
    status: dict[str, Any] = answer.json() if answer.status_code == 200 else {"connector": {}, "tasks": []}
    found: dict[str, Any] = next(iter(status["tasks"]), {}) if task else status["connector"]
    return found


def told(worker: WorkerProcess, name: str, words: str, task: bool = False) -> dict[str, Any]:
    """Wait until its trace contains these words, and return its part of the status."""

    def look() -> dict[str, Any] | None:
        found = part(worker, name, task)
        return found if words in found.get("trace", "") else None

    return cast("dict[str, Any]", until(look, f"`{words}` of {name}"))


def ask(url: str, config: dict[str, str]) -> None:
    """Send a request without a time limit; the worker may end without an answer."""
    with suppress(httpx.TransportError):
        httpx.put(url, json=config, timeout=None)


def test_blocking_calls_are_logged_and_delay_nothing_else(bootstrap: str, tmp_path: Path) -> None:
    with WorkerProcess(bootstrap, tmp_path, plugin__path=str(PLUGINS)) as worker:
        for place in ("start", "task_configs", "task"):
            worker.put(place, connector__class=CLASS, block=place)
        url, config = f"/connector-plugins/{CLASS}/config/validate", {"connector.class": CLASS, "block": "validate"}
        for _ in range(40):  # more than the threads that prepare tasks
            threading.Thread(target=ask, args=(f"{worker.http.base_url}{url}", config), daemon=True).start()

        blocked = told(worker, "start", "has not returned")
        assert blocked["state"] == "UNASSIGNED"
        assert re.match(r"start\(\) of the connector has not returned for \d\d s\. ", blocked["trace"])
        assert "\tat start(" in blocked["trace"]
        assert "stuck.py" in blocked["trace"]

        blocked = told(worker, "task_configs", "has not returned")
        assert blocked["state"] == "RUNNING"
        assert blocked["trace"].startswith("task_configs() of the connector has not returned")

        blocked = told(worker, "task", "stuck.py", task=True)
        assert blocked["state"] == "UNASSIGNED"
        assert blocked["trace"].startswith("The task has not started for 10 s. It is at\n")

        worker.put("fine", connector__class=CLASS)
        until(lambda: worker.states("fine") == ["RUNNING"] * 2, "that another runs")
        for name in ("start", "task_configs", "task", "fine"):
            assert worker.http.delete(f"/connectors/{name}").status_code == 204
        until(lambda: worker.get("/connectors") == [], "that all are gone")
        alone = "Connector start did not stop in time; its thread is abandoned: start() of the connector has not"
        until(lambda: alone in worker.log.read_text(), "that it is abandoned")
        assert worker.stop() == 0
