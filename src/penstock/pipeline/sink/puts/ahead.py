"""What the loop of a sink does while a put runs in a JVM: it fetches the records of the next put.

If puts are quick it begins that put, too, which waits in the JVM and does nothing unless the task takes the records of
the first and asks for nothing. Both are waited for before anything else is done: a commit, a rebalance, a pause.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.sink import TopicPartition
from penstock.hosts.jvm.tasks.sink_task import JavaSinkTask
from penstock.hosts.jvm.tasks.steps import JavaStepOf
from penstock.pipeline.errors import Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.sink.puts.pending import PendingBatch, divided

EndPut = Callable[[], float | None]
"""Returns when the task has taken the records; how many seconds that took, if they are known better than by waiting.
Raises what the task's ``put`` has raised.
"""
QUICK_SECONDS = 0.1
"""A put that takes longer has none begun behind it, for which a rebalance or a stop would wait as well."""
PUT_FAILED = "Exiting WorkerSinkTask due to unrecoverable exception."


@dataclass(slots=True)
class Ahead:
    """Records that were fetched while others were put, as they were read."""

    records: Batch | None = None
    put: tuple[PendingBatch, EndPut] | None = None
    """The put of these records, if it has begun."""

    def begin(self, puts: JavaPuts, only: TopicPartition | None) -> None:
        """Begin the put of the records, behind the one that runs. ``only``: their partition, if it is just one."""
        assert self.records is not None
        pending = PendingBatch.of(self.records, self.records, only)
        pending.unconverted = True
        self.put = pending, puts.begin(pending, behind=True)

    def take_put(self, runs: bool) -> tuple[Batch, PendingBatch, EndPut] | None:
        """The records and their put, which has begun, if it ``runs``; otherwise they have to be put again."""
        begun, self.put = self.put, None
        records = self.records
        if begun is None or not runs or records is None:
            return None
        self.records = None
        return records, *begun

    def abandon(self, running: EndPut | None) -> None:
        """Called when the loop has ended: wait for the end of the put that still runs, since the loop has failed
        meanwhile, and of the one behind it, whatever comes of them. Nothing of their records counts.
        """
        begun, self.put = self.put, None
        for end in (running, begun[1] if begun is not None else None):
            if end is not None:
                with contextlib.suppress(Exception):
                    end()

    def take(self, held: Set[TopicPartition]) -> Batch | None:
        """Those whose partitions are not held, which stay."""
        batch = self.records
        if batch is None or not held:
            self.records = None
            return batch
        kept, taken = divided(batch, held)
        if not kept:
            self.records = None
            return batch
        self.records = batch.select(kept)
        return batch.select(taken) if taken else None

    def forget(self, partitions: Set[TopicPartition]) -> None:
        """Drop the records of these partitions."""
        if self.records is not None:
            dropped, kept = divided(self.records, partitions)
            if dropped:
                self.records = self.records.select(kept) if kept else None


class JavaPuts:
    """Begins the puts of a task in a JVM."""

    def __init__(
        self, task: JavaSinkTask, converters: Mapping[str, JavaStepOf] | None, note: Step, metrics: Metrics
    ) -> None:
        """``converters``: those of key, value and header, if nothing but them and the step ``note`` lies between
        records as they are read and the task: then a put converts them.
        """
        self._task, self._converters, self._note, self._metrics = task, converters, note, metrics
        self.prepare = task.prepare
        self._quick = False
        self.clear = False
        """Whether the put that has ended last was clear, so that the one begun behind it runs."""

    @property
    def converts(self) -> bool:
        return self._converters is not None

    @property
    def overlap(self) -> bool:
        """Whether a put may be begun while another one runs."""
        return self.converts and self._quick

    def begin(self, pending: PendingBatch, behind: bool = False) -> EndPut:
        """``behind``: while another put runs. The function that is returned raises NotConvertedError as well: then no
        record has been put.
        """
        try:
            begun = self._task.begin_put(pending.records, self._converters if pending.unconverted else None, behind)
        except Exception as e:  # what a transform has made of a record has no counterpart in Java
            raise ConnectError(PUT_FAILED) from e

        def end() -> float:
            self.clear = self._quick = False
            try:
                begun.wait()
            finally:
                if begun.converted and pending.unconverted:
                    self._metrics.spent("convert", begun.converting)
                    self._note.apply(pending.records)
                    if begun.again is not None:
                        pending.records, pending.unconverted = begun.again, False
            self.clear, self._quick = begun.clear, begun.converting + begun.seconds < QUICK_SECONDS
            return begun.seconds

        return end
