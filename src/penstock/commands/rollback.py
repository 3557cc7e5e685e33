"""``penstock rollback``: put a former configuration of a connector into effect."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.commands._output import say
from penstock.commands._rest import URL, Name, Url, User, client

app = typer.Typer()


@app.command()
def rollback(
    connector: Name,
    version: Annotated[
        int | None, typer.Argument(help="A version of `penstock history`; by default the configuration before.", min=1)
    ] = None,
    url: Url = URL,
    user: User = None,
) -> None:
    """Put a former configuration of a connector into effect; creates the connector if it was deleted."""
    with client(url, user) as worker:
        worker.roll_back(connector, version)
        which = "its configuration before" if version is None else f"version {version}"
    say(f"Rolled connector {connector} back to {which}.")
