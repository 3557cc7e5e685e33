"""What a sink task may ask of its loop. Java: ``WorkerSinkTaskContext``, ``WorkerErrantRecordReporter`` (KIP-610)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, IllegalWorkerStateError
from penstock.api.record import SinkRecord
from penstock.api.sink import ErrantRecordReporter, TopicPartition
from penstock.pipeline.errors import ErrorHandler, Failure, Stage

SINK_TASK_CLASS = "org.apache.kafka.connect.sink.SinkTask"


class SinkContext:
    """The ``SinkTaskContext`` of one run. Wishes are kept here until the loop looks at them.

    Wishes may come from any thread; ``pause`` and ``resume`` reach the consumer with the loop's next turn.
    """

    def __init__(self, configs: Mapping[str, str], reporter: Reporter | None) -> None:
        self.configs = configs
        self._reporter = reporter
        self.assigned: frozenset[TopicPartition] = frozenset()
        self.rewinds: dict[TopicPartition, int] = {}
        self.retry_after: float | None = None
        self.paused: set[TopicPartition] = set()
        self.commit_requested = False
        self._apply: Callable[[str, list[TopicPartition]], None] = lambda what, partitions: None

    def attach(self, apply: Callable[[str, list[TopicPartition]], None]) -> None:
        """``apply`` is called with ``pause`` or ``resume`` and partitions."""
        self._apply = apply

    @property
    def assignment(self) -> frozenset[TopicPartition]:
        return self.assigned

    @property
    def errant_record_reporter(self) -> ErrantRecordReporter | None:
        return self._reporter

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.rewinds.update({TopicPartition(*partition): offset for partition, offset in offsets.items()})

    def timeout(self, milliseconds: int) -> None:
        self.retry_after = max(milliseconds, 0) / 1000

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused |= self._known("pause", partitions)
        self._apply("pause", list(partitions))

    def resume(self, *partitions: TopicPartition) -> None:
        self.paused -= self._known("resume", partitions)
        self._apply("resume", list(partitions))

    def _known(self, what: str, partitions: tuple[TopicPartition, ...]) -> set[TopicPartition]:
        found = {TopicPartition(*partition) for partition in partitions}
        if not found <= self.assigned:
            raise IllegalWorkerStateError(
                f"SinkTasks may not {what} partitions that are not currently assigned to them."
            )
        return found

    def request_commit(self) -> None:
        self.commit_requested = True


class Reporter:
    """The ``ErrantRecordReporter`` of a task whose connector has a dead letter queue or logs errors."""

    def __init__(self, errors: ErrorHandler) -> None:
        self._errors = errors
        self._refused: ConnectError | None = None

    def report(self, record: SinkRecord, error: BaseException) -> None:
        failure = Failure(Stage.TASK_PUT, SINK_TASK_CLASS, error, Batch.of_sink_records([record]))
        try:
            self._errors.failed(failure)
        except ConnectError as e:
            self._refused = e
            raise

    def check(self) -> None:
        """Raises what ``report`` raised, if the task has swallowed it."""
        if self._refused is not None:
            raise self._refused


def places(offsets: Mapping[TopicPartition, int]) -> list[Place]:
    return [Place(topic, partition, offset) for (topic, partition), offset in offsets.items()]


def names(partitions: list[Place]) -> list[TopicPartition]:
    return [TopicPartition(each.topic, each.partition) for each in partitions]


def pause(consumer: Consumer, partitions: frozenset[TopicPartition] | set[TopicPartition]) -> None:
    if partitions:
        consumer.pause([Place(*each) for each in partitions])


def resume(consumer: Consumer, partitions: frozenset[TopicPartition] | set[TopicPartition]) -> None:
    if partitions:
        consumer.resume([Place(*each) for each in partitions])
