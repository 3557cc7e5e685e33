"""The dead letter queue: a topic for consumed records that could not be processed, as they were read (KIP-298,
KIP-610).

Java: ``DeadLetterQueueReporter``. Unlike there, offsets beyond a dead letter are committed only when it has arrived,
and one that never will fails the task; otherwise the record would be lost.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from confluent_kafka.admin import AdminClient

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.config_types import ConfigType, parse_type
from penstock.api.errors import ConnectError, RetriableError
from penstock.api.topic_settings import TopicSettings
from penstock.core.config.internal_topics import InternalTopicError
from penstock.core.model.tasks import TaskId
from penstock.java.text import java_class_name
from penstock.kafka.client_settings import connector_admin, connector_producer
from penstock.kafka.letters.queue import PREFIX, QUEUE_SETTINGS, queue_setting
from penstock.kafka.statistics import ClientStatistics
from penstock.kafka.topic_guard import TopicGuard, guard_of
from penstock.pipeline.broker_errors import broker_error
from penstock.pipeline.errors import RecordFailure
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.source.topic_creation import create, exists
from penstock.pipeline.task import TaskFencedError, TaskSpec
from penstock.pipeline.trace import message_of, trace

log = logging.getLogger(__name__)


def queue_of(config: Mapping[str, str], type: str = "sink") -> str | None:
    """The name of the queue's topic; None if there is none. ``type`` of the connector."""
    return config.get(queue_setting(type), "").strip() or None


def has_context(config: Mapping[str, str], type: str = "sink") -> bool:
    """Return whether dead letters get the headers of ``context_headers``."""
    return config.get(f"{QUEUE_SETTINGS[type]}context.headers.enable", "false").strip().lower() == "true"


def queue_guards(spec: TaskSpec, connector: Mapping[str, str]) -> tuple[TopicGuard, TopicGuard]:
    """Return the guards of the queue's producer and admin client, for ``make_queue``."""
    clients = (connector_producer, connector_admin)
    written, created = (
        guard_of(spec.internal_topics, settings(spec.worker_config, connector, "")) for settings in clients
    )
    return written, created


def make_queue(
    admin: AdminClient, config: Mapping[str, str], guards: tuple[TopicGuard, TopicGuard], type: str = "sink"
) -> None:
    """Create the topic with one partition if it is missing. ``guards``: of the producer of dead letters, and of
    ``admin``, which may have other brokers; what the second one refuses is not created.

    Raises ConnectError, InternalTopicError for a topic that may not be one, and TaskFencedError if no broker answers.
    """
    topic = queue_of(config, type)
    assert topic is not None
    try:
        written, created = guards
        written.check_written({topic})
        if not created.usable({topic}, writing=True):
            return
        if not exists(admin, topic):
            log.error("Topic %s doesn't exist. Will attempt to create topic.", topic)
            factor = f"{QUEUE_SETTINGS[type]}topic.replication.factor"
            copies = parse_type(factor, config.get(factor, "3"), ConfigType.SHORT)
            create(admin, TopicSettings(topic, 1, copies))
    except RetriableError as e:
        failed = f"Could not initialize dead letter queue with topic={topic}"
        raise TaskFencedError(f"{failed}: the brokers have not answered in time") from e
    except InternalTopicError:
        raise
    except (ConnectError, KafkaException) as e:
        raise ConnectError(f"Could not initialize dead letter queue with topic={topic}") from e


class DeadLetterQueue:
    """A reporter of failures. ``original`` finds the record as it was read for one row of a batch at a later stage."""

    def __init__(
        self,
        task: TaskId,
        config: Mapping[str, str],
        producer: Producer,
        metrics: Metrics,
        original: Callable[[Batch], Batch],
        statistics: ClientStatistics | None = None,
    ) -> None:
        """``statistics``: the producer's, by which it is known whether it has lost its brokers."""
        self._statistics = statistics
        self._task, self._producer, self._metrics, self._original = task, producer, metrics, original
        self._topic = queue_of(config) or ""
        self._context = has_context(config)
        self._lost: KafkaError | None = None

    def __call__(self, failure: RecordFailure) -> None:
        self._metrics.add("deadletterqueue-produce-requests")
        record = self._original(failure.record) if failure.original is None else failure.original
        headers = [(header[0], header[-1]) for header in record.headers[0]]
        if self._context:
            headers += self.context_headers(failure)
        time = record.timestamps[0]
        while True:
            try:
                self._producer.produce(
                    self._topic,
                    record.values[0],
                    record.keys[0],
                    timestamp=0 if time is None else max(time, 1),
                    headers=headers,
                    on_delivery=self._delivered,
                )
                break
            except BufferError:
                self._producer.poll(0.1)
            except KafkaException as e:
                self._delivered(e.args[0], None)
                break
        self._producer.poll(0)

    def context_headers(self, failure: RecordFailure) -> list[tuple[str, bytes | None]]:
        """Return the headers of ``errors.deadletterqueue.context.headers.enable``, in Java's order."""
        place: list[tuple[str, str]] = []
        if isinstance(origin := failure.record.origin, SinkOrigin):
            place = [
                ("topic", origin.topics[0]),
                ("partition", str(origin.partitions[0])),
                ("offset", str(origin.offsets[0])),
            ]
        return context_headers(self._task, failure, place)

    def _delivered(self, error: KafkaError | None, _: Message | None) -> None:
        if error is not None:
            log.error("Could not produce message to dead letter queue. topic=%s: %s", self._topic, error.str())
            self._metrics.add("deadletterqueue-produce-failures")
            self._lost = self._lost or error

    def serve(self) -> None:
        """Take the producer's reports, also while there are no dead letters; called often."""
        self._producer.poll(0)

    def arrived(self, seconds: float) -> bool:
        """Wait for all dead letters; called before offsets are committed. False if some are still on their way after so
        many seconds. Raises ConnectError if one will never arrive: TaskFencedError if only another run can send them.
        """
        left = self._producer.flush(seconds)
        if self._lost is not None:
            raise ConnectError(
                f"A record could not be written to the dead letter queue {self._topic}"
            ) from broker_error(self._lost)
        if not left:
            return True
        if self._statistics is not None and self._statistics.lost:
            raise TaskFencedError(f"The producer of the dead letter queue {self._topic} has lost all its brokers")
        late = ConnectError(f"{left} records have not arrived in the dead letter queue {self._topic} in {seconds:g} s")
        log.warning("%s; no offsets are committed before they have", late)
        self._metrics.survived(late)
        return False

    def flush(self, seconds: float) -> None:
        """Wait for all dead letters. Raises ConnectError if one did not arrive."""
        if not self.arrived(seconds):
            raise ConnectError(f"Records could not be written to the dead letter queue {self._topic} in {seconds:g} s")


def context_headers(
    task: TaskId, failure: RecordFailure, place: Sequence[tuple[str, str]]
) -> list[tuple[str, bytes | None]]:
    """Headers that say where a record came from and how it failed, in Java's order.

    Behind Java's are those of an error's ``letter_headers``: of a row that a database refuses, table, column, SQLSTATE.
    """
    pairs: list[tuple[str, str | None]] = [
        *place,
        ("connector.name", task.connector),
        ("task.id", str(task.task)),
        ("stage", failure.stage.name),
        ("class.name", failure.plugin),
        ("exception.class.name", java_class_name(type(failure.error))),
        ("exception.message", message_of(failure.error) if failure.error.args else None),
        ("exception.stacktrace", trace(failure.error)),
        *getattr(failure.error, "letter_headers", {}).items(),
    ]
    # A half of a surrogate pair, as JSON's escapes may give one, is a question mark, as in Java.
    return [(PREFIX + name, None if text is None else text.encode(errors="replace")) for name, text in pairs]
