"""What the demo's steps work with, a broker and a worker, which end with the demo whatever happens."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from penstock.demo import flights
from penstock.demo.kills import Kill
from penstock.demo.problem import DemoError
from penstock.demo.processes import WorkerProcess
from penstock.demo.rest import Rest
from penstock.embedded import Broker, daemon

PICTURE = "flight-delays.svg"
PATIENCE = 300
"""Seconds without any progress."""


@dataclass(frozen=True, slots=True)
class Options:
    records: int = flights.TOTAL
    folder: Path | None = None
    """For data, logs and results, which then stay; without one they are scratch."""
    keep: bool = False
    """Leave broker and worker running."""
    kills: Sequence[Kill] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """What the steps work with."""

    console: Console
    folder: Path
    bootstrap: str
    worker: WorkerProcess
    rest: Rest
    picture: Path
    """Where it is drawn: in the folder if that stays, otherwise where the demo was started."""

    @property
    def source_file(self) -> Path:
        return self.folder / "flights.csv"

    @property
    def sink_file(self) -> Path:
        return self.folder / "sink.csv"

    @property
    def table(self) -> Path:
        return self.folder / "flights"

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def wait(self, what: str, done: Callable[[], bool], progress: Callable[[], int] = lambda: 0) -> None:
        """Raises DemoError if the worker ends, or when ``progress`` has been the same for too long."""
        since, before = time.monotonic(), progress()
        while not done():
            self.worker.check()
            if (now := progress()) != before:
                since, before = time.monotonic(), now
            elif time.monotonic() > since + PATIENCE:
                raise DemoError(f"{what} did not happen within {PATIENCE} s (the worker's log is {self.worker.log}).")
            time.sleep(0.1)


@contextmanager
def folder(options: Options) -> Iterator[Path]:
    """The demo's folder. A scratch one is removed afterwards, unless its logs tell of a DemoError or all is kept."""
    if options.folder is not None:
        chosen = options.folder.absolute()
        if chosen.exists() and any(chosen.iterdir()):
            raise DemoError(f"{chosen} is not empty: choose another folder for the demo, or remove it first.")
        chosen.mkdir(parents=True, exist_ok=True)
        yield chosen
        return
    scratch = Path(tempfile.mkdtemp(prefix="penstock-demo-")).resolve()
    kept = False
    try:
        yield scratch
        kept = options.keep
    except DemoError:
        kept = True
        raise
    finally:
        if not kept:
            shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def open_stage(options: Options, folder: Path, console: Console) -> Iterator[Stage]:
    """Broker and worker, running. Left running only if that is wanted and nothing was raised."""
    with ExitStack() as ending:
        data = folder / "kafka"
        if options.keep:
            bootstrap = daemon.up(data, 0).bootstrap
            ending.callback(daemon.down, data)
        else:
            bootstrap = ending.enter_context(Broker(data)).bootstrap
        console.print(f"[bold]Kafka[/]   {bootstrap}", highlight=False)
        worker = WorkerProcess(folder, bootstrap, leash=not options.keep)
        ending.callback(worker.stop)
        worker.start()
        rest = Rest(worker.url, worker.check)
        ending.callback(rest.close)
        rest.wait(PATIENCE)
        console.print(f"[bold]Worker[/]  {worker.url}, exactly once, tasks on a local Spark", highlight=False)
        stays = options.keep or options.folder is not None
        yield Stage(console, folder, bootstrap, worker, rest, (folder if stays else Path.cwd()) / PICTURE)
        if options.keep:
            ending.pop_all()
