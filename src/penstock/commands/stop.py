"""``penstock stop``: stop connectors (KIP-875)."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Names, Url, User, each

app = typer.Typer()


@app.command()
def stop(connectors: Names, url: Url = URL, user: User = None) -> None:
    """Stop connectors: they have no tasks, and their offsets can be altered, until they are resumed."""
    each(connectors, url, user, lambda worker, name: worker.stop(name), "Stopped connector {}.")
