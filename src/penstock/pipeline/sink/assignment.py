"""The partitions of a sink task in its machine: opened, closed, paused, sought.

Java: ``WorkerSinkTask``: ``HandleRebalance``, ``rewind``, ``pauseAll``, ``resumeAll``.
"""

from __future__ import annotations

from collections.abc import Set
from typing import assert_never

from penstock.api.sink import TopicPartition
from penstock.pipeline.sink import actions, events
from penstock.pipeline.sink.batch import NO_PARTITIONS, FetchedBatch
from penstock.pipeline.sink.positions import Emit, SinkPositions
from penstock.pipeline.sink.state import Idle, Paused, Retrying, SinkLoopSettings, SinkState


class SinkPartitions:
    """The part of the machine that changes which partitions there are, and from which the consumer fetches."""

    def __init__(self, settings: SinkLoopSettings, state: SinkState, positions: SinkPositions, emit: Emit) -> None:
        self._settings, self._state, self._positions, self._emit = settings, state, positions, emit

    # -- rebalances

    def rebalance(self, event: events.Rebalance) -> None:
        match event:
            case events.PartitionsAssigned(offsets):
                self._state.opening = dict(offsets)
                self._emit(actions.LookUpStarts(tuple(offsets)))
            case events.PartitionsRevoked():
                self.revoke(event)
            case _:
                assert_never(event)

    def open(self, event: events.StartsFound) -> None:
        state = self._state
        state.assigned |= frozenset(event.partitions)
        if state.reopening:
            state.unwritten |= state.reopening
            state.commit_requested = True
        state.paused &= state.assigned
        self._positions.begin(event.starts)
        if event.partitions:
            self._emit(actions.OpenTask(event.partitions))
        else:
            self.assign(())

    def assign(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Let the consumer begin where the task wants, otherwise at the position that was looked up."""
        state, opening = self._state, self._state.opening
        for partition in partitions:
            if (offset := state.rewinds.pop(partition, None)) is not None:
                self._positions.rewind(partition, offset)
        targets = {p: state.taken.get(p, opening.get(p, 0)) for p in partitions}
        state.opening = {}
        if state.reopening:  # the consumer has them
            state.rewinds.update(targets)
            state.reopening = NO_PARTITIONS
            return
        paused = state.assigned if state.held else state.paused & state.assigned
        self._emit(actions.AssignPartitions(targets, frozenset(partitions) - paused, paused))

    def revoke(self, event: events.PartitionsRevoked) -> None:
        self._drop(set(event.partitions))
        if not event.lost:
            self._emit(actions.BeginCommit(event.partitions, closing=True))
        self._state.closing = frozenset(event.partitions)
        self._emit(actions.CloseTask(event.partitions))

    def reopen(self) -> None:
        """Let the task finish with partitions of topics that are gone, and begin again with them in the new topics.

        Records of theirs that were fetched are put first, those of a partition that the task has paused when it is
        resumed.
        """
        state = self._state
        waiting = {partition for batch in state.ahead for partition in batch.ends}
        partitions = tuple(sorted(state.recreated - waiting))
        if partitions and state.batch is None:
            self._emit(actions.BeginCommit(partitions, closing=True))
            state.closing = state.reopening = frozenset(partitions)
            self._emit(actions.CloseTask(partitions))
            self._emit(actions.ReopenPartitions(partitions))

    def closed(self, partitions: tuple[TopicPartition, ...]) -> None:
        """Forget partitions that the task has closed.

        Without a cooperative assignor the next assignment may give them back, and then they stay paused, as in Java. So
        do those that are opened again, which the consumer keeps.
        """
        state = self._state
        self._positions.forget(partitions)
        state.recreated -= frozenset(partitions)
        for partition in state.reopening:  # an offset in the old topic
            state.rewinds.pop(partition, None)
        state.assigned, state.closing = state.assigned - frozenset(partitions), NO_PARTITIONS
        if self._settings.cooperative and not state.reopening:
            state.paused &= state.assigned

    # -- requests of the task

    def apply_flow(self, event: events.FlowRequested) -> None:
        """Pause or resume partitions.

        Those that are being opened follow when the consumer has them, those that are being closed never.
        """
        state = self._state
        there = (event.partitions & state.assigned) - state.opening.keys() - state.closing
        if event.flow is events.Flow.PAUSE:
            state.paused |= event.partitions
            if there:
                self._emit(actions.PausePartitions(there))
        else:
            state.paused -= event.partitions
            if there and not state.held:
                self._emit(actions.ResumePartitions(there))

    def seek(self) -> None:
        state = self._state
        for partition, offset in tuple(state.rewinds.items()):
            if partition in state.assigned:
                self._emit(actions.SeekPartition(partition, offset))
            else:
                del state.rewinds[partition]

    def sought(self, partition: TopicPartition, offset: int) -> None:
        """Follow the consumer to its new position. A later request for the partition stays."""
        if self._state.rewinds.get(partition) == offset:
            del self._state.rewinds[partition]
        self._positions.rewind(partition, offset)
        self._drop({partition})

    def _drop(self, partitions: Set[TopicPartition]) -> None:
        """Drop the records of these partitions that wait to be put, for the first time or again."""
        state = self._state
        kept = (batch.divided(partitions)[1] for batch in state.ahead)
        state.ahead = tuple(batch for batch in kept if batch is not None)
        match state.phase:
            case Retrying(batch, at):
                rest = batch.divided(partitions)[1]
                state.phase = Idle() if rest is None else Retrying(rest, at)
                if rest is None:
                    self._emit(actions.FinishBatch())
                    self._emit(actions.ResumePartitions(state.fetchable))
            case Paused(FetchedBatch() as batch, at):
                rest = batch.divided(partitions)[1]
                state.phase = Paused() if rest is None else Paused(rest, at)
                if rest is None:
                    self._emit(actions.FinishBatch())
