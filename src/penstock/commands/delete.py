"""``penstock delete``: delete connectors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._output import confirm
from penstock.commands._rest import URL, Chosen, Names, Select, States, Url, User, client, each

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer()


@app.command()
def delete(
    connectors: Names = None,
    selector: Select = None,
    state: States = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before those chosen by pattern are deleted.")] = False,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Delete their offsets as well: each is stopped first.")
    ] = False,
    wait: Annotated[
        float, typer.Option("--wait", min=0, help="With --offsets: seconds to wait until a connector is stopped.")
    ] = 60.0,
    url: Url = URL,
    user: User = None,
) -> None:
    """Delete connectors. Source offsets are kept, and used by a new connector of the same name, unless --offsets."""
    chosen = Chosen(connectors, selector, state)
    with client(url, user) as worker:
        names = chosen.of(worker)
    if names and names != connectors and not yes:
        confirm(f"Delete {', '.join(names)}?")

    def act(worker: Client, name: str) -> str:
        if not offsets:
            worker.delete(name)
            return f"Deleted connector {name}."
        message = _reset_offsets(worker, name, wait)
        worker.delete(name)
        return f"Connector {name}: {message}. Deleted the connector."

    if names:
        each(Chosen(names), url, user, act)


def _reset_offsets(worker: Client, name: str, wait: float) -> str:
    """Stop the connector, and delete its offsets; return the worker's message. Raises WorkerError and LateError."""
    from penstock.declarative.outcome import await_stop

    worker.stop(name)
    await_stop(worker, name, wait)
    return worker.reset_offsets(name).rstrip(".")
