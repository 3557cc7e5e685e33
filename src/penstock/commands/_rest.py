"""Options of the commands that send requests to a worker, and the loop over several connectors.

Such a command ends with exit status 0, or 1 if the worker refused a request, 2 if the command line is wrong, 3 if there
is no such connector, 4 if no worker can be reached (``http.client.ClientError``).
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
    """A client, which the caller closes. Prompts for the password if ``user`` has none."""
    from penstock.http.client import Client

    if user and ":" not in user:
        user = f"{user}:{typer.prompt(f'Password of {user}', hide_input=True, err=True)}"
    return Client(url, user=user)


def each(
    names: list[str], url: str, user: str | None, act: Callable[[Client, str], str | None], done: str = ""
) -> None:
    """Call ``act`` for every connector, and print its answer, or ``done`` with the name in place of ``{}``.

    After a refused request it continues with the next connector, and ends with the exit status of the first refusal.
    """
    from penstock.http.client import WorkerError

    status = 0
    with client(url, user) as worker:
        for name in names:
            try:
                print(act(worker, name) or done.format(name))
            except WorkerError as error:
                complain(error)
                status = status or error.exit_status
    if status:
        raise typer.Exit(status)


def complain(problem: object) -> None:
    typer.echo(f"penstock: {problem}", err=True)


def complete_connector(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of connectors with this prefix, for the shell; none if the worker does not answer at once."""
    from penstock.http.client import Client, ClientError

    given: dict[str, Any] = ctx.params
    url = given.get("url") or os.environ.get("PENSTOCK_URL") or URL
    user = given.get("user") or os.environ.get("PENSTOCK_USER")
    try:
        with Client(url, user=user, patience=0, timeout=2) as worker:
            return [name for name in worker.connectors() if name.startswith(incomplete)]
    except ClientError:
        return []


Url = Annotated[str, typer.Option("--url", envvar="PENSTOCK_URL", help="URL of a worker's REST interface.")]
User = Annotated[
    str | None,
    typer.Option("--user", envvar="PENSTOCK_USER", metavar="NAME[:PASSWORD]", help="Basic-auth credentials."),
]
Name = Annotated[str, typer.Argument(metavar="CONNECTOR", autocompletion=complete_connector)]
Names = Annotated[list[str], typer.Argument(metavar="CONNECTOR...", autocompletion=complete_connector)]
