"""``penstock logs``: show the traces of failures of a connector and its last log lines, or set the level of its logger.

Workers of Java Connect don't serve their logs, only the trace of each failure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, printed, say, say_indented, say_lines
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
    lines: Annotated[int, typer.Option("--lines", "-n", help="How many of the last log lines to show.", min=0)] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show log lines as they are written.")] = False,
    above: Annotated[str, typer.Option("--min-level", help="Show log lines of this level and above.")] = "ALL",
    task: Annotated[int | None, typer.Option("--task", help="Show log lines of this task.", min=0)] = None,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show the traces of failures of a connector and its last log lines; with --level, set the level of its logger."""
    if logger is not None and level is None:
        raise typer.BadParameter("--logger needs --level, as in --level DEBUG.")
    with client(url, user) as worker:
        if level is not None:
            name = logger or _logger_of(worker, connector)
            worker.set_logger(name, level, cluster=True)
            say(f"Logger {name} is at {level.upper()} on all workers, for every connector whose code uses it.")
            return
        query = {"limit": lines, "level": above, **({} if task is None else {"task": task})}
        if follow:
            for line in worker.follow_logs(connector, query):
                if not printed(output, line):
                    say_indented(_text(line), flush=True)
            return
        shown = worker.status(connector)
        found = worker.logs(connector, query)
    if printed(output, {**shown, **({} if found is None else {"lines": found["lines"]})}):
        return
    _print_traces(shown)
    if found is None or found["unreachable"]:
        _print_where(shown)
    if found is not None:
        for line in found["lines"]:
            say_indented(_text(line))


def _text(line: dict[str, Any]) -> str:
    where = line["worker"] if line["task"] is None else f"{line['worker']} task-{line['task']}"
    return f"{line['time']} {line['level']} [{where}] {line['message']} ({line['logger']})"


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
        say(f"{what} is {state['state']} on {state['worker_id']}:")
        say_lines(f"    {line}" for line in state["trace"].rstrip("\n").split("\n"))
    if not failed:
        say(f"Nothing of connector {name} has failed.")


def _print_where(shown: dict[str, Any]) -> None:
    name = shown["name"]
    instances = [shown["connector"], *shown["tasks"]]
    workers = sorted({state["worker_id"] for state in instances})
    marked = f", in lines with [{name}|task-{shown['tasks'][0]['id']}] and the like" if shown["tasks"] else ""
    say(f"More may be in the log of {', '.join(workers)}{marked}.")
