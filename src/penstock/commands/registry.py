"""``penstock registry``: a schema registry for this machine, for trying things out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="A schema registry on this machine: up, down, status.")

Home = Annotated[Path | None, typer.Option("--home", help="Penstock's cache folder, instead of $PENSTOCK_HOME.")]
Data = Annotated[Path | None, typer.Option("--data", help="The registry's folder; by default in Penstock's cache.")]


@app.command()
def up(
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.")] = 8081,
    compatibility: Annotated[str, typer.Option(help="The global compatibility level at the start.")] = "BACKWARD",
    memory: Annotated[bool, typer.Option("--memory", help="Keep no schema when it stops.")] = False,
    home: Home = None,
    data: Data = None,
) -> None:
    """Start a registry, which stays until `penstock registry down`."""
    from penstock.embedded import registry

    directory = _directory(home, data)
    running = registry.up(directory, port, compatibility, not memory)
    print(f"The registry runs on {running.url} (process {running.pid}, data and log in {directory}).")


@app.command()
def down(home: Home = None, data: Data = None) -> None:
    """Stop the registry; its schemas stay, unless it was started with --memory."""
    from penstock.embedded import registry

    directory = _directory(home, data)
    stopped = registry.down(directory)
    print(f"Stopped the registry on {stopped.url}." if stopped else f"No registry runs from {directory}.")


@app.command()
def status(home: Home = None, data: Data = None) -> None:
    """Say whether the registry runs; exit status 3 when it does not."""
    from penstock.embedded import registry

    directory = _directory(home, data)
    running = registry.status(directory)
    if running is None:
        print(f"No registry runs from {directory}.")
        raise typer.Exit(3)
    print(f"The registry runs on {running.url} (process {running.pid}, data and log in {directory}).")


def _directory(home: Path | None, data: Path | None) -> Path:
    from penstock.embedded import registry

    if home is not None:
        os.environ["PENSTOCK_HOME"] = str(home.absolute())
    return data.absolute() if data else registry.default_directory()
