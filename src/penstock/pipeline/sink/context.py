"""What a sink task may ask of its loop. Java: ``WorkerSinkTaskContext``, ``WorkerErrantRecordReporter`` (KIP-610)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

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

    Wishes may come from any thread. The consumer's own ``pause`` and ``resume`` may not: while another thread polls,
    they wait for ever.
    """

    def __init__(self, configs: Mapping[str, str], reporter: WorkerErrantRecordReporter | None) -> None:
        self.configs = configs
        self._reporter = reporter
        self.assigned: frozenset[TopicPartition] = frozenset()
        self.rewinds: dict[TopicPartition, int] = {}
        self.retry_after: float | None = None
        self.paused: set[TopicPartition] = set()
        self.commit_requested = False
        self.steered: deque[tuple[str, set[TopicPartition]]] = deque()
        """What is to be done to the consumer: ``pause`` or ``resume`` these partitions."""

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
        known = self._known("pause", partitions)
        self.paused |= known
        self.steered.append(("pause", known))

    def resume(self, *partitions: TopicPartition) -> None:
        known = self._known("resume", partitions)
        self.paused -= known
        self.steered.append(("resume", known))

    def _known(self, what: str, partitions: tuple[TopicPartition, ...]) -> set[TopicPartition]:
        found = {TopicPartition(*partition) for partition in partitions}
        if not found <= self.assigned:
            raise IllegalWorkerStateError(
                f"SinkTasks may not {what} partitions that are not currently assigned to them."
            )
        return found

    def request_commit(self) -> None:
        self.commit_requested = True


class WorkerErrantRecordReporter:
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
