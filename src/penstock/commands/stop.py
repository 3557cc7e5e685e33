"""``penstock stop``: stop connectors (KIP-875)."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User, each

app = typer.Typer()


@app.command()
def stop(
    connectors: Names = None, selector: Select = None, state: States = None, url: Url = URL, user: User = None
) -> None:
    """Stop connectors: they have no tasks, and their offsets can be altered, until they are resumed."""
    each(
        Chosen(connectors, selector, state), url, user, lambda worker, name: worker.stop(name), "Stopped connector {}."
    )
