"""``penstock demo``: a broker, a worker and connectors with real data, on this machine."""

from __future__ import annotations

import enum
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from penstock.demo.kills import Kill

app = typer.Typer()


class Story(enum.StrEnum):
    """Optional parts of the demo, besides files."""

    JDBC = "jdbc"
    CDC = "cdc"


@app.command()
def demo(
    story: Annotated[
        Story | None,
        typer.Argument(
            help="jdbc: from a database to a topic, and from there to another database. cdc: a Delta table follows "
            "the changes of a PostgreSQL, which has to be installed.",
            show_default=False,
        ),
    ] = None,
    records: Annotated[int | None, typer.Option(min=1, help="Number of flights; by default all 336,776.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Empty folder for data, logs and results.")] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the broker and the worker running.")] = False,
    kill: Annotated[list[Kill] | None, typer.Option(help="Kill (SIGKILL) while records flow; repeatable.")] = None,
) -> None:
    """Run a broker, a worker and connectors with every flight that left New York City in 2013: from a file to a topic,
    and from there to a file and a table, or (jdbc) from a database to another, or (cdc) from a PostgreSQL to a table
    that follows its changes. Proves that no record is lost, and draws the delays by carrier.
    """
    from rich.console import Console

    from penstock.demo import flights
    from penstock.demo import story as files
    from penstock.demo.databases import cdc, jdbc
    from penstock.demo.stage import Options

    if story is Story.JDBC and kill:
        raise typer.BadParameter("The demo with databases kills nothing: leave --kill out.")
    if story is Story.CDC:
        if kill:
            raise typer.BadParameter("The demo of changes kills a task and Spark's Java by itself: leave --kill out.")
        if keep:
            raise typer.BadParameter("The demo of changes leaves nothing running: leave --keep out.")
        if records is not None and records < cdc.MIN_FLIGHTS:
            raise typer.BadParameter(f"The demo of changes needs at least {cdc.MIN_FLIGHTS} flights: raise --records.")

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console()
    options = Options(records or flights.TOTAL, folder, keep, tuple(kill or ()))
    try:
        if story is Story.JDBC:
            jdbc.run(options, console)
        elif story is Story.CDC:
            cdc.run(options, console)
        else:
            files.run(options, console)
    except KeyboardInterrupt:
        console.print("The demo was interrupted; its broker and its worker have been stopped.")
        raise
