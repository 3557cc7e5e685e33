"""``python -m soak churn``, ``kills`` and ``sinks``: the long runs of ``make soak``, ``kill-test`` and
``kill-test-sinks``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from penstock.embedded import Broker
from soak import churning, killing, sinking
from soak.report import Clock, Outcome, show

app = typer.Typer(add_completion=False, help="Workers, Spark and tasks are killed, and nothing must be wrong after it.")

Bootstrap = Annotated[str, typer.Option(help="A running broker; without it one is started.")]
Logs = Annotated[Path | None, typer.Option(help="A folder for the workers' logs; kept.")]
Once = Annotated[bool, typer.Option(help="Workers with exactly once for sources.")]


@app.command()
def churn(
    minutes: float = 15.0,
    between_kills: Annotated[float, typer.Option(help="Seconds from one kill to the next.")] = 20.0,
    pace: Annotated[float, typer.Option(help="Seconds between two requests of one of three operators.")] = 2.0,
    exactly_once: Once = False,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """30 connectors are created, changed, paused, restarted and deleted while workers are killed."""
    wanted = churning.Soak(seconds=minutes * 60, between_kills=between_kills, pace=pace, exactly_once=exactly_once)
    with _broker(bootstrap) as running, _folder(logs) as folder:
        _end("Soak", churning.run(wanted, running, folder, Clock().say))


@app.command()
def kills(
    number: Annotated[int, typer.Option("--kills", help="How many, of workers, Sparks and tasks in turn.")] = 100,
    between_kills: Annotated[float, typer.Option(help="Seconds from one kill to the next, on average.")] = 6.0,
    exactly_once: Once = True,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Numbers are sent to Kafka while workers, their Sparks and their tasks are killed."""
    wanted = killing.KillTest(kills=number, between_kills=between_kills, exactly_once=exactly_once)
    with _broker(bootstrap) as running, _folder(logs) as folder:
        _end("Kill test", killing.run(wanted, running, folder, Clock().say))


@app.command()
def sinks(
    number: Annotated[int, typer.Option("--kills", help="How many, of workers, Sparks and tasks in turn.")] = 100,
    records: Annotated[int, typer.Option(help="How many, sent evenly during the kills.")] = 5_000_000,
    between_kills: Annotated[float, typer.Option(help="Seconds from one kill to the next, on average.")] = 6.0,
    bootstrap: Bootstrap = "",
    logs: Logs = None,
) -> None:
    """Numbers go into a file, a Parquet and a Delta table while workers, their Sparks and their tasks are killed."""
    wanted = sinking.SinkKillTest(kills=number, records=records, between_kills=between_kills)
    with _broker(bootstrap) as running, _folder(logs) as folder:
        _end("Kill test of sinks", sinking.run(wanted, running, folder, Clock().say))


def _end(title: str, outcome: Outcome) -> None:
    show(title, outcome)
    if outcome.violations:
        raise typer.Exit(1)


@contextmanager
def _broker(bootstrap: str) -> Iterator[str]:
    if bootstrap:
        yield bootstrap
    else:
        with Broker() as broker:
            yield broker.bootstrap


@contextmanager
def _folder(logs: Path | None) -> Iterator[Path]:
    if logs is not None:
        logs.mkdir(parents=True, exist_ok=True)
        yield logs
    else:
        with tempfile.TemporaryDirectory(prefix="penstock-soak-") as scratch:
            yield Path(scratch)


if __name__ == "__main__":
    app()
