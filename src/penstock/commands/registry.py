"""``penstock registry``: a schema registry on this machine, for development."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.commands._servers import Home, directory_of, exit_if_none, say_running, say_stopped

app = typer.Typer(no_args_is_help=True, help="Run a schema registry on this machine, for development.")

Data = Annotated[Path | None, typer.Option("--data", help="Folder of the registry; by default in Penstock's cache.")]


@app.command()
def up(
    port: Annotated[int, typer.Option(help="Port to listen on; 0 for a free one.")] = 8081,
    compatibility: Annotated[str, typer.Option(help="The global compatibility level at the start.")] = "BACKWARD",
    memory: Annotated[bool, typer.Option("--memory", help="Keep no schema when it stops.")] = False,
    home: Home = None,
    data: Data = None,
) -> None:
    """Start a registry, which runs until `penstock registry down`."""
    from penstock.embedded import registry

    directory = directory_of(home, data, registry.default_directory)
    running = registry.up(directory, port, compatibility, not memory)
    say_running("The registry", running.url, running, directory)


@app.command()
def down(home: Home = None, data: Data = None) -> None:
    """Stop the registry; its schemas stay, unless it was started with --memory."""
    from penstock.embedded import registry

    directory = directory_of(home, data, registry.default_directory)
    stopped = registry.down(directory)
    say_stopped("registry", stopped.url if stopped else None, directory)


@app.command()
def status(home: Home = None, data: Data = None) -> None:
    """Show whether the registry runs; exit status 3 if it does not."""
    from penstock.embedded import registry

    directory = directory_of(home, data, registry.default_directory)
    running = registry.status(directory)
    exit_if_none("registry", running, directory)
    assert running is not None
    say_running("The registry", running.url, running, directory)
