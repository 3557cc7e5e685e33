"""The broker, the worker and the files that the demo's steps use; its processes end with the demo."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from penstock.demo import connectors, flights
from penstock.demo.flights import DemoError
from penstock.demo.kills import Kill
from penstock.demo.processes import WorkerProcess
from penstock.embedded import Broker, daemon
from penstock.embedded.home import writing
from penstock.http.client import Client
from penstock.http.client_errors import ClientError, ResourceNotFoundError

PICTURE = "flight-delays.svg"
PATIENCE = 300
"""Seconds without any progress."""
REBALANCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Options:
    records: int = flights.TOTAL
    folder: Path | None = None
    """For data, logs and results, which then stay; without one they are scratch."""
    keep: bool = False
    """Leave broker and worker running."""
    kills: Sequence[Kill] = ()


@dataclass(frozen=True, slots=True)
class DemoStage:
    """Objects that the steps of the demo work with."""

    console: Console
    folder: Path
    bootstrap: str
    worker: WorkerProcess
    client: Client
    picture: Path
    """File of the picture: in the folder if that is kept, otherwise where the demo was started."""

    @property
    def source_file(self) -> Path:
        return self.folder / "flights.csv"

    @property
    def sink_file(self) -> Path:
        return self.folder / "sink.csv"

    @property
    def table(self) -> Path:
        return self.folder / "flights"

    def status(self, name: str) -> dict[str, Any]:
        """Waits for the status of a connector that was created just now: it has one when it has been started."""
        give_up = time.monotonic() + REBALANCE_SECONDS
        while True:
            try:
                return self.client.status(name)
            except ResourceNotFoundError:
                self.worker.check()
                if time.monotonic() > give_up:
                    raise
            time.sleep(0.2)

    def tasks(self, name: str) -> list[dict[str, Any]]:
        return self.status(name)["tasks"]

    def has_read_all(self, sink: str, ends: Mapping[int, int]) -> bool:
        """Whether the sink has committed the ends of these partitions of the topic."""
        committed = self.client.committed(sink)
        return all(committed.get((connectors.TOPIC, partition), 0) >= end for partition, end in ends.items())

    def check(self, *names: str) -> None:
        """Raises DemoError if a task of these connectors has failed."""
        for name in names:
            for task in self.tasks(name):
                if task["state"] == "FAILED":
                    raise DemoError(f"{name} has failed: {task['trace'].splitlines()[0]}")

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def wait(self, what: str, done: Callable[[], bool], progress: Callable[[], int] = lambda: 0) -> None:
        """Raises DemoError if the worker ends, or when ``progress`` has been the same for too long.

        Looks less often the longer there is none: looking keeps worker and broker from what is waited for.
        """
        since, before = time.monotonic(), progress()
        while not done():
            self.worker.check()
            if (now := progress()) != before:
                since, before = time.monotonic(), now
            elif time.monotonic() > since + PATIENCE:
                raise DemoError(f"{what} did not happen within {PATIENCE} s (the worker's log is {self.worker.log}).")
            time.sleep(min(0.1 + (time.monotonic() - since) / 10, 0.5))


def await_worker(client: Client, worker: WorkerProcess) -> None:
    """Returns when the worker answers requests that need its topics and its group. Raises DemoError."""
    give_up = time.monotonic() + PATIENCE
    while not client.healthy():
        worker.check()
        if time.monotonic() > give_up:
            raise DemoError(f"The worker at {worker.url} did not answer within {PATIENCE} s.")
        time.sleep(0.1)


@contextmanager
def folder(options: Options) -> Iterator[Path]:
    """The demo's folder. A scratch one is removed at the end, unless the demo failed or its processes are kept."""
    if options.folder is not None:
        chosen = options.folder.absolute()
        with writing(chosen):
            chosen.mkdir(parents=True, exist_ok=True)
        if any(chosen.iterdir()):
            raise DemoError(f"{chosen} is not empty: choose another folder for the demo, or remove it first.")
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
def open_stage(
    options: Options, folder: Path, console: Console, settings: Mapping[str, str] | None = None
) -> Iterator[DemoStage]:
    """A running broker and a running worker, with these ``settings`` too, which end with the block; with ``keep`` only
    if it raises.
    """
    with ExitStack() as ending:
        data = folder / "kafka"
        if options.keep:
            bootstrap = daemon.up(data, 0).bootstrap
            ending.callback(daemon.down, data)
        else:
            bootstrap = ending.enter_context(Broker(data)).bootstrap
        console.print(f"[bold]Kafka[/]   {bootstrap}", highlight=False)
        worker = WorkerProcess(folder, bootstrap, settings, leash=not options.keep)
        ending.callback(worker.stop)
        worker.start()
        client = ending.enter_context(Client(worker.url, patience=REBALANCE_SECONDS))
        await_worker(client, worker)
        console.print(f"[bold]Worker[/]  {worker.url}, exactly once, tasks on a local Spark", highlight=False)
        stays = options.keep or options.folder is not None
        try:
            yield DemoStage(console, folder, bootstrap, worker, client, (folder if stays else Path.cwd()) / PICTURE)
        except ClientError as error:
            worker.check()
            raise DemoError(str(error)) from error
        if options.keep:
            ending.pop_all()
