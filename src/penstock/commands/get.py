"""``penstock get``: show plugins, connectors, configurations, offsets and loggers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, compact, print_table, printed
from penstock.commands._rest import URL, Name, Url, User, client
from penstock.observe import many_lines

app = typer.Typer(no_args_is_help=True, help="Show plugins, connectors, a configuration, offsets or loggers.")


@app.command()
def plugins(
    all: Annotated[bool, typer.Option("--all", help="Include converters, transforms and all other kinds.")] = False,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Show the connector plugins of the worker, and why those can't be used that can't."""
    with client(url, user) as worker:
        found = worker.plugins(connectors_only=not all, unusable=True)
    rows = [(p["class"], p["type"], p.get("version") or "") for p in found if "problem" not in p]
    _show(output, found, ("CLASS", "TYPE", "VERSION"), rows, dict.fromkeys(row[0] for row in rows))
    if output is OutputFormat.TABLE:
        for problem in dict.fromkeys(p["problem"] for p in found if "problem" in p):
            typer.echo(many_lines(str(problem)), err=True)


@app.command()
def connectors(url: Url = URL, user: User = None, output: As = OutputFormat.TABLE) -> None:
    """Show all connectors with their classes and numbers of tasks."""
    with client(url, user) as worker:
        found = {name: shown["info"] for name, shown in sorted(worker.expanded("info").items())}
    rows = [(name, c["type"], c["config"].get("connector.class", ""), len(c["tasks"])) for name, c in found.items()]
    _show(output, found, ("NAME", "TYPE", "CLASS", "TASKS"), rows, found)


@app.command()
def config(connector: Name, url: Url = URL, user: User = None, output: As = OutputFormat.TABLE) -> None:
    """Show the configuration of a connector."""
    with client(url, user) as worker:
        found = worker.config(connector)
    _show(output, found, ("SETTING", "VALUE"), sorted(found.items()), sorted(found))


@app.command()
def offsets(connector: Name, url: Url = URL, user: User = None, output: As = OutputFormat.TABLE) -> None:
    """Show committed offsets of a connector."""
    with client(url, user) as worker:
        found = worker.offsets(connector)
    rows = [(compact(pair["partition"]), compact(pair["offset"])) for pair in found]
    _show(output, {"offsets": found}, ("PARTITION", "OFFSET"), rows, [row[0] for row in rows])


@app.command()
def loggers(url: Url = URL, user: User = None, output: As = OutputFormat.TABLE) -> None:
    """Show the loggers of the worker and their levels."""
    with client(url, user) as worker:
        found = worker.loggers()
    _show(output, found, ("LOGGER", "LEVEL"), [(name, shown["level"]) for name, shown in found.items()], found)


def _show(output: OutputFormat, found: Any, header: tuple[str, ...], rows: Any, names: Iterable[str]) -> None:
    if not printed(output, found, names):
        print_table(header, rows)
