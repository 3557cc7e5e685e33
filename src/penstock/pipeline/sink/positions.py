"""The positions of a sink task in its machine, and its commits to the consumer group.

Java: the offset bookkeeping of ``WorkerSinkTask``: ``commitOffsets``, ``doCommit``, ``onCommitCompleted``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping

from penstock.api.sink import OffsetAndMetadata, TopicPartition
from penstock.pipeline.sink.actions import (
    AskForOffsets,
    BeginCommit,
    CommitOffsets,
    CommitResult,
    LogMessage,
    ReportCommit,
    SinkAction,
)
from penstock.pipeline.sink.batch import FetchedBatch
from penstock.pipeline.sink.events import CommitAnswered, OffsetsAgreed, PreCommitFailed
from penstock.pipeline.sink.state import SinkLoopSettings, SinkState

Emit = Callable[[SinkAction], None]


class SinkPositions:
    """The part of the machine that changes ``taken``, ``committed`` and what belongs to commits in the state."""

    def __init__(self, settings: SinkLoopSettings, state: SinkState, emit: Emit) -> None:
        self._settings, self._state, self._emit = settings, state, emit

    # -- positions

    def begin(self, starts: Mapping[TopicPartition, int]) -> None:
        """Begin with assigned partitions; ``starts`` are the positions that are known."""
        self._state.taken.update(starts)
        self._state.committed.update(starts)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Forget partitions that were closed, or of which nothing more is to be committed."""
        state = self._state
        for partition in partitions:
            state.taken.pop(partition, None)
            state.committed.pop(partition, None)
            state.unwritten.discard(partition)
            state.moved.add(partition)

    def take(self, batch: FetchedBatch) -> None:
        """Advance past all records of this batch, which the task has taken.

        A partition whose beginning could not be looked up begins with its first record.
        """
        state = self._state
        for partition in batch.ends.keys() - state.committed.keys():
            if (begin := batch.first_offset(partition)) is not None:
                state.committed[partition] = begin
        state.taken.update(batch.ends)

    def rewind(self, partition: TopicPartition, offset: int) -> None:
        """Go to this offset, from which the partition is read now."""
        state = self._state
        state.taken[partition] = state.committed[partition] = offset
        state.moved.add(partition)

    # -- commits

    def due(self, now: float) -> bool:
        """Return whether a commit is requested, or due, and none is in flight."""
        state = self._state
        if state.next_commit is None:
            state.next_commit = now + self._settings.commit_interval
        return state.commit_sent_at is None and (state.commit_requested or now >= state.next_commit)

    def begin_if_due(self, now: float) -> None:
        if self.due(now):
            self._state.commit_requested = False
            self._state.next_commit = now + self._settings.commit_interval
            self._emit(BeginCommit(tuple(sorted(self._state.assigned))))

    def check_timeout(self, now: float) -> None:
        """Give up a commit that the brokers have not answered in time."""
        state, timeout = self._state, self._settings.commit_timeout
        if state.commit_sent_at is not None and now >= state.commit_sent_at + timeout:
            state.commit_sent_at = None
            self._emit(ReportCommit(CommitResult.TIMED_OUT, timeout))

    def ask(self, partitions: Iterable[TopicPartition], closing: bool) -> None:
        """Ask the task, but only up to the offset from which it, or the next task of a partition, must read again."""
        state = self._state
        for partition, offset in state.rewinds.items():
            if state.taken.get(partition, offset) > offset:
                state.taken[partition] = offset
        if wanted := {p: state.taken[p] for p in partitions if p in state.taken}:
            self._emit(AskForOffsets(wanted, closing))

    def agreed(self, event: OffsetsAgreed, now: float) -> None:
        """Write the offsets if they, or what the group keeps with them, have changed."""
        state = self._state
        asked = event.asked.keys() - state.recreated
        before = {p: offset for p, offset in state.committed.items() if p in asked - state.unwritten}
        agreed = self._committable(event.agreed, event.asked)
        after = before | {p: offset for p, offset in agreed.items() if p in asked}
        if after == before and all(kept(after[p]) == kept(before[p]) for p in after):
            self._emit(ReportCommit(CommitResult.DONE))
            return
        if not event.closing:
            state.moved.clear()
            state.commit_sent_at, state.commit_sent = now, after
        self._emit(CommitOffsets(after, event.closing))

    def failed(self, event: PreCommitFailed) -> None:
        """Read again from the last committed offsets, unless the partitions are being closed."""
        if not event.closing:
            state = self._state
            asked = [p for p in event.partitions if p in state.committed and p not in state.recreated]
            state.rewinds.update({p: int(state.committed[p]) for p in asked})

    def answered(self, event: CommitAnswered, now: float) -> None:
        state, seconds = self._state, event.seconds
        if not event.closing:
            if event.sent is not None and event.sent != state.commit_sent:  # one that was given up before
                self._emit(ReportCommit(CommitResult.LATE))
                return
            sent, state.commit_sent_at = state.commit_sent_at, None
            if sent is None:
                self._emit(ReportCommit(CommitResult.LATE))
                return
            seconds = now - sent
        for partition, offset in event.written.items():
            if partition in state.taken and (event.closing or partition not in state.moved):
                state.committed[partition] = offset
                state.unwritten.discard(partition)
        result = CommitResult.DONE if event.error is None else CommitResult.FAILED
        self._emit(ReportCommit(result, seconds, event.error or ""))

    def _committable(
        self, answer: Mapping[TopicPartition, int], asked: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        found = {}
        for partition, offset in answer.items():
            prefix = f"Ignoring invalid task provided offset {offset} of {partition}"
            if partition in self._state.taken and partition not in asked:  # a cooperative rebalance closes others
                text = f"Ignoring task provided offset {offset} of {partition}: not asked for"
                self._emit(LogMessage(logging.DEBUG, text))
            elif partition not in asked:
                self._emit(LogMessage(logging.WARNING, f"{prefix}: not assigned"))
            elif offset < 0:  # which librdkafka would leave out of the commit
                self._emit(LogMessage(logging.WARNING, f"{prefix}: it is negative"))
            elif offset > asked[partition]:
                text = f"{prefix} -- not yet consumed, currentOffset={asked[partition]}"
                self._emit(LogMessage(logging.WARNING, text))
            else:
                found[partition] = offset
        return found


def kept(offset: int) -> tuple[str, int]:
    """Return what the group keeps with an offset: metadata, and the leader's epoch, as the client has it (-1: none)."""
    if not isinstance(offset, OffsetAndMetadata):
        return "", -1
    return offset.metadata, -1 if offset.leader_epoch is None else offset.leader_epoch
