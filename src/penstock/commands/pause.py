"""``penstock pause``: pause connectors."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User, each

app = typer.Typer()


@app.command()
def pause(
    connectors: Names = None, selector: Select = None, state: States = None, url: Url = URL, user: User = None
) -> None:
    """Pause connectors: their tasks stay assigned, and process nothing until they are resumed."""
    each(
        Chosen(connectors, selector, state), url, user, lambda worker, name: worker.pause(name), "Paused connector {}."
    )
