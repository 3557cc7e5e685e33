"""``penstock resume``: resume paused or stopped connectors."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User, each

app = typer.Typer()


@app.command()
def resume(
    connectors: Names = None, selector: Select = None, state: States = None, url: Url = URL, user: User = None
) -> None:
    """Resume connectors that are paused or stopped."""
    each(
        Chosen(connectors, selector, state),
        url,
        user,
        lambda worker, name: worker.resume(name),
        "Resumed connector {}.",
    )
