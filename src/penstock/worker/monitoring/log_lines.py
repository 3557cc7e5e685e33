"""Handlers of the log: the last lines of each connector in memory (``penstock logs``), and the audit log in a topic."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock.api.errors import ConnectError
from penstock.core.config.internal_topics import InternalTopicError
from penstock.core.model.events import ConnectorFailed, LoopEvent
from penstock.core.model.local_requests import GetLogs
from penstock.core.model.tasks import TaskFailed
from penstock.http.access import audit
from penstock.http.access.audit import LOGGER
from penstock.http.access.authentication.principals import ANYBODY
from penstock.kafka.client_settings import internal, own_client_id
from penstock.kafka.clients import new_producer
from penstock.kafka.statistics import ClientStatistics, own
from penstock.observe import add_context, level_name, redacted

MAX_CONNECTORS = 2000
MAX_LENGTH = 4000
"""Maximum length of a line, its stack trace included."""


class LogLines(logging.Handler):
    """Keeps the last ``lines`` lines of every connector; of too many connectors, those that logged last.

    Numbers begin with the time in milliseconds, so those after a restart of the worker are greater than those before.
    """

    def __init__(self, worker: str, lines: int, clock: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._worker, self._lines = worker, lines
        self._kept: dict[str, deque[tuple[int, dict[str, Any]]]] = {}
        """With the number of each line's level: a plugin may have levels of its own."""
        self._number = int(clock() * 1000)
        self._reading = threading.Lock()
        self.addFilter(add_context)

    def start(self) -> None:
        if self._lines:
            logging.getLogger().addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        connector: str | None = getattr(record, "connector", None)
        if connector is None:
            return
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:23] + "Z",
            "level": level_name(record.levelno),
            "logger": record.name,
            "task": getattr(record, "task", None),
            "worker": self._worker,
            "message": redacted(text)[:MAX_LENGTH],
        }
        with self._reading:
            self._number += 1
            kept = self._kept.pop(connector, None) or deque[tuple[int, dict[str, Any]]](maxlen=self._lines)
            kept.append((record.levelno, {"number": self._number, **line}))
            self._kept[connector] = kept
            if len(self._kept) > MAX_CONNECTORS:
                del self._kept[next(iter(self._kept))]

    def close(self) -> None:
        logging.getLogger().removeHandler(self)
        super().close()

    def answer(self, request: GetLogs) -> dict[str, Any]:
        """The lines, oldest first, and ``next``: what to give as ``after`` for those that follow."""
        with self._reading:
            kept, number = list(self._kept.get(request.name, ())), self._number
        return {"lines": list(_wanted(kept, request))[-request.limit :] if request.limit else [], "next": number}


def _wanted(lines: Iterable[tuple[int, dict[str, Any]]], request: GetLogs) -> Iterable[dict[str, Any]]:
    for level, line in lines:
        if (
            line["number"] > request.after
            and level >= request.level
            and (request.task is None or line["task"] == request.task)
        ):
            yield line


log = logging.getLogger(__name__)

FLUSH_S = 5.0
_PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)
"""Codes of lines that a producer held when it was replaced."""
_REFUSED = f"{InternalTopicError.java_name}: "


def audit_refusals(event: LoopEvent) -> None:
    """Write an audit record for a connector or task that failed since it was to use an internal topic.

    Called by the worker's loop with every event.
    """
    match event:
        case TaskFailed(id, _, trace):
            connector, what = id.connector, f"task {id}"
        case ConnectorFailed(name, _, trace):
            connector, what = name, f"connector {name}"
        case _:
            return
    refused = next((line for line in trace.splitlines() if _REFUSED in line), None)
    if refused is not None:
        reason = refused.partition(_REFUSED)[2]
        audit.write(ANYBODY, f"{what}: {reason}", 403, action="internal-topic", connector=connector)


class AuditTopic(logging.Handler):
    """``penstock.audit.topic``: the lines of the log ``penstock.audit`` in a topic, the principal as key.

    A line that cannot be sent is in the log nevertheless, and so is that it could not be sent.
    """

    def __init__(self, config: Mapping[str, str], topic: str) -> None:
        """Without a name of a topic, nothing is sent."""
        super().__init__()
        self._topic = topic
        self._reporting = threading.RLock()
        self._settings = internal(config, "producer", own_client_id(config, "audit"))
        if topic:
            self._producer, self._statistics = self._another()
            logging.getLogger(LOGGER).addHandler(self)

    def _another(self) -> tuple[Producer, ClientStatistics]:
        statistics = own("producer", self._settings.get("client.id", ""))
        return new_producer(self._settings, **statistics.settings()), statistics

    def serve(self) -> None:
        """Take what the producer reports, which would use memory otherwise, and replace one that has lost its brokers.

        Called by the worker's loop at short intervals.
        """
        if self._topic:
            with self._reporting:
                self._producer.poll(0)
                if self._statistics.lost:
                    self._replace()

    def _replace(self) -> None:
        try:
            producer, statistics = self._another()
        except (ConnectError, KafkaException) as error:
            log.debug("No other producer of topic %s could be made: %s", self._topic, error)
            return
        log.warning("The producer of topic %s has lost all its brokers; replacing it by a new one", self._topic)
        lost, self._producer, self._statistics = self._producer, producer, statistics
        lost.purge()
        lost.flush(FLUSH_S)  # `_delivered` gives its lines to the new one

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        with self._reporting:
            self._send(line.encode(), json.loads(line).get("principal"))
            self._producer.poll(0)

    def _send(self, line: bytes | None, key: str | bytes | None) -> None:
        try:
            self._producer.produce(self._topic, line, key, on_delivery=self._delivered)
        except KafkaException as error:  # such as for a topic that we may not write to, once that is known
            self._delivered(error.args[0])
        except (BufferError, ValueError) as error:
            self._delivered(error)

    def close(self) -> None:
        logging.getLogger(LOGGER).removeHandler(self)
        if self._topic and (left := self._producer.flush(FLUSH_S)):
            log.error("%d lines of the audit log could not be sent to topic %s", left, self._topic)
        super().close()

    def _delivered(self, error: KafkaError | Exception | None, message: Message | None = None) -> None:
        if message is not None and isinstance(error, KafkaError) and error.code() in _PURGED:
            self._send(message.value(), message.key())
        elif error is not None:
            log.error("A line of the audit log could not be sent to topic %s: %s", self._topic, error)
