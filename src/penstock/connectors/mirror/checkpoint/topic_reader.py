"""Reading one of the mirror's own topics from its beginning, to its end or forever.

Only partition 0 is used. A topic that does not exist yet is retried until it does, or for some time. Java:
``KafkaBasedLog`` as ``CheckpointStore`` and ``OffsetSyncStore`` use it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message
from confluent_kafka import KafkaError as BrokerError
from confluent_kafka import TopicPartition as ClientPartition

from penstock.api.errors import ConnectError
from penstock.kafka.clients import new_consumer

log = logging.getLogger(__name__)

OnRecord = Callable[[bytes | None, bytes | None], None]
"""Gets key and value of each record."""

_BATCH = 10_000
_LOOK_UP_SECONDS = 30.0
_DENIED = (BrokerError.TOPIC_AUTHORIZATION_FAILED, BrokerError.GROUP_AUTHORIZATION_FAILED)


class TopicReader:
    """One reading, on the thread that calls ``read``; ``stop`` ends it from any thread."""

    def __init__(
        self, consumer: Mapping[str, str], topic: str, on_record: OnRecord, patience: float | None = None
    ) -> None:
        """``consumer``: its settings, as Java's. ``patience``: seconds for the topic to appear; brokers that create
        topics are asked to create this one then.
        """
        self._settings, self._topic, self._on_record, self._patience = dict(consumer), topic, on_record, patience
        self._settings.setdefault("group.id", self._settings["client.id"])  # never used, but required
        self._stopping = threading.Event()

    def stop(self) -> None:
        self._stopping.set()

    def read(self, on_end: Callable[[], None], *, forever: bool) -> None:
        """Pass every record to ``on_record``; call ``on_end`` once, at the end of what was there at the start.

        Returns then, unless ``forever``. Raises ConnectError if the topic may not be read, or does not appear in time.
        """
        native: dict[str, Any] = {"enable.partition.eof": True}
        if self._patience is None:
            native["allow.auto.create.topics"] = False
        consumer = new_consumer(self._settings, **native)
        at_end = False
        limit = float("inf") if self._patience is None else time.monotonic() + self._patience
        try:
            consumer.assign([ClientPartition(self._topic, 0, OFFSET_BEGINNING)])
            while not self._stopping.is_set():
                first = consumer.poll(0.2)
                if first is None:
                    if time.monotonic() >= limit:
                        self._check_exists(consumer)
                        limit = float("inf")
                    continue
                for message in (first, *consumer.consume(_BATCH, 0)):
                    if not self._take(message) or at_end:
                        continue
                    at_end = True
                    on_end()
                if at_end and not forever:
                    return
        finally:
            consumer.close()

    def _check_exists(self, consumer: Consumer) -> None:
        """Raise ConnectError unless a broker knows the topic."""
        try:
            found = consumer.list_topics(self._topic, _LOOK_UP_SECONDS).topics.get(self._topic)
            problem = "it does not exist" if found is None else found.error and found.error.str()
        except KafkaException as error:
            problem = error.args[0].str()
        if problem:
            raise ConnectError(f"Topic {self._topic} was not there within {self._patience:g} s: {problem}")

    def _take(self, message: Message) -> bool:
        """Take a message; return whether it is the end of the partition."""
        error = message.error()
        if error is None:
            try:
                self._on_record(message.key(), message.value())
            except Exception as failure:
                log.warning(
                    "Ignored invalid record of topic %s at offset %s: %s", self._topic, message.offset(), failure
                )
        elif error.code() == BrokerError._PARTITION_EOF:
            return True
        elif error.code() in _DENIED:
            raise ConnectError(f"Topic {self._topic} can't be read: {error.str()}")
        else:
            log.warning("Error while reading topic %s; retrying: %s", self._topic, error.str())
        return False
