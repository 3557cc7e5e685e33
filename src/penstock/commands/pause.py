"""``penstock pause``: pause connectors."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Names, Url, User, each

app = typer.Typer()


@app.command()
def pause(connectors: Names, url: Url = URL, user: User = None) -> None:
    """Pause connectors: their tasks stay assigned, and process nothing until they are resumed."""
    each(connectors, url, user, lambda worker, name: worker.pause(name), "Paused connector {}.")
