"""Something is killed in the middle of the work, and then what an operator would do is done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from penstock.demo import connectors, kills
from penstock.demo.kills import Kill
from penstock.demo.problem import DemoError
from penstock.demo.progress import Bars
from penstock.demo.stage import Stage, await_worker


def kill(stage: Stage, what: Kill, shown: Bars) -> None:
    """SIGKILL it, and do what an operator would do then; returns when everything runs again."""
    worker, files = stage.worker, {connectors.SOURCE: stage.source_file, connectors.SINK: stage.sink_file}
    began = time.monotonic()
    match what:
        case Kill.WORKER:
            shown.say(f"[bold red]Killed[/]  the worker (process {worker.pid})")
            worker.kill()
            worker.start()
            await_worker(stage.client, worker)
        case Kill.DRIVER:
            pid = kills.driver(worker.pid)
            kills.kill(pid)
            shown.say(f"[bold red]Killed[/]  Spark's driver (process {pid})")
            _restart_failed(stage, tuple(files), shown)
        case Kill.TASK:
            for name, file in files.items():
                pid = kills.task(worker.pid, file)
                kills.kill(pid)
                shown.say(f"[bold red]Killed[/]  the task of {name} (process {pid})")
            _restart_failed(stage, tuple(files), shown)
    stage.wait("The restart of all tasks", lambda: all(_at_work(stage, *each) for each in files.items()))
    shown.say(f"[bold green]Running[/] again after {time.monotonic() - began:.1f} s")


def _restart_failed(stage: Stage, names: Sequence[str], shown: Bars) -> None:
    for name in names:
        stage.wait(f"The failure of {name}", partial(_failed, stage, name))
        for task, trace in _failures(stage, name).items():
            shown.say(f"[red]FAILED[/]  {name}-{task}: {trace.splitlines()[0]}")
        stage.client.restart(name, include_tasks=True, only_failed=True)
        shown.say(
            f"[bold]Restart[/] POST {stage.client.url}/connectors/{name}/restart?includeTasks=true&onlyFailed=true"
        )


def _failed(stage: Stage, name: str) -> bool:
    return bool(_failures(stage, name))


def _failures(stage: Stage, name: str) -> dict[int, str]:
    tasks = stage.tasks(name)
    return {task["id"]: task["trace"] for task in tasks if task["state"] == "FAILED"}


def _at_work(stage: Stage, name: str, file: Path) -> bool:
    """The status alone may still be that of the worker that was killed."""
    try:
        kills.task(stage.worker.pid, file)
    except DemoError:
        return False
    return all(task["state"] == "RUNNING" for task in stage.tasks(name))
