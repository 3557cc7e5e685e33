"""``penstock worker``: run a distributed or a standalone worker."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Run a worker: distributed or standalone.")


@app.command()
def distributed(
    properties: Annotated[Path, typer.Argument(help="Properties file of the worker, as for Java Connect.")],
) -> None:
    """Run a worker of a cluster until SIGTERM or SIGINT."""
    _imported()(properties)


@app.command()
def standalone(
    properties: Annotated[Path, typer.Argument(help="Properties file of the worker, as for Java Connect.")],
    connectors: Annotated[list[Path] | None, typer.Argument(help="Files with configurations of connectors.")] = None,
) -> None:
    """Run a standalone worker with these connectors (.properties or .json files)."""
    _imported()(properties, standalone=True, connectors=connectors or [])


def _imported() -> Callable[..., None]:
    """Import what a worker needs, without collections of garbage: they would take an eighth of the time and
    free nothing. Later collections leave out what was imported.
    """
    gc.disable()
    from penstock.worker.process import run

    gc.freeze()
    gc.enable()
    return run
