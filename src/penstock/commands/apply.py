"""``penstock apply``: create and update connectors from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.commands._rest import URL, Url, User, client, complain

if TYPE_CHECKING:
    from penstock.core.model.messages import CreateConnector
    from penstock.http.client import Client

app = typer.Typer()

SUFFIXES = (".json", ".properties")
Config = Mapping[str, str | None]


@app.command()
def apply(
    file: Annotated[
        list[Path],
        typer.Option("--file", "-f", help="File of a connector (.json, .properties), or a folder of such files."),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would change, and validate it.")] = False,
    url: Url = URL,
    user: User = None,
) -> None:
    """Create or update connectors from files. Shows the differences first; connectors without any stay as they are.

    A file is JSON as POST /connectors takes it, or a JSON object of settings with a `name`, or Java properties.
    """
    from penstock.http.client import WorkerError
    from penstock.worker.connector_file import read_connector

    wanted = [(path, read_connector(path)) for path in _files(file)]
    for path, connector in wanted:
        if not connector.name:
            raise typer.BadParameter(f"{path} does not name its connector: add a `name`.")
    status = 0
    with client(url, user) as worker:
        for _, connector in wanted:
            try:
                status = _apply(worker, connector, dry_run) or status
            except WorkerError as error:
                complain(f"Connector {connector.name}: {error}")
                status = status or error.exit_status
    if status:
        raise typer.Exit(status)


def _files(given: list[Path]) -> Iterator[Path]:
    for path in given:
        if not path.is_dir():
            yield path
            continue
        found = sorted(each for each in path.iterdir() if each.suffix in SUFFIXES)
        if not found:
            raise typer.BadParameter(f"The folder {path} holds no file that ends in {' or '.join(SUFFIXES)}.")
        yield from found


def _apply(worker: Client, wanted: CreateConnector, dry_run: bool) -> int:
    from penstock.http.client import ResourceNotFoundError

    name = wanted.name
    try:
        present: Config | None = worker.config(name)
    except ResourceNotFoundError:
        present = None
    if present == wanted.config:
        print(f"Connector {name} is unchanged.")
        return 0
    print(f"Connector {name} does not exist yet:" if present is None else f"Connector {name} differs:")
    print("\n".join(f"  {line}" for line in difference(present or {}, wanted.config)))
    if dry_run:
        return _check(worker, wanted)
    if present is None:
        _create(worker, wanted)
        print(f"Created connector {name}.")
    else:
        worker.put_config(name, wanted.config)
        print(f"Updated connector {name}.")
    return 0


def difference(present: Config, wanted: Config) -> Iterable[str]:
    """``- key=value`` for removed and ``+ key=value`` for added settings, sorted by key."""
    for key in sorted(present.keys() | wanted.keys()):
        if key in present and (key not in wanted or present[key] != wanted[key]):
            yield f"- {key}={_shown(present[key])}"
        if key in wanted and (key not in present or present[key] != wanted[key]):
            yield f"+ {key}={_shown(wanted[key])}"


def _shown(value: str | None) -> str:
    return "null" if value is None else value


def _check(worker: Client, wanted: CreateConnector) -> int:
    """Validate a configuration; prints the errors to stderr and returns the exit status."""
    validated = worker.validate(wanted.config)
    errors = [error for config in validated["configs"] for error in config["value"]["errors"]]
    for error in errors:
        complain(f"Connector {wanted.name}: {error}")
    return 1 if errors else 0


def _create(worker: Client, wanted: CreateConnector) -> None:
    from penstock.http.routes.connectors import INITIAL_STATES

    names = {state: name for name, state in INITIAL_STATES.items()}
    pairs = wanted.initial_offsets
    offsets = None if pairs is None else [{"partition": partition, "offset": offset} for partition, offset in pairs]
    worker.create(wanted.name, wanted.config, names.get(wanted.initial_state), offsets)
