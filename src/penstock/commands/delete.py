"""``penstock delete``: delete connectors."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Names, Url, User, each

app = typer.Typer()


@app.command()
def delete(connectors: Names, url: Url = URL, user: User = None) -> None:
    """Delete connectors. Source offsets are kept, and used by a new connector of the same name."""
    each(connectors, url, user, lambda worker, name: worker.delete(name), "Deleted connector {}.")
