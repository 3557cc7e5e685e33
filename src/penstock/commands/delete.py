"""``penstock delete``: delete connectors."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.commands._output import confirm
from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User, client, each

app = typer.Typer()


@app.command()
def delete(
    connectors: Names = None,
    selector: Select = None,
    state: States = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before those chosen by pattern are deleted.")] = False,
    url: Url = URL,
    user: User = None,
) -> None:
    """Delete connectors. Source offsets are kept, and used by a new connector of the same name."""
    chosen = Chosen(connectors, selector, state)
    with client(url, user) as worker:
        names = chosen.of(worker)
    if names and names != connectors and not yes:
        confirm(f"Delete {', '.join(names)}?")
    if names:
        each(Chosen(names), url, user, lambda worker, name: worker.delete(name), "Deleted connector {}.")
