"""``penstock check``: contact the targets of connectors, without changing anything."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.commands._output import As, OutputFormat, print_table, printed, say
from penstock.commands._rest import URL, Url, User, client, complain

if TYPE_CHECKING:
    from penstock.http.client import Client

app = typer.Typer()

AT_ONCE = 2
"""Checks at the same time: a worker starts so many processes for a user."""


@app.command()
def check(
    targets: Annotated[
        list[str],
        typer.Argument(metavar="FILE|NAME...", help="Files or folders of `penstock apply`, or names of connectors."),
    ],
    seconds: Annotated[
        int, typer.Option("--seconds", min=1, max=45, help="Time limit of the check of each connector.")
    ] = 30,
    var: Annotated[
        list[str] | None, typer.Option("--var", help="A value, `name=value`, for `{{ name }}` in the files.")
    ] = None,
    var_file: Annotated[list[Path] | None, typer.Option(help="YAML or JSON files of such names and values.")] = None,
    url: Url = URL,
    user: User = None,
    output: As = OutputFormat.TABLE,
) -> None:
    """Contact what connectors read and write, with their credentials, and show each step.

    The worker resolves names, connects, logs in, and looks for topics and rights; it changes and creates nothing. Exit
    status 1 if a step of a connector has failed.
    """
    wanted = _wanted(targets, var, var_file)
    with client(url, user) as worker, ThreadPoolExecutor(AT_ONCE) as pool:
        checks = [pool.submit(_checked, worker, name, config, seconds) for name, config in wanted]
        found = [each.result() for each in checks]
    failed = [each["connector"] for each in found if each["outcome"] != "ok"]
    if not printed(output, found, failed):
        for each in found:
            say(f"Connector {each['connector']}: {each['outcome']}")
            rows = [(step["outcome"].upper(), step["part"], step["step"], step["message"]) for step in each["steps"]]
            print_table(("OUTCOME", "PART", "STEP", "MESSAGE"), rows)
    if failed:
        complain(f"{len(failed)} of {len(found)} connectors have failed: {', '.join(failed)}")
        raise typer.Exit(1)


def _wanted(
    targets: list[str], var: list[str] | None, var_file: list[Path] | None
) -> list[tuple[str, dict[str, Any] | None]]:
    """Return names with the configurations of files; None for the present one of a connector."""
    from penstock.declarative.resources import read_resources
    from penstock.declarative.variables import variables

    found: list[tuple[str, dict[str, Any] | None]] = []
    for each in targets:
        if Path(each).exists():
            resources = read_resources([Path(each)], variables(var or [], var_file or []))
            found += [(resource.name, dict(resource.wanted.config)) for resource in resources]
        else:
            found.append((each, None))
    return found


def _checked(worker: Client, name: str, config: dict[str, Any] | None, seconds: int) -> dict[str, Any]:
    """Return the outcome of a check; one that could not be made has failed, and does not end the others."""
    from penstock.http.client_errors import ClientError

    try:
        return worker.check(name, config, seconds)
    except ClientError as error:
        step = {"part": "worker", "step": "request", "outcome": "failed", "message": str(error)}
        return {"connector": name, "outcome": "failed", "steps": [step]}
