"""The config topic's records as bytes: exactly those of Java's ``KafkaConfigBackingStore``.

Keys are plain texts, values JSON objects without schemas; a null value is a tombstone. ``decode`` understands what any
version of Java Connect wrote and, as Java does, skips what it does not understand.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from penstock.core.model.limits import problem_of, shortened
from penstock.core.model.records import (
    ConfigTopicRecord,
    ConnectorConfig,
    LoggerLevel,
    PolicyRestart,
    RecordSkip,
    RestartCount,
    RestartRequest,
    SessionKey,
    TargetState,
    TargetStateName,
    TaskConfig,
    TaskCount,
    TasksCommit,
)
from penstock.core.model.skips import SKIP_TARGETS, Skip
from penstock.core.model.tasks import TaskId
from penstock.java.jackson import compact
from penstock.java.text import java_text
from penstock.kafka.log.writer import Pair

log = logging.getLogger(__name__)

POLICY, NOW, OTHERS = "penstock.restart.policy", "now", "others"
"""Members of a restart request that ``penstock.restart.policy`` made; Java ignores them."""
PRINCIPAL = "penstock.principal"
"""The header with the name of who asked for a change; Java's workers write none and ignore it."""
BULK = "penstock.bulk"
"""The header with the ID of the bulk action that has paused, stopped or resumed the connector."""
_OF_PRINCIPALS = (ConnectorConfig, TargetState, RestartRequest, RecordSkip)
TARGET_STATES: tuple[TargetStateName, ...] = ("STARTED", "PAUSED", "STOPPED")


def encode(record: ConfigTopicRecord) -> tuple[bytes, bytes | None]:
    """Key and value of the record; a value of None is a tombstone."""
    key, content = _content(record)
    return key.encode(), None if content is None else compact.encode(content)


def encode_signed(record: ConfigTopicRecord) -> Pair:
    """With the headers that say who asked for it, and as part of which bulk action, if that is known."""
    principal = record.principal if isinstance(record, _OF_PRINCIPALS) else None
    bulk = record.bulk if isinstance(record, TargetState) else None
    key, value = encode(record)
    given = ((PRINCIPAL, principal), (BULK, bulk))
    headers: list[tuple[str, str | bytes | None]] = [(name, text.encode()) for name, text in given if text is not None]
    return (key, value, headers) if headers else (key, value)


def decode_signed(
    offset: int, key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes | None]]
) -> ConfigTopicRecord | None:
    record = decode(offset, key, value)
    if not isinstance(record, _OF_PRINCIPALS):
        return record
    found = {name: text.decode(errors="replace") for name, text in reversed(tuple(headers)) if text is not None}
    if isinstance(record, TargetState):
        return replace(record, principal=found.get(PRINCIPAL), bulk=found.get(BULK))
    return replace(record, principal=found.get(PRINCIPAL))


def _content(record: ConfigTopicRecord) -> tuple[str, dict[str, Any] | None]:
    match record:
        case ConnectorConfig(name, config):
            return f"connector-{name}", None if config is None else {"properties": config}
        case TaskConfig(id, config):
            return f"task-{id}", None if config is None else {"properties": config}
        case TasksCommit(connector, tasks):
            return f"commit-{connector}", {"tasks": tasks}
        case TargetState(connector, None):
            return f"target-state-{connector}", None
        case TargetState(connector, state):
            # Workers before 3.5 know no STOPPED and read the first member only.
            old = "PAUSED" if state == "STOPPED" else state
            return f"target-state-{connector}", {"state": old, "state.v2": state}
        case TaskCount(connector, tasks):
            return f"tasks-fencing-{connector}", {"task-count": tasks}
        case SessionKey(key, algorithm, created_ms):
            encoded = base64.b64encode(key).decode()
            return "session-key", {"key": encoded, "algorithm": algorithm, "creation-timestamp": created_ms}
        case RestartRequest(connector, include_tasks, only_failed):
            return f"restart-connector-{connector}", {"include-tasks": include_tasks, "only-failed": only_failed}
        case PolicyRestart(connector, chosen, others):
            flags = {"include-tasks": any(each.task is not None for each in chosen), "only-failed": True}
            counts = {NOW: [_count_members(each) for each in chosen], OTHERS: [_count_members(each) for each in others]}
            return f"restart-connector-{connector}", {**flags, POLICY: counts}
        case LoggerLevel(name, level):
            return f"logger-cluster-{name}", {"level": level}
        case RecordSkip(connector, skip, over):
            place = f"penstock-skip-{connector}/{skip.topic}/{skip.partition}/{skip.first}"
            return place, None if over else {"last": skip.last, "topic-id": skip.topic_id, "to": skip.to}


def decode(offset: int, key: bytes | None, value: bytes | None) -> ConfigTopicRecord | None:
    """The record of these bytes; None, after a warning that names offset and key, if they can't be understood, or
    exceed what ``core.model.limits`` accepts.
    """
    text = "" if key is None else key.decode(errors="replace")
    try:
        record = _record(text, None if value is None else compact.decode(value))
        problem = problem_of(record)
    except (ValueError, TypeError, KeyError, RecursionError) as e:
        record, problem = None, str(e)
    if problem is None:
        return record
    log.warning("Ignoring the record at offset %d of the config topic, key `%s`: %s", offset, shortened(text), problem)
    return None


def is_counted(value: bytes | None) -> bool:
    """Whether a worker's position is after such a record once it has read it.

    Workers compare their positions, so ours must be those of Java's, for which what is no JSON is not there at all.
    """
    if value is not None:
        try:
            compact.decode(value)
        except ValueError:
            return False
    return True


def _record(key: str, content: Any) -> ConfigTopicRecord:
    # The order matters: `task-` must not match the keys of a longer prefix, and Java tries them in this order.
    for prefix, read in _READERS.items():
        if key.startswith(prefix):
            return read(key[len(prefix) :], content)
    if key == "session-key":
        return _session_key(content)
    raise ValueError("no record of the config topic has such a key")


def _connector(name: str, content: Any) -> ConnectorConfig:
    return ConnectorConfig(name, None if content is None else _properties(content))


def _task(id: str, content: Any) -> TaskConfig:
    return TaskConfig(task_id(id), None if content is None else _properties(content))


def _commit(connector: str, content: Any) -> TasksCommit:
    return TasksCommit(connector, _integer(content, "tasks"))


def _target_state(connector: str, content: Any) -> TargetState:
    if content is None:
        return TargetState(connector, None)
    members = _object(content)
    state = members.get("state.v2")
    if not isinstance(state, str):
        state = _string(members, "state")
    if state not in TARGET_STATES:
        raise ValueError(f"the target state is `{state}`, which is none of {', '.join(TARGET_STATES)}")
    return TargetState(connector, state)


def _task_count(connector: str, content: Any) -> TaskCount:
    return TaskCount(connector, _integer(content, "task-count"))


def _restart(connector: str, content: Any) -> RestartRequest | PolicyRestart:
    members = _object(content)
    if POLICY in members:
        counts = _object(members[POLICY])
        return PolicyRestart(connector, _counts(counts.get(NOW)), _counts(counts.get(OTHERS)))
    return RestartRequest(connector, members.get("include-tasks") is True, members.get("only-failed") is True)


def _count_members(count: RestartCount) -> dict[str, Any]:
    return {"task": count.task, "count": count.count, "failed": count.failed_ms, "requested": count.requested_ms}


def _counts(content: Any) -> tuple[RestartCount, ...]:
    if not isinstance(content, list):
        raise TypeError(f"`{POLICY}` should have lists of objects, not {_shown(content)}")
    return tuple(
        RestartCount(
            None if _object(each).get("task") is None else _integer(each, "task"),
            _integer(each, "count"),
            _integer(each, "failed"),
            _integer(each, "requested"),
        )
        for each in content
    )


def _logger_level(name: str, content: Any) -> LoggerLevel:
    return LoggerLevel(name, _string(content, "level"))


def _skip(place: str, content: Any) -> RecordSkip:
    connector, topic, partition, first = place.rsplit("/", 3)  # the name of a topic has no slash
    if not all(number.isascii() and number.isdecimal() and len(number) < 20 for number in (partition, first)):
        raise ValueError("the key should end with a partition and an offset")
    if content is None:
        return RecordSkip(connector, Skip(topic, int(partition), int(first), int(first)), over=True)
    to = next((each for each in SKIP_TARGETS if each == _string(content, "to")), None)
    if to is None:
        raise ValueError(f"`to` is none of {', '.join(SKIP_TARGETS)}")
    last, topic_id = _integer(content, "last"), _string(content, "topic-id")
    return RecordSkip(connector, Skip(topic, int(partition), int(first), last, topic_id, to))


def _session_key(content: Any) -> SessionKey:
    key = base64.b64decode(_string(content, "key"), validate=True)
    return SessionKey(key, _string(content, "algorithm"), _integer(content, "creation-timestamp"))


_READERS: dict[str, Callable[[str, Any], ConfigTopicRecord]] = {
    "target-state-": _target_state,
    "connector-": _connector,
    "task-": _task,
    "commit-": _commit,
    "restart-connector-": _restart,
    "tasks-fencing-": _task_count,
    "logger-cluster-": _logger_level,
    "penstock-skip-": _skip,
}


def task_id(text: str) -> TaskId:
    """The id of ``<connector>-<task>``; raises ValueError if it does not end with a number. Names may hold hyphens."""
    connector, hyphen, number = text.rstrip("-").rpartition("-")
    if not hyphen or not (number.isascii() and number.isdecimal()) or int(number) > 2**31 - 1:
        raise ValueError(f"`{shortened(text)}` is not the name of a connector, a hyphen and the number of a task")
    return TaskId(connector, int(number))


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise TypeError(f"the value should be a JSON object, not {_shown(content)}")
    return content


def _properties(content: Any) -> dict[str, str]:
    properties = _object(content).get("properties")
    if not isinstance(properties, dict):
        raise TypeError(f"`properties` should be a JSON object, not {_shown(properties)}")
    # A setting of null counts as none; numbers and booleans, which no worker writes, become texts.
    return {k: v if isinstance(v, str) else java_text(v) for k, v in properties.items() if v is not None}


def _integer(content: Any, name: str) -> int:
    value = _object(content).get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise TypeError(f"`{name}` should be an integer, not {_shown(value)}")
    return value


def _string(content: Any, name: str) -> str:
    value = _object(content).get(name)
    if not isinstance(value, str):
        raise TypeError(f"`{name}` should be a text, not {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return "null" if value is None else f"{type(value).__name__} {str(value)[:60]!r}"
