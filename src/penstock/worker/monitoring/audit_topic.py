"""``penstock.audit.topic``: the lines of the log ``penstock.audit`` in a topic, the principal as key.

What can't be sent is in the log nevertheless; that it could not is logged too.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

from confluent_kafka import KafkaError, KafkaException, Message

from penstock.http.access.audit import LOGGER
from penstock.kafka.client_settings import internal, own_client_id
from penstock.kafka.clients import new_producer

log = logging.getLogger(__name__)

FLUSH_S = 5.0


class AuditTopic(logging.Handler):
    def __init__(self, config: Mapping[str, str], topic: str) -> None:
        super().__init__()
        self._topic = topic
        self._producer = new_producer(internal(config, "producer", own_client_id(config, "audit")))
        logging.getLogger(LOGGER).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        try:
            key = json.loads(line).get("principal")
            self._producer.produce(self._topic, line.encode(), key, on_delivery=self._delivered)
            self._producer.poll(0)
        except KafkaException as error:  # such as for a topic that we may not write to, once that is known
            self._delivered(error.args[0])
        except (BufferError, ValueError) as error:
            self._delivered(error)

    def close(self) -> None:
        logging.getLogger(LOGGER).removeHandler(self)
        left = self._producer.flush(FLUSH_S)
        if left:
            log.error("%d lines of the audit log could not be sent to topic %s", left, self._topic)
        super().close()

    def _delivered(self, error: KafkaError | Exception | None, message: Message | None = None) -> None:
        if error is not None:
            log.error("A line of the audit log could not be sent to topic %s: %s", self._topic, error)
