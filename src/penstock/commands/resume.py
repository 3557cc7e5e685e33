"""``penstock resume``: resume paused or stopped connectors."""

from __future__ import annotations

import typer

from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User
from penstock.commands._targets import WAIT, Wait, change

app = typer.Typer()


@app.command()
def resume(
    connectors: Names = None,
    selector: Select = None,
    state: States = None,
    wait: Wait = WAIT,
    url: Url = URL,
    user: User = None,
) -> None:
    """Resume connectors that are paused or stopped.

    Waits until they are; exit status 1 if a connector or task of it has failed, or it takes too long.
    """
    chosen = Chosen(connectors, selector, state)
    change(chosen, url, user, lambda worker, name: worker.resume(name), "RUNNING", "Resumed", wait)
