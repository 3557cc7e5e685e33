"""``penstock kafka``: a broker on this machine, for development."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Run a Kafka broker on this machine, for development.")

Home = Annotated[Path | None, typer.Option("--home", help="Penstock's cache folder, instead of $PENSTOCK_HOME.")]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of the broker; by default in Penstock's cache.")]


@app.command()
def up(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")] = 9092,
    home: Home = None,
    data: Data = None,
) -> None:
    """Start a broker, which runs until `penstock kafka down`."""
    from penstock.embedded import daemon

    directory = _directory(home, data)
    running = daemon.up(directory, port)
    print(f"Kafka runs on {running.bootstrap} (process {running.pid}, data and log in {directory}).")


@app.command()
def down(home: Home = None, data: Data = None) -> None:
    """Stop the broker; its data is kept."""
    from penstock.embedded import daemon

    directory = _directory(home, data)
    stopped = daemon.down(directory)
    print(f"Stopped the broker on {stopped.bootstrap}." if stopped else f"No broker runs from {directory}.")


@app.command()
def status(home: Home = None, data: Data = None) -> None:
    """Show whether the broker runs; exit status 3 if it does not."""
    from penstock.embedded import daemon

    directory = _directory(home, data)
    running = daemon.status(directory)
    if running is None:
        print(f"No broker runs from {directory}.")
        raise typer.Exit(3)
    print(f"Kafka runs on {running.bootstrap} (process {running.pid}, data and log in {directory}).")


def _directory(home: Path | None, data: Path | None) -> Path:
    from penstock.embedded import daemon

    if home is not None:
        os.environ["PENSTOCK_HOME"] = str(home.absolute())
    return data.absolute() if data else daemon.default_directory()
