"""Active topics (KIP-558) of tasks that always have records on their way. Without a broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import confluent_kafka as ck

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.source import SourceTask
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS
from penstock.core.model.tasks import TaskId
from penstock.kafka.topic_guard import guard_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.source.commit import AtLeastOnce, CommitPolicy, RecordByRecord
from penstock.pipeline.source.failed_records import SourceLogReporter
from penstock.pipeline.source.loop import SourceLoop, SourceSteps, TargetTopics
from penstock.pipeline.source.offset_log import OffsetCopies
from penstock.pipeline.source.offsets import SourceTaskOffsets
from penstock.pipeline.source.sending.sender import Delivered
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries
from penstock.pipeline.source.transactions import ExactlyOnce, TransactionalOffsets
from penstock.pipeline.task import TaskControl
from penstock.pipeline.topics import TopicReporter
from support.tasks.runs import MemoryHost
from support.tasks.specs import SOURCE

ID = TaskId("c", 0)
TIMING = CommitTiming(0.0, 5.0)


class Slow:
    """A sender, and its producer, whose records need as long as a commit waits for them."""

    def __init__(self) -> None:
        self.producer, self.taken, self.lost = self, 0, set[str]()
        self.callbacks: list[Delivered] = []

    def __len__(self) -> int:
        return self.taken

    def send(self, batch: Batch, delivered: Sequence[Delivered] | None = None, ahead: Sequence[Any] = ()) -> None:
        self.taken += len(batch)
        self.callbacks += delivered or ()

    def flush(self, seconds: float) -> bool:
        if seconds >= TIMING.timeout:
            self.taken = 0
        return not self.taken

    def commit_transaction(self, seconds: float) -> None:
        self.taken = 0

    def begin_transaction(self) -> None: ...

    def poll(self) -> None: ...

    def check(self) -> None: ...

    def unacknowledged(self) -> int:
        return self.taken


class AnyTopics:
    """Stands for a ``TopicCreator``, and for an ``OffsetLog``."""

    def ensure(self, topics: set[str]) -> None: ...

    def write(self, offsets: object, seconds: float) -> None: ...


class Busy(SourceTask):
    """Returns three batches, and records the topics that have been reported before each."""

    def __init__(self, host: MemoryHost, control: TaskControl) -> None:
        self._host, self._control = host, control
        self.reported: list[list[str]] = []

    def poll(self) -> Batch:
        self.reported.append(list(self._host.topics))
        if len(self.reported) == 3:
            self._control.stop()
        return Batch.of("t", [b"a"], origin=SourceOrigin([{"p": 0}], [{"o": len(self.reported)}]))


class BusyAndAcknowledged(Busy):
    def commit(self) -> None: ...


def reported(task_class: type[Busy], exactly_once: bool) -> list[list[str]]:
    control, host, metrics, sender = TaskControl(), MemoryHost(), Metrics(lambda values: None, ()), Slow()
    runtime = TaskRuntime(ID, control, host, metrics, ErrorHandler(ErrorSettings(), metrics, lambda seconds: False))
    task, other, offsets = task_class(host, control), AnyTopics(), SourceTaskOffsets(SOURCE)
    commit: CommitPolicy
    if exactly_once:
        stored = TransactionalOffsets(offsets, "offsets", OffsetCopies(lambda: sender, None))  # type: ignore[arg-type,return-value]
        commit = ExactlyOnce(runtime, task, sender, stored, TransactionBoundaries("poll", 60.0))  # type: ignore[arg-type]
    else:
        commit = AtLeastOnce(runtime, task, sender, offsets, other, TIMING)  # type: ignore[arg-type]
    steps = SourceSteps([], None, SourceLogReporter(ID, ErrorSettings(), metrics))
    topics = TargetTopics(TopicReporter(SOURCE, control, host), other, guard_of(NO_INTERNAL_TOPICS, {}))  # type: ignore[arg-type]
    SourceLoop(runtime, task, commit, steps, topics).run()  # type: ignore[arg-type]
    return task.reported


def test_a_commit_reports_the_topics_whose_records_it_has_waited_for() -> None:
    assert reported(Busy, exactly_once=False) == [[], ["t"], ["t"]]


def test_a_batch_that_has_been_acknowledged_reports_its_topics_while_others_are_on_their_way() -> None:
    control, metrics, sender = TaskControl(), Metrics(lambda values: None, ()), Slow()
    runtime = TaskRuntime(
        ID, control, MemoryHost(), metrics, ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    )
    commit = RecordByRecord(runtime, SourceTask(), sender, SourceTaskOffsets(SOURCE), AnyTopics(), TIMING)  # type: ignore[arg-type]

    def send(*topics: str) -> None:
        origin = SourceOrigin([{"p": 0}] * len(topics), [{"o": n} for n in range(len(topics))])
        batch = Batch.of(list(topics), [b"a"] * len(topics), origin=origin)
        for part, _ in commit.parts([], batch):
            commit.send(part, part)

    def acknowledge(topic: str) -> None:
        sender.taken -= 1
        sender.callbacks.pop(0)(None, ck.Message(topic=topic, partition=0, offset=0))

    commit.expect({"t", "u"})
    send("t")
    send("u", "t")
    send("t")
    assert commit.arrived(0.0) == set()
    acknowledge("t")
    assert commit.arrived(0.0) == {"t"}
    acknowledge("u")
    acknowledge("t")
    assert commit.arrived(0.0) == {"u"}
    assert commit.arrived(0.0) == set()
    acknowledge("t")
    commit.expect({"t"})
    assert commit.arrived(0.0) == {"t"}


def test_a_transaction_reports_its_topics_when_it_is_committed() -> None:
    assert reported(BusyAndAcknowledged, exactly_once=True) == [[], ["t"], ["t"]]


def test_a_transaction_that_is_committed_while_the_task_polls_reports_its_topics_with_the_next() -> None:
    assert reported(Busy, exactly_once=True) == [[], [], ["t"]]
