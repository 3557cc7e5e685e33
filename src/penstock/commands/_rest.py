"""Options of the commands that send requests to a worker, and the loop over several connectors.

Such a command ends with exit status 0, or 1 if the worker refused a request, 2 if the command line is wrong, 3 if there
is no such connector, 4 if no worker can be reached (``http.client.ClientError``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import say
from penstock.observe import many_lines

if TYPE_CHECKING:
    from penstock.http.client import Client

URL = "http://localhost:8083"
CA_VARIABLE = "PENSTOCK_CA"
_AUTHORITY: ContextVar[str | None] = ContextVar("authority", default=None)


@contextmanager
def client(url: str, user: str | None) -> Iterator[Client]:
    """Prompts for the password if ``user`` has none. The sentence on a connector that is not there, which ends the
    block, gets the name that was probably meant.
    """
    from penstock.http.client import Client
    from penstock.http.client_errors import ResourceNotFoundError

    if user and ":" not in user:
        user = f"{user}:{typer.prompt(f'Password of {user}', hide_input=True, err=True)}"
    with Client(url, user=user, authority=_AUTHORITY.get()) as worker:
        try:
            yield worker
        except ResourceNotFoundError as error:
            raise ResourceNotFoundError(404, f"{error}{_meant(worker, error.connector)}", error.connector) from error


def _meant(worker: Client, missing: str | None) -> str:
    """The question which connector is meant by a name that none has; empty if nothing is like it."""
    from penstock.core.config.unknown.similar_names import question, similar
    from penstock.http.client_errors import ClientError

    try:
        known = [] if missing is None else worker.connectors()
    except ClientError:
        return ""
    return "" if missing is None or missing in known else question(similar(missing, known))


def each(
    chosen: Chosen,
    url: str,
    user: str | None,
    act: Callable[[Client, str], str | None],
    done: str = "",
    then: Callable[[Client, list[str]], int] = lambda worker, names: 0,
) -> None:
    """Call ``act`` for every connector that is meant, and print its answer, or ``done`` with the name in place of
    ``{}``, if there is one.

    After a refused request it continues with the next connector, and ends with the exit status of the first refusal.
    ``then`` is called with the names of those that were not refused, and returns an exit status.
    """
    from penstock.http.client_errors import LateError, ResourceNotFoundError, WorkerError

    status, accepted = 0, list[str]()
    with client(url, user) as worker:
        for name in chosen.of(worker):
            try:
                if text := act(worker, name) or done.format(name):
                    say(text)
                accepted.append(name)
            except (WorkerError, LateError) as error:
                missing = error.connector if isinstance(error, ResourceNotFoundError) else None
                complain(f"{error}{_meant(worker, missing)}")
                status = status or error.exit_status
        status = then(worker, accepted) or status
    if status:
        raise typer.Exit(status)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The connectors that a command line means: names and patterns, a selector of labels, states.

    ``changes``: whether the command changes them, so that a label in the selector needs a value.
    """

    names: list[str] | None
    selector: str | None = None
    states: list[str] | None = None
    changes: bool = True

    def of(self, worker: Client) -> list[str]:
        """Raises BadParameter if nothing says which."""
        from penstock.core.bulk.selection import Selector, is_pattern
        from penstock.declarative.selection import select

        if not (self.names or self.selector or self.states):
            raise typer.BadParameter("Name connectors, or choose them by --selector or --state.")
        names = self.names or []
        if not (self.selector or self.states or any(map(is_pattern, names))):
            return names
        selector = Selector.parse(self.selector) if self.selector else None
        if selector is not None and self.changes:
            selector.check_values()
        found = select(names, worker.described(), selector, self.states or ())
        if not found:
            complain("No connector matches that.")
        return found


def complain(problem: object) -> None:
    typer.echo(many_lines(f"penstock: {problem}"), err=True)


def _keep_authority(value: Path | None) -> Path | None:
    _AUTHORITY.set(None if value is None else str(value))
    return value


_with_authority = typer.Typer()


@_with_authority.command()
def _options(
    ca: Annotated[
        Path | None,
        typer.Option(
            "--ca",
            envvar=CA_VARIABLE,
            metavar="FILE",
            help="Certificates in PEM of authorities to trust beside the machine's.",
            callback=_keep_authority,
        ),
    ] = None,
) -> None:
    pass


def authority_option() -> Any:
    """Make the option ``--ca``, which ``cli`` adds to every command that sends requests to a worker."""
    option = next(each for each in typer.main.get_command(_with_authority).params if each.name == "ca")
    option.expose_value = False
    return option


def complete_connector(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of connectors with this prefix, for the shell; none if the worker does not answer at once."""
    from penstock.http.client import Client
    from penstock.http.client_errors import ClientError

    given: dict[str, Any] = ctx.params
    url = given.get("url") or os.environ.get("PENSTOCK_URL") or URL
    user = given.get("user") or os.environ.get("PENSTOCK_USER")
    try:
        with Client(url, user=user, patience=0, timeout=2, authority=os.environ.get(CA_VARIABLE) or None) as worker:
            return [name for name in worker.connectors() if name.startswith(incomplete)]
    except ClientError:
        return []


Url = Annotated[str, typer.Option("--url", envvar="PENSTOCK_URL", help="URL of a worker's REST interface.")]
User = Annotated[
    str | None,
    typer.Option("--user", envvar="PENSTOCK_USER", metavar="NAME[:PASSWORD]", help="Basic-auth credentials."),
]
Name = Annotated[str, typer.Argument(metavar="CONNECTOR", autocompletion=complete_connector)]
Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CONNECTOR...", help="Names, or patterns such as 'orders-*'.", autocompletion=complete_connector
    ),
]
Select = Annotated[
    str | None, typer.Option("--selector", "-l", help="Labels: settings `penstock.labels.*`, as in `team=a,env!=prod`.")
]
States = Annotated[
    list[str] | None,
    typer.Option("--state", help="Only those that are, or have a task, in this state, such as FAILED."),
]
