"""Something is killed in the middle of the work, and the demo shows how long it takes until everything runs again."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.demo import connectors, kills
from penstock.demo.flights import DemoError
from penstock.demo.kills import Kill
from penstock.demo.progress import Bars
from penstock.demo.stage import DemoStage, await_worker


def kill(stage: DemoStage, what: Kill, shown: Bars) -> None:
    """SIGKILL it, and start the worker again if it was that; returns when everything runs again."""
    worker, files = stage.worker, {connectors.SOURCE: stage.source_file, connectors.SINK: stage.sink_file}
    began = time.monotonic()
    match what:
        case Kill.WORKER:
            shown.say(f"[bold red]Killed[/]  the worker (process {worker.pid})")
            worker.kill()
            worker.start()
            await_worker(stage.client, worker)
        case Kill.DRIVER:
            before = {name: restarts(stage, name) for name in files}
            pid = kills.driver(worker.pid)
            kills.kill(pid)
            shown.say(f"[bold red]Killed[/]  Spark's driver (process {pid})")
            await_restarts(stage, before, shown.say)
        case Kill.TASK:
            before = {name: restarts(stage, name) for name in files}
            for name, file in files.items():
                pid = kills.task(worker.pid, file)
                kills.kill(pid)
                shown.say(f"[bold red]Killed[/]  the task of {name} (process {pid})")
            await_restarts(stage, before, shown.say)
    stage.wait("The restart of all tasks", lambda: all(_is_running(stage, *each) for each in files.items()))
    by_itself = "" if what is Kill.WORKER else "; the worker restarted what was lost"
    shown.say(f"[bold green]Running[/] again after {time.monotonic() - began:.1f} s{by_itself}")


def await_restarts(stage: DemoStage, before: dict[str, dict[int, int]], say: Callable[[str], None]) -> None:
    """Returns when each task was lost and has been restarted by the worker, and shows why it was lost."""
    for name, known in before.items():

        def restarted(name: str = name, known: dict[int, int] = known) -> bool:
            now = restarts(stage, name)
            return all(now.get(task, 0) > number for task, number in known.items())

        stage.wait(f"The restart of the tasks of {name}", restarted)
        for task in _health(stage, name):
            say(f"[bold yellow]Lost[/]    {name}-{task['id']}: {task['last_error']['message']}")


def restarts(stage: DemoStage, name: str) -> dict[int, int]:
    """Return the number of restarts of each of the connector's tasks by the worker."""
    return {task["id"]: task["restarts"] for task in _health(stage, name)}


def _health(stage: DemoStage, name: str) -> list[dict[str, Any]]:
    return stage.client.status(name, penstock=True)["penstock"]["tasks"]


def _is_running(stage: DemoStage, name: str, file: Path) -> bool:
    """The status alone may still be that of the worker that was killed."""
    try:
        kills.task(stage.worker.pid, file)
    except DemoError:
        return False
    return all(task["state"] == "RUNNING" for task in stage.tasks(name))
