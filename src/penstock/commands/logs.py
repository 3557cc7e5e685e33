"""``penstock logs``: show the traces of failures of a connector, or set the level of its logger.

Workers don't serve their logs. They keep the trace of each failure; everything else is in their log files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import As, Output, print_json
from penstock.commands._rest import URL, Name, Url, User, client

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer()


@app.command()
def logs(
    connector: Name,
    level: Annotated[
        str | None, typer.Option("--level", help="Set the level of the connector's logger instead, on all workers.")
    ] = None,
    logger: Annotated[
        str | None,
        typer.Option("--logger", help="With --level: the logger to set; by default the connector's."),
    ] = None,
    url: Url = URL,
    user: User = None,
    output: As = Output.TABLE,
) -> None:
    """Show the traces of failures of a connector; with --level, set the level of its logger."""
    if logger is not None and level is None:
        raise typer.BadParameter("--logger needs --level, as in --level DEBUG.")
    with client(url, user) as worker:
        if level is not None:
            name = logger or _logger_of(worker, connector)
            worker.set_logger(name, level, cluster=True)
            print(f"Logger {name} is at {level.upper()} on all workers, for every connector whose code uses it.")
            return
        shown = worker.status(connector)
    if output is Output.JSON:
        print_json(shown)
    else:
        _print_traces(shown)


def _logger_of(worker: Client, connector: str) -> str:
    """The module of the connector's class, whose name in the configuration may be an alias."""
    name = worker.config(connector).get("connector.class", "")
    classes = [plugin["class"] for plugin in worker.plugins()]
    full = next((each for each in classes if name in _spellings(each)), name)
    return full.rpartition(".")[0] or full


def _spellings(plugin: str) -> tuple[str, str, str]:
    simple = plugin.rpartition(".")[2]
    return plugin, simple, simple.removesuffix("Connector")


def _print_traces(shown: dict[str, Any]) -> None:
    name = shown["name"]
    instances = [(f"Connector {name}", shown["connector"])]
    instances += [(f"Task {task['id']} of connector {name}", task) for task in shown["tasks"]]
    failed = [(what, state) for what, state in instances if "trace" in state]
    for what, state in failed:
        print(f"{what} is {state['state']} on {state['worker_id']}:")
        print("\n".join(f"    {line}" for line in state["trace"].splitlines()))
    if not failed:
        print(f"Nothing of connector {name} has failed.")
    workers = sorted({state["worker_id"] for _, state in instances})
    marked = f", in lines with [{name}|task-{shown['tasks'][0]['id']}] and the like" if shown["tasks"] else ""
    print(f"More may be in the log of {', '.join(workers)}{marked}.")
