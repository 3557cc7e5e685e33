"""Offsets of records that transforms drop, for tasks that want them stored. Without a broker."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConnectError, DataError
from penstock.api.record import SourceRecord
from penstock.api.runtime_hooks import RuntimeHooks
from penstock.api.source import SourceTask
from penstock.connectors.postgres.task import PostgresSourceTask
from penstock.core.config.internal_topics import NO_INTERNAL_TOPICS
from penstock.core.model.tasks import TaskId
from penstock.kafka.topic_guard import guard_of
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, PipelineStage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import CommitTiming, TaskRuntime
from penstock.pipeline.source.commit import AtLeastOnce, CommitPolicy, Ending, RecordByRecord
from penstock.pipeline.source.failed_records import SourceLogReporter
from penstock.pipeline.source.loop import SourceLoop, SourceSteps, TargetTopics
from penstock.pipeline.source.offset_log import OffsetCopies
from penstock.pipeline.source.offsets import SourceOffset, SourceTaskOffsets
from penstock.pipeline.source.sending.delivery_tracking import wants_acknowledgements
from penstock.pipeline.source.transaction_boundaries import TransactionBoundaries
from penstock.pipeline.source.transactions import ExactlyOnce, TransactionalOffsets
from penstock.pipeline.task import TaskControl
from penstock.pipeline.topics import TopicReporter
from support.tasks.runs import MemoryHost
from support.tasks.specs import SOURCE

ID = TaskId("c", 0)


class Kafka:
    """Stands for a sender and its producer, a ``TopicCreator``, and an ``OffsetLog``."""

    def __init__(self) -> None:
        self.producer, self.taken, self.lost = self, 0, set[str]()
        self.sent: list[Any] = []
        self.offsets: list[bytes | None] = []

    def __len__(self) -> int:
        return 0

    def send(self, batch: Batch, delivered: Any = None, ahead: Any = ()) -> None:
        for each in ahead:
            self.put(*each)
        self.sent += batch.values

    def put(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        self.offsets.append(value)

    def write(self, offsets: list[SourceOffset], seconds: float) -> None:
        self.offsets += [each.value for each in offsets]

    def flush(self, seconds: float) -> bool:
        return True

    def begin_transaction(self) -> None: ...

    def commit_transaction(self, seconds: float) -> None: ...

    def abort_transaction(self, seconds: float) -> None: ...

    def ensure(self, topics: set[str]) -> None: ...

    def idle(self) -> None: ...

    def poll(self) -> None: ...

    def unacknowledged(self) -> int:
        return 0

    def check(self) -> None: ...


class Task(SourceTask):
    """Returns one batch, and is then stopped."""

    def __init__(self, control: TaskControl, values: list[bytes]) -> None:
        self._control, self._values = control, values

    def poll(self) -> Batch:
        self._control.stop()
        n = len(self._values)
        return Batch.of("t", self._values, origin=SourceOrigin([{"p": 0}] * n, [{"o": i} for i in range(n)]))


class Storing(Task, RuntimeHooks):
    stores_dropped = True


class Advancing(Task, RuntimeHooks):
    """Returns no records, but reports a position at its first poll."""

    def __init__(self, control: TaskControl, values: list[bytes]) -> None:
        super().__init__(control, values)
        self.polls = 0

    def poll(self) -> Batch:
        self.polls += 1
        if self.polls == 2:
            self._control.stop()
        return Batch.of("t", [])

    def idle(self) -> float:
        return 0.0

    def uncarried_offsets(self) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        return [({"p": 0}, {"o": 7})] if self.polls == 1 else []


class AdvancingAcknowledged(Advancing):
    """Like ``Advancing``, but is notified of each record."""

    def commit_record(self, record: SourceRecord, topic: str, partition: int, offset: int) -> None:
        raise AssertionError("there is no record")


class Coincidence(Task):
    """Has members named like those of ``RuntimeHooks``, with another meaning."""

    stores_dropped = begun = awaited = polls_aside = True


def filtered(batch: Batch) -> Batch:
    if b"bad" in batch.values:
        raise DataError("bad")
    return batch.select([i for i, value in enumerate(batch.values) if value == b"kept"])


def stored(task_class: type[Task], exactly_once: bool, *values: bytes) -> list[bytes | None]:
    control, host, metrics = TaskControl(), MemoryHost(), Metrics(lambda values: None, ())
    kafka: Any = Kafka()
    runtime = TaskRuntime(ID, control, host, metrics, ErrorHandler(ErrorSettings(), metrics, lambda seconds: False))
    task, offsets = task_class(control, list(values)), SourceTaskOffsets(SOURCE)
    policy = RecordByRecord if wants_acknowledgements(task_class) else AtLeastOnce
    commit: CommitPolicy = policy(runtime, task, kafka, offsets, kafka, CommitTiming(60.0, 5.0))
    if exactly_once:
        own = TransactionalOffsets(offsets, "offsets", OffsetCopies(lambda: kafka, None))
        commit = ExactlyOnce(runtime, task, kafka, own, TransactionBoundaries("interval", 60.0))
    steps = SourceSteps(
        [Step(PipelineStage.TRANSFORMATION, "f", filtered)], None, SourceLogReporter(ID, ErrorSettings(), metrics)
    )
    loop = SourceLoop(
        runtime,
        task,
        commit,
        steps,
        TargetTopics(TopicReporter(SOURCE, control, host), kafka, guard_of(NO_INTERNAL_TOPICS, {})),
    )
    try:
        loop.run()
    except ConnectError:
        commit.finish(Ending.FAILED)
    else:
        loop.finish(Ending.STOPPED)
    assert kafka.sent == [value for value in values if value == b"kept"]
    return list(kafka.offsets)


@pytest.mark.parametrize("exactly_once", [False, True])
@pytest.mark.parametrize(
    ("values", "last"), [((b"kept", b"dropped"), b'{"o":1}'), ((b"dropped", b"dropped"), b'{"o":1}')]
)
def test_they_are_stored_for_a_task_that_wants_it(values: tuple[bytes, ...], last: bytes, exactly_once: bool) -> None:
    assert stored(Storing, exactly_once, *values)[-1:] == [last]


@pytest.mark.parametrize("task", [Task, Coincidence])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_they_are_not_stored_for_others_as_in_java(task: type[Task], exactly_once: bool) -> None:
    assert stored(task, exactly_once, b"kept", b"dropped") == [b'{"o":0}']
    assert stored(Task, exactly_once, b"dropped") == []


def test_what_comes_after_a_record_that_fails_the_task_is_not_stored() -> None:
    assert stored(Storing, False, b"kept", b"bad", b"dropped") == [b'{"o":0}']


@pytest.mark.parametrize("task", [Advancing, AdvancingAcknowledged])
@pytest.mark.parametrize("exactly_once", [False, True])
def test_offsets_that_no_record_carries_are_stored(task: type[Task], exactly_once: bool) -> None:
    assert stored(task, exactly_once) == [b'{"o":7}']


def test_the_slot_of_postgres_follows_them() -> None:
    assert PostgresSourceTask.stores_dropped


class Late(Kafka):
    """Acknowledges no records before ``arrived`` is set."""

    arrived = False

    def flush(self, seconds: float) -> bool:
        return self.arrived

    def in_flight(self) -> set[str]:
        return {"t"}


def test_an_identity_is_not_committed_before_the_offset_that_belongs_to_it() -> None:
    """Something was replaced while its last records had not been acknowledged: with the new identity, the old position
    would be taken for one in the new object.
    """
    control, metrics = TaskControl(), Metrics(lambda values: None, ())
    kafka: Any = Late()
    runtime = TaskRuntime(
        ID, control, MemoryHost(), metrics, ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    )
    commit = AtLeastOnce(runtime, SourceTask(), kafka, SourceTaskOffsets(SOURCE), kafka, CommitTiming(60.0, 5.0))
    old = Batch.of("t", [b"kept"], origin=SourceOrigin([{"p": 0}], [{"o": 100}]))
    commit.send(old, old)
    commit.uncarried(SourceOrigin([{"p": 0}, {"identity": "of p"}], [{"o": 0}, {"id": 7}]))
    commit.pause()
    assert kafka.offsets == []
    kafka.arrived = True
    commit.pause()
    assert kafka.offsets == [b'{"o":0}', b'{"id":7}']
