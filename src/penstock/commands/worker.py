"""``penstock worker``: a worker of a cluster, or one that is alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Run a worker: distributed or standalone.")


@app.command()
def distributed(
    properties: Annotated[Path, typer.Argument(help="The worker's properties file, as Java Connect reads it.")],
) -> None:
    """Run a worker of a cluster until it is told to end (SIGTERM, SIGINT)."""
    from penstock.worker.process import run

    run(properties)


@app.command()
def standalone(
    properties: Annotated[Path, typer.Argument(help="The worker's properties file, as Java Connect reads it.")],
    connectors: Annotated[list[Path] | None, typer.Argument(help="Configurations of connectors.")] = None,
) -> None:
    """Run a worker that is alone, with these connectors (.properties or .json files)."""
    from penstock.worker.process import run

    run(properties, standalone=True, connectors=connectors or [])
