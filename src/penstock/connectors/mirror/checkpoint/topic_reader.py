"""Reading one of the mirror's own topics from its beginning, to its end or forever.

Only partition 0 is used. A topic that does not exist yet is retried until it does, or for some time. Java:
``KafkaBasedLog`` as ``CheckpointStore`` and ``OffsetSyncStore`` use it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

from penstock.api.errors import ConnectError, KafkaError
from penstock.api.kafka import EARLIEST, KafkaClients, KafkaConsumer, KafkaRecords
from penstock.api.sink import TopicPartition

log = logging.getLogger(__name__)

OnRecord = Callable[[bytes | None, bytes | None], None]
"""Gets key and value of each record."""

_BATCH = 10_000
_LOOK_UP_SECONDS = 30.0
_DENIED = ("TOPIC_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED")


class TopicReader:
    """One reading, on the thread that calls ``read``; ``stop`` ends it from any thread."""

    def __init__(
        self,
        kafka: KafkaClients,
        consumer: Mapping[str, str],
        topic: str,
        on_record: OnRecord,
        patience: float | None = None,
    ) -> None:
        """``consumer``: its settings, as Java's. ``patience``: seconds for the topic to appear; brokers that create
        topics are asked to create this one then.
        """
        self._kafka, self._topic, self._on_record, self._patience = kafka, topic, on_record, patience
        creates = {} if patience is not None else {"allow.auto.create.topics": "false"}
        self._settings = {**consumer, **creates}
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def read(self, on_end: Callable[[], None], *, forever: bool) -> None:
        """Pass every record to ``on_record``; call ``on_end`` once, at the end of what was there at the start.

        Returns then, unless ``forever``. Raises ConnectError if the topic may not be read, or does not appear in time.
        """
        consumer = self._kafka.consumer(self._settings, reports_ends=True)
        at_end = False
        limit = float("inf") if self._patience is None else time.monotonic() + self._patience
        try:
            consumer.assign({TopicPartition(self._topic, 0): EARLIEST})
            while not self._stopping.is_set():
                found = consumer.fetch(_BATCH, 0.2)
                if found is None:
                    if time.monotonic() >= limit:
                        self._check_exists(consumer)
                        limit = float("inf")
                    continue
                self._take(found)
                if found.ended and not at_end:
                    at_end = True
                    on_end()
                if at_end and not forever:
                    return
        finally:
            consumer.close()

    def _check_exists(self, consumer: KafkaConsumer) -> None:
        """Raise ConnectError unless a broker knows the topic."""
        try:
            consumer.check_topic(self._topic, _LOOK_UP_SECONDS)
        except KafkaError as error:
            raise ConnectError(f"Topic {self._topic} was not there within {self._patience:g} s: {error}") from None

    def _take(self, records: KafkaRecords) -> None:
        """Pass records on. Raises ConnectError if the topic may not be read."""
        for key, value, offset in zip(records.keys, records.values, records.offsets, strict=True):
            try:
                self._on_record(key, value)
            except Exception as failure:
                log.warning("Ignored invalid record of topic %s at offset %s: %s", self._topic, offset, failure)
        for _, error in records.errors:
            if error.code in _DENIED:
                raise ConnectError(f"Topic {self._topic} can't be read: {error}")
            log.warning("Error while reading topic %s; retrying: %s", self._topic, error)
