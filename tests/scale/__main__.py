"""``python -m scale``, for ``make scale``: load of a large cluster on its leader and its internal topics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from penstock.embedded import Broker
from scale import assigning, herding, topics
from scale.group import Group

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def run(
    connectors: int = 10_000,
    tasks: int = 100_000,
    workers: int = 500,
    bootstrap: Annotated[str, typer.Option(help="Address of a running broker; by default one is started.")] = "",
    core_only: Annotated[bool, typer.Option(help="Leave out the internal topics, which need a broker.")] = False,
) -> None:
    """Measure with this number of connectors, of tasks in total, and of workers."""
    print(f"{connectors:,} connectors, {tasks:,} tasks, {workers:,} workers")
    _show("the leader's decisions", assigning.run(connectors, tasks, workers))
    _show("events at the leader", herding.run(connectors, tasks, workers))
    if core_only:
        return
    counts = Group.of(connectors, tasks, workers).connectors
    if bootstrap:
        _show("internal topics", topics.run(bootstrap, counts))
    else:
        with Broker(lasting=True) as broker:
            _show("internal topics", topics.run(broker.bootstrap, counts))


def _show(title: str, rows: Iterable[tuple[str, str]]) -> None:
    table = Table(title, "")
    table.columns[1].justify = "right"
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    app()
