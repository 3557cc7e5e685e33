"""The status topic's records as bytes: exactly those of Java's ``KafkaStatusBackingStore``.

Java 4.x added ``version`` to the status of connectors and tasks; records of older workers lack it. A tombstone says
that the connector or task is gone, or that the topic is no longer active (KIP-558).
"""

from __future__ import annotations

import logging
from typing import Any

from penstock.core.model.limits import name_problem, shortened
from penstock.core.model.records import ConnectorStatus, StatusTopicRecord, TaskStatus, TopicStatus
from penstock.java.jackson import compact
from penstock.kafka.storage.config_records import task_id

log = logging.getLogger(__name__)

STATES = ("UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "RESTARTING", "STOPPED", "DESTROYED")
_CONNECTOR, _TASK, _TOPIC = "status-connector-", "status-task-", "status-topic-"
_TOPIC_SEPARATOR = ":connector-"
_LONGS = range(-(2**63), 2**63)


def encode(record: StatusTopicRecord) -> tuple[bytes, bytes | None]:
    """Key and value of the record; a value of None is a tombstone. As in Java, DESTROYED is written as one."""
    match record:
        case ConnectorStatus():
            return f"{_CONNECTOR}{record.name}".encode(), _status(record)
        case TaskStatus():
            return f"{_TASK}{record.id}".encode(), _status(record)
        case TopicStatus(topic, connector, task, discovered):
            key = f"{_TOPIC}{topic}{_TOPIC_SEPARATOR}{connector}".encode()
            if task is None:
                return key, None
            status = {"name": topic, "connector": connector, "task": task, "discoverTimestamp": discovered}
            return key, compact.encode({"topic": status})


def _status(record: ConnectorStatus | TaskStatus) -> bytes | None:
    if record.state in (None, "DESTROYED"):
        return None
    return compact.encode(
        {
            "state": record.state,
            "trace": record.trace,
            "worker_id": record.worker_id,
            "generation": record.generation,
            "version": record.version,
        }
    )


def decode(partition: int, offset: int, key: bytes | None, value: bytes | None) -> StatusTopicRecord | None:
    """The record of these bytes; None, after a warning that names offset and key, if they can't be understood, or
    belong to a connector whose name is too long.
    """
    text = "" if key is None else key.decode(errors="replace")
    try:
        record = _record(text, value)
        problem = name_problem(_connector_of(record))
    except (ValueError, TypeError, RecursionError) as e:
        record, problem = None, str(e)
    if problem is None:
        return record
    where = f"offset {offset} of partition {partition}"
    log.warning("Ignoring the record at %s of the status topic, key `%s`: %s", where, shortened(text), problem)
    return None


def _connector_of(record: StatusTopicRecord) -> str:
    match record:
        case ConnectorStatus(name):
            return name
        case TaskStatus(id):
            return id.connector
        case TopicStatus(_, connector):
            return connector


def _record(key: str, value: bytes | None) -> StatusTopicRecord:
    if key.startswith(_CONNECTOR):
        name = key[len(_CONNECTOR) :]
        if not name:
            raise ValueError("the key names no connector")
        return ConnectorStatus(name, None) if value is None else ConnectorStatus(name, **_members(value))
    if key.startswith(_TASK):
        id = task_id(key[len(_TASK) :])
        return TaskStatus(id, None) if value is None else TaskStatus(id, **_members(value))
    if key.startswith(_TOPIC):
        return _topic_status(key, value)
    raise ValueError("no record of the status topic has such a key")


def _topic_status(key: str, value: bytes | None) -> TopicStatus:
    topic, separator, connector = key[len(_TOPIC) :].partition(_TOPIC_SEPARATOR)
    if not topic or not separator or not connector:
        raise ValueError(f"the key is not `{_TOPIC}<topic>{_TOPIC_SEPARATOR}<connector>`")
    if value is None:
        return TopicStatus(topic, connector, None)
    document = compact.decode(value)
    status = document.get("topic") if isinstance(document, dict) else None
    match status:
        case {"name": str(), "connector": str(), "task": int(task), "discoverTimestamp": int(discovered)} if (
            task in _LONGS and discovered in _LONGS
        ):
            return TopicStatus(topic, connector, task, discovered)
    what = "`topic` with name, connector, task and discoverTimestamp"
    raise TypeError(f"the value should hold {what}, not {document!r:.100}")


def _members(value: bytes) -> dict[str, Any]:
    document = compact.decode(value)
    match document:
        case {"state": str(state), "generation": int(generation), **rest} if state in STATES and generation in _LONGS:
            trace, worker, version = (rest.get(name) for name in ("trace", "worker_id", "version"))
            if all(text is None or isinstance(text, str) for text in (trace, worker, version)):
                return {
                    "state": state,
                    "generation": generation,
                    "trace": trace,
                    "worker_id": worker or "",
                    "version": version,
                }
    raise TypeError(f"the value should hold state, trace, worker_id and generation, not {document!r:.100}")
