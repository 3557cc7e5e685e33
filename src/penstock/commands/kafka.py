"""``penstock kafka``: a broker on this machine, for development."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.commands._servers import Home, directory_of, exit_if_none, say_running, say_stopped

app = typer.Typer(no_args_is_help=True, help="Run a Kafka broker on this machine, for development.")

Data = Annotated[Path | None, typer.Option("--data", help="Folder of the broker; by default in Penstock's cache.")]


@app.command()
def up(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")] = 9092,
    home: Home = None,
    data: Data = None,
) -> None:
    """Start a broker, which runs until `penstock kafka down`."""
    from penstock.embedded import daemon

    directory = directory_of(home, data, daemon.default_directory)
    running = daemon.up(directory, port)
    say_running("Kafka", running.bootstrap, running, directory)


@app.command()
def down(home: Home = None, data: Data = None) -> None:
    """Stop the broker; its data is kept."""
    from penstock.embedded import daemon

    directory = directory_of(home, data, daemon.default_directory)
    stopped = daemon.down(directory)
    say_stopped("broker", stopped.bootstrap if stopped else None, directory)


@app.command()
def status(home: Home = None, data: Data = None) -> None:
    """Show whether the broker runs; exit status 3 if it does not."""
    from penstock.embedded import daemon

    directory = directory_of(home, data, daemon.default_directory)
    running = daemon.status(directory)
    exit_if_none("broker", running, directory)
    assert running is not None
    say_running("Kafka", running.bootstrap, running, directory)
