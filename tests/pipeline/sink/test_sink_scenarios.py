"""Scenarios of a sink's machine, in ``scenarios/*.txt``: commands, a line ``----``, and what followed from them.

Actions are indented below the event from which they follow; a line with ``→`` is the outcome of the action above it;
the last line of a block, with ``=``, is the state. A word like ``t-0:3..7`` stands for the records of partition 0 with
the offsets 3 to 7, ``t-0@8`` for an offset.

``pytest tests/pipeline/sink/test_sink_scenarios.py --rewrite`` writes what follows today into the files. Commit such
changes only if you understand what caused them and want them.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import get_args

import pytest

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink import events
from penstock.pipeline.sink.state import Closing, Idle, Paused, Putting, Retrying, SinkLoopSettings, SinkPhase
from support.tasks.simulated_sink import SimulatedSink, described, described_event, records

FOLDER = Path(__file__).parent / "scenarios"
PATHS = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("path", PATHS, ids=lambda p: p.stem)
def test_scenario(path: Path, request: pytest.FixtureRequest) -> None:
    given = path.read_text()
    told, _ = tell(given)
    if request.config.getoption("--rewrite"):
        path.write_text(told)
        return
    assert told == given


EVERYWHERE = set(get_args(SinkPhase))
AT_REST = {Idle, Retrying, Paused}
"""No put runs."""
POSSIBLE: dict[type, set[type]] = {
    **dict.fromkeys(get_args(events.SinkEvent), EVERYWHERE),
    **dict.fromkeys((events.TurnContinued, events.StartsFound, events.TaskOpened, events.PartitionSought), AT_REST),
    events.TaskClosed: {*AT_REST, Closing},
    **{event: {Putting} for event in (events.Converted, events.ConversionDelayed, *get_args(events.PutEnded))},
    events.PauseWanted: EVERYWHERE - {Paused},
    events.ResumeWanted: {Paused, Putting, Closing},
    events.StopWanted: {*AT_REST, Putting},
}
"""The phases in which each event may come."""


def test_the_scenarios_show_every_phase_with_every_event() -> None:
    seen = set().union(*(tell(path.read_text())[1] for path in PATHS))
    possible = {(phase, event) for event, phases in POSSIBLE.items() for phase in phases}
    assert {(p.__name__, e.__name__) for p, e in seen} == {(p.__name__, e.__name__) for p, e in possible}


def tell(text: str) -> tuple[str, set[tuple[type, type]]]:
    """Return the scenario with the present results of its commands, and the phases and events that occur."""
    out: list[str] = []
    lines: list[str] = []
    seen: set[tuple[type, type]] = set()
    sink = SimulatedSink(lines.append, SinkLoopSettings(60.0, 5.0))
    for block in text.rstrip("\n").split("\n\n"):
        commands = block.split("\n----")[0].split("\n")
        lines.clear()
        for command in commands:
            if not command.startswith("#"):
                sink = run(sink, command, lines)
                seen |= sink.seen
        said = [] if all(c.startswith("#") for c in commands) else ["----", *lines, described(sink)]
        out.append("\n".join([*commands, *said]))
    return "\n\n".join(out) + "\n", seen


def run(sink: SimulatedSink, command: str, lines: list[str]) -> SimulatedSink:
    verb, *words = shlex.split(command)
    match verb, words:
        case "sink", options:
            converts = "converting" in options
            settings = SinkLoopSettings(60.0, 5.0, cooperative="cooperative" in options, puts_convert=converts)
            sink = SimulatedSink(lines.append, settings, elsewhere=converts or "elsewhere" in options)
            sink.machine.state.next_put = 1.0
            if "new" not in options:
                sink.machine.step(events.PartitionsAssigned(dict.fromkeys(PAIR, 0)), 0.0)
                sink.machine.step(events.StartsFound(PAIR, dict.fromkeys(PAIR, 0)), 0.0)
                sink.machine.step(events.TaskOpened(PAIR), 0.0)
                sink.machine.state.next_look = 1000.0
                sink.machine.state.quick = "quick" in options
                sink.started = True
        case "time", [seconds]:
            sink.now += float(seconds)
        case "records", ranges:
            sink.records.append(records(dict(map(_range, ranges))))
        case "next-put", [what, *marks]:
            sink.puts.append(_put_end(what, marks))
        case "next-pre-commit", ["fails"]:
            sink.pre_commits.append(RuntimeError("the disk is full"))
        case "next-pre-commit", offsets:
            sink.pre_commits.append(dict(map(_offset, offsets)))
        case "next-letters", what:
            sink.letters.extend(word == "arrive" for word in what)
        case "fails", [method]:
            sink.failing.add(method)
        case "within", [method, *words]:
            sink.requests.setdefault(method, []).append(_request(words))
        case "during-fetch", words:
            sink.fetching.append(_event(words))
        case "during-conversion", words:
            sink.delayed.append(_event(words))
        case "look-now", []:
            sink.machine.state.next_look = 0.0
        case "no-seek-yet", []:
            sink.started = False
        case _:
            event = _event([verb, *words])
            if not isinstance(event, events.Ticked):
                sink.tell(described_event(event))
            try:
                if isinstance(event, events.PartitionsAssigned | events.PartitionsRevoked):
                    sink.rebalance(event)
                else:
                    sink.happen(event)
            except RuntimeError as e:
                lines.append(f"raised: {e}")
    return sink


PAIR = (TopicPartition("t", 0), TopicPartition("t", 1))


def _event(words: list[str]) -> events.SinkEvent:
    match words:
        case ["tick"]:
            return events.Ticked()
        case ["delay"]:
            return events.ConversionDelayed()
        case ["fetched", *ranges]:
            return events.Fetched(records(dict(map(_range, ranges))) if ranges else None, drained=True)
        case ["fail", text]:
            return events.FailureFound(RuntimeError(text))
        case ["assign", *names]:
            return events.PartitionsAssigned(dict.fromkeys(map(_partition, names), 0))
        case ["revoke", *names]:
            return events.PartitionsRevoked(tuple(map(_partition, names)))
        case ["lose", *names]:
            return events.PartitionsRevoked(tuple(map(_partition, names)), lost=True)
        case ["recreate", *names]:
            return events.TopicsRecreated(frozenset(map(_partition, names)))
        case ["pause"]:
            return events.PauseWanted()
        case ["resume"]:
            return events.ResumeWanted()
        case ["stop"]:
            return events.StopWanted()
        case ["break"]:
            return events.LoopBroken()
        case ["answer-commit", *offsets]:
            return events.CommitAnswered(dict(map(_offset, offsets)))
        case ["refuse-commit", text]:
            return events.CommitAnswered({}, text)
        case ["request", *words]:
            return _request(words)
    raise ValueError(f"unknown command: {words}")


def _request(words: list[str]) -> events.TaskRequest:
    match words:
        case ["pause", *names]:
            return events.FlowRequested(events.Flow.PAUSE, frozenset(map(_partition, names)))
        case ["resume", *names]:
            return events.FlowRequested(events.Flow.RESUME, frozenset(map(_partition, names)))
        case ["rewind", *offsets]:
            return events.RewindRequested(dict(map(_offset, offsets)))
        case ["timeout", seconds]:
            return events.TimeoutRequested(float(seconds))
        case ["commit"]:
            return events.CommitRequested()
    raise ValueError(f"unknown request: {words}")


def _put_end(what: str, marks: list[str]) -> events.PutEnded:
    match what:
        case "takes":
            return events.PutTaken("clear" in marks, "quick" in marks)
        case "refuses":
            return events.PutRefused(RuntimeError("not yet"))
        case "fails":
            return events.PutFailed(RuntimeError("put has failed"))
        case "unconverted":
            return events.PutUnconverted()
    raise ValueError(f"unknown end of a put: {what}")


def _partition(word: str) -> TopicPartition:
    topic, number = word.rsplit("-", 1)
    return TopicPartition(topic, int(number))


def _range(word: str) -> tuple[TopicPartition, tuple[int, int]]:
    name, numbers = word.split(":")
    first, last = map(int, numbers.split(".."))
    return _partition(name), (first, last)


def _offset(word: str) -> tuple[TopicPartition, int]:
    name, offset = word.split("@")
    return _partition(name), int(offset)
