"""What the commands share that ask a worker over REST: their options, the client, and how they go through names.

Such a command ends with exit status 0, or 1 if the worker has refused something, 2 if the command line is wrong, 3 if
there is no such connector, 4 if no worker can be reached (``http.client.ClientError``).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from penstock.http.client import Client

URL = "http://localhost:8083"


def client(url: str, user: str | None) -> Client:
    """To be closed. Asks for the password if ``user`` has none."""
    from penstock.http.client import Client

    if user and ":" not in user:
        user = f"{user}:{typer.prompt(f'Password of {user}', hide_input=True, err=True)}"
    return Client(url, user=user)


def each(
    names: list[str], url: str, user: str | None, act: Callable[[Client, str], str | None], said: str = ""
) -> None:
    """Do it to every connector; the others follow one that is refused, whose exit status is the command's.

    Prints the sentence that ``act`` answers with, or ``said`` with the name in the place of ``{}``.
    """
    from penstock.http.client import WorkerError

    status = 0
    with client(url, user) as worker:
        for name in names:
            try:
                print(act(worker, name) or said.format(name))
            except WorkerError as error:
                complain(error)
                status = status or error.exit_status
    if status:
        raise typer.Exit(status)


def complain(problem: object) -> None:
    typer.echo(f"penstock: {problem}", err=True)


def complete_connector(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of connectors that begin so, for the shell; none if the worker can't be asked at once."""
    from penstock.http.client import Client, ClientError

    given: dict[str, Any] = ctx.params
    url = given.get("url") or os.environ.get("PENSTOCK_URL") or URL
    user = given.get("user") or os.environ.get("PENSTOCK_USER")
    try:
        with Client(url, user=user, patience=0, timeout=2) as worker:
            return [name for name in worker.connectors() if name.startswith(incomplete)]
    except ClientError:
        return []


Url = Annotated[str, typer.Option("--url", envvar="PENSTOCK_URL", help="A worker's REST interface.")]
User = Annotated[
    str | None,
    typer.Option("--user", envvar="PENSTOCK_USER", metavar="NAME[:PASSWORD]", help="Who asks, for workers that check."),
]
Name = Annotated[str, typer.Argument(metavar="CONNECTOR", autocompletion=complete_connector)]
Names = Annotated[list[str], typer.Argument(metavar="CONNECTOR...", autocompletion=complete_connector)]
