"""Whatever happens to a sink, in whatever order: it puts every record in order, and commits only what it has put.

Fetches, ends of puts, rebalances, topics that are created again, pauses, requests of the task, commits and failures of
``pre_commit`` are drawn.
``PENSTOCK_TEST_EXAMPLES=5000`` tests that many sinks instead of a few.
"""

from __future__ import annotations

import os
import random

import pytest

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink import actions, events
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.state import Closing, Idle, Putting, SinkLoopSettings
from support.tasks.simulated_sink import SimulatedSink, records

SINKS = int(os.environ.get("PENSTOCK_TEST_EXAMPLES", "60"))
ALL = tuple(TopicPartition("t", number) for number in range(3))


class WatchedSink(SimulatedSink):
    """A sink whose partitions have records without end, with a consumer and a group. Checks what must always hold."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.cooperative, converts = draw.random() < 0.5, draw.random() < 0.4
        settings = SinkLoopSettings(2.0, 1.0, self.cooperative, converts)
        self.lines: list[str] = []
        super().__init__(self.lines.append, settings, elsewhere=converts or draw.random() < 0.5)
        self.group: dict[TopicPartition, int] = {}
        self.position: dict[TopicPartition, int] = {}
        """Per partition that the consumer has the next offset to be fetched."""
        self.held: set[TopicPartition] = set()
        self.due: dict[TopicPartition, int] = {}
        """Per partition the next offset that the task is to get."""
        self.open: set[TopicPartition] = set()
        self.unanswered: list[dict[TopicPartition, int]] = []
        self.old: set[TopicPartition] = set()
        """Partitions whose topic was created again, until they are closed."""
        self.putting: FetchedBatch | None = None
        self.losing = False

    def carry_out(self, action: actions.SinkAction) -> None:
        match action:
            case actions.PausePartitions(partitions):
                assert partitions <= self.position.keys()
                self.held |= partitions
            case actions.ResumePartitions(partitions):
                assert partitions <= self.position.keys()
                self.held -= partitions
            case actions.LookUpStarts(partitions):
                self.outcome(events.StartsFound(partitions, {p: self.group.get(p, 0) for p in partitions}))
                return
            case actions.AssignPartitions(offsets, resumed, paused):
                self.position |= offsets
                self.due |= offsets
                self.held = (self.held - resumed) | paused
            case actions.SeekPartition(partition, offset):
                if self.draw.random() < 0.9:
                    self.position[partition] = self.due[partition] = offset
                    self.outcome(events.PartitionSought(partition, offset))
                return
            case actions.PutBatch(batch):
                assert not self.cooperative or batch is None or batch.ends.keys() <= self.open
                assert not isinstance(self.putting, FetchedBatch), "one put at a time"
                self._check(batch)
                self.putting = batch
            case actions.PutBehind(batch):
                self._check(batch, behind=self.putting)
            case actions.BeginCommit():
                self._recreate()
            case actions.ReopenPartitions(partitions):
                self.due |= dict.fromkeys(partitions, 0)
            case actions.OpenTask(partitions):
                assert self.open.isdisjoint(partitions)
                self.open |= set(partitions)
            case actions.CloseTask(partitions):
                assert self.open >= set(partitions)
                self.open -= set(partitions)
                self.old -= set(partitions)
            case actions.CommitOffsets(offsets, closing):
                self._write(dict(offsets), closing)
        super().carry_out(action)

    def _check(self, batch: FetchedBatch | None, behind: FetchedBatch | None = None) -> None:
        """Check that the task gets exactly the records that are due."""
        for partition, end in () if batch is None else batch.ends.items():
            due = self.due[partition]
            if behind is not None:
                due = behind.ends.get(partition, due)
            first = batch.first_offset(partition) if batch is not None else None
            assert first == due, f"{partition}: the task gets {first}, though {due} is due"
            assert batch is not None
            assert batch.records.origin.partitions.count(partition.partition) == end - first  # type: ignore[union-attr]

    def _recreate(self) -> None:
        """Perhaps find out that the topic of a partition was deleted and created again."""
        there = sorted(self.machine.state.assigned & self.position.keys())
        if there and self.draw.random() < 0.2:
            partition = self.draw.choice(there)
            self.old.add(partition)
            self.group.pop(partition, None)
            self.outcome(events.TopicsRecreated(frozenset({partition})))

    def _write(self, offsets: dict[TopicPartition, int], closing: bool) -> None:
        for partition, offset in offsets.items():
            assert offset <= self.due[partition], f"{partition}: {offset} is committed, but {self.due[partition]} due"
        assert self.old.isdisjoint(offsets), "these offsets are in a topic that is gone"
        assert not self.losing, "other members may have committed later offsets"
        self.group |= offsets
        if not closing:
            self.unanswered.append(offsets)

    def await_put(self) -> None:
        if not self.running:
            return
        self.puts.clear()
        batch, behind, draw = self.putting, self.behind, self.draw
        refused = events.PutRefused(RuntimeError("not yet"))
        ends: list[events.PutEnded] = [events.PutTaken(draw.random() < 0.8, draw.random() < 0.8)] * 6 + [refused]
        if batch is not None and not batch.converted:
            ends.append(events.PutUnconverted())
        end = draw.choice(ends)
        self.putting = None
        if isinstance(end, events.PutTaken):
            self.due |= {} if batch is None else batch.ends
            self.putting = behind if end.clear else None
        if draw.random() < 0.2 and self.machine.state.assigned:
            self.requests["put"] = [self.request()]
            # A task that asks for something is not clear, so that the put behind does nothing.
            if isinstance(end, events.PutTaken):
                end = events.PutTaken(False, end.quick)
                self.putting = None
        self.puts.append(end)
        super().await_put()

    def request(self) -> events.TaskRequest:
        partition = self.draw.choice(sorted(self.machine.state.assigned))
        offset = self.draw.randint(0, self.due.get(partition, 0))
        return self.draw.choice(
            [
                events.FlowRequested(events.Flow.PAUSE, frozenset({partition})),
                events.FlowRequested(events.Flow.RESUME, self.machine.state.assigned),
                events.RewindRequested({partition: offset}),
                events.TimeoutRequested(self.draw.random()),
                events.CommitRequested(),
            ]
        )

    def fetch(self) -> None:
        """Fetch records of partitions that are not paused, perhaps after a rebalance."""
        while self.unanswered and self.draw.random() < 0.5:
            offsets = self.unanswered.pop(0)
            self.outcome(events.CommitAnswered(offsets, sent=offsets))
        if self.draw.random() < 0.1:
            self._rebalance()
        ready = [p for p in self.position if p not in self.held]
        chosen = [p for p in ready if self.draw.random() < 0.5]
        ranges = {p: (self.position[p], self.position[p] + self.draw.randint(0, 3)) for p in chosen}
        self.position |= {p: last + 1 for p, (_, last) in ranges.items()}
        self.outcome(events.Fetched(records(ranges) if ranges else None, drained=True))

    def _rebalance(self) -> None:
        lost = self.draw.random() < 0.3
        taken = set(self.position) if not self.cooperative else {p for p in self.position if self.draw.random() < 0.4}
        if taken:
            self.losing = lost
            self.rebalance(events.PartitionsRevoked(tuple(sorted(taken)), lost))
            self.losing = False
            self.position = {p: at for p, at in self.position.items() if p not in taken}
            self.held -= taken
        given = {p for p in ALL if p not in self.position and self.draw.random() < 0.7}
        if given:
            self.rebalance(events.PartitionsAssigned(dict.fromkeys(sorted(given), 0)))


@pytest.mark.parametrize("seed", range(SINKS))
def test_every_record_is_put_in_order_and_only_then_committed(seed: int) -> None:
    draw = random.Random(seed)
    sink = WatchedSink(draw)
    sink.started = True
    try:
        for _ in range(draw.randint(20, 120)):
            sink.now += draw.choice((0.0, 0.0, 0.05, 0.6, 1.1))
            if draw.random() < 0.05:
                paused = sink.machine.state.pause_wanted
                sink.happen(events.ResumeWanted() if paused else events.PauseWanted())
            if draw.random() < 0.1 and sink.machine.state.assigned:
                sink.happen(sink.request())
            if draw.random() < 0.05:
                sink.pre_commits.append(RuntimeError("the disk is full"))
            sink.happen(events.Ticked())
            assert sink.machine.state.failure is None
            if isinstance(sink.machine.state.phase, Idle):
                assert sink.held == sink.machine.state.paused & sink.machine.state.assigned
            assert sink.running == isinstance(sink.machine.state.phase, Putting)
        sink.happen(events.StopWanted())
    except AssertionError:
        print("\n".join(sink.lines[-60:]))
        raise
    assert isinstance(sink.machine.state.phase, Closing)
    assert sink.open == set()
