"""``penstock demo``: a broker, a worker and connectors with real data, on this machine."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.demo.kills import Kill

app = typer.Typer()


@app.command()
def demo(
    records: Annotated[int | None, typer.Option(min=1, help="So many flights; by default all 336,776.")] = None,
    folder: Annotated[Path | None, typer.Option(help="An empty folder for data, logs and results, which stay.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave broker and worker running.")] = False,
    kill: Annotated[list[Kill] | None, typer.Option(help="SIGKILL this in the middle; may be repeated.")] = None,
) -> None:
    """Send every flight of New York City in 2013 from a file to a topic to a file and to a table, prove that none is
    lost, and draw who was late.
    """
    from rich.console import Console

    from penstock.demo import flights, story
    from penstock.demo.stage import Options

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console()
    options = Options(records or flights.TOTAL, folder, keep, tuple(kill or ()))
    try:
        story.run(options, console)
    except KeyboardInterrupt:
        console.print("The demo was interrupted; its broker and its worker have ended.")
        raise
