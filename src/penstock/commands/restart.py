"""``penstock restart``: restart connectors and tasks (KIP-745)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._output import say
from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User, complain, each

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer()


@app.command()
def restart(
    connectors: Names = None,
    selector: Select = None,
    state: States = None,
    include_tasks: Annotated[bool, typer.Option("--include-tasks", help="Restart the tasks as well.")] = False,
    only_failed: Annotated[bool, typer.Option("--only-failed", help="Restart only what has failed.")] = False,
    task: Annotated[int | None, typer.Option("--task", help="Restart only this task.", min=0)] = None,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="Seconds to wait until all of it has started again; 0 does not wait.")
    ] = 60.0,
    url: Url = URL,
    user: User = None,
) -> None:
    """Restart connectors; by default without their tasks, and also those that have not failed.

    Waits until they have started again, and says what has failed; exit status 1 if anything has.
    """
    if task is not None and (include_tasks or only_failed):
        raise typer.BadParameter("--task can't be used together with --include-tasks or --only-failed.")

    def act(worker: Client, name: str) -> str:
        if task is not None:
            worker.restart_task(name, task)
            return f"Restarted task {task} of connector {name}."
        planned = worker.restart(name, include_tasks=include_tasks, only_failed=only_failed)
        if planned is None:
            return f"Restarted connector {name}."
        tasks = [t["id"] for t in planned["tasks"] if t["state"] == "RESTARTING"]
        return _sentence(name, planned["connector"]["state"] == "RESTARTING", tasks)

    def outcome(worker: Client, names: list[str]) -> int:
        from penstock.declarative.outcome import await_restarts

        status = 0
        for _, well, sentence in await_restarts(worker, names, wait, task) if wait else ():
            sentence = f"{sentence[:1].upper()}{sentence[1:]}."
            say(sentence) if well is not False else complain(sentence)
            status = 1 if well is False else status
        return status

    each(Chosen(connectors, selector, state), url, user, act, then=outcome)


def _sentence(name: str, connector: bool, tasks: list[int]) -> str:
    if not (connector or tasks):
        return f"Nothing of connector {name} has failed, so nothing is restarted."
    numbers = f"task{'s' * (len(tasks) > 1)} {', '.join(map(str, tasks))}"
    if not tasks:
        return f"Restarting connector {name}."
    return (
        f"Restarting connector {name} and its {numbers}." if connector else f"Restarting {numbers} of connector {name}."
    )
