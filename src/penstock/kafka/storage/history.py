"""The history topic: versions and events as JSON, one partition, kept for a time. Beside them, alerts and the rows that
workers store for them.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from penstock.api.kafka import TopicSpec
from penstock.core.attention.alerts import Alert, StoredEntry, WorkerRows, alert_of, rows_of
from penstock.history.entries import ConnectorVersion, Entry, HistoryEvent, timestamp
from penstock.java.jackson import compact
from penstock.kafka.client_settings import internal, own_client_id
from penstock.kafka.log.outages import Outages
from penstock.kafka.log.progress import OnDone
from penstock.kafka.log.reader import LogClients, LogRecord
from penstock.kafka.log.topic import LogTopic, creates_internal_topics
from penstock.kafka.log.topic_log import TopicLog
from penstock.kafka.storage.stores import internal_topic

log = logging.getLogger(__name__)

SETTING = "penstock.history.topic"
_KINDS: Mapping[str, type[ConnectorVersion] | type[HistoryEvent]] = {"version": ConnectorVersion, "event": HistoryEvent}


def topic_name(worker: Mapping[str, str]) -> str:
    """Empty if there is to be no history."""
    given = worker.get(SETTING)
    return f"{worker['config.storage.topic']}-history" if given is None else given.strip()


def encode(entry: Entry | StoredEntry) -> tuple[bytes, bytes]:
    match entry:
        case Alert() | WorkerRows():
            members = {"type": "alert" if isinstance(entry, Alert) else "rows", **entry.record()}
        case _:
            members = {"type": "version" if isinstance(entry, ConnectorVersion) else "event", **asdict(entry)}
    return entry.key.encode(), compact.encode(members)


def decode(value: bytes | None) -> Entry | StoredEntry | None:
    """None for what no worker of this version has written."""
    try:
        members = compact.decode(value or b"null")
        match members.get("type"):
            case "alert":
                return alert_of(members)
            case "rows":
                return rows_of(members)
        if members.get("reason") is not None:
            members["reason"] = sys.intern(members["reason"])  # a task that fails again and again fails in one way
        entry = _KINDS[members.pop("type")](**members)
        _check(entry)
        return entry
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        log.warning("Ignoring a record of the history topic: %r", error)
        return None


def _check(entry: Entry) -> None:
    """Raise TypeError, ValueError or OverflowError for members of other types than the workers of this version write:
    the topic may have been written to by others.
    """
    timestamp(entry.time_ms)
    texts: list[Any] = [entry.connector, entry.principal, entry.state]
    needed: list[Any] = [entry.time_ms]
    numbers: list[Any] = []
    match entry:
        case ConnectorVersion():
            texts += [entry.change, *(entry.config or {}).keys(), *(entry.config or {}).values()]
            needed += [entry.number, entry.offset]
        case HistoryEvent():
            texts += [entry.kind, entry.worker, entry.reason, entry.topic, *entry.details]
            numbers += [entry.task, entry.generation]
    if not isinstance(entry.connector, str) or None in needed:
        raise TypeError("the connector or a number is missing")
    if not all(each is None or isinstance(each, str) for each in texts):
        raise TypeError("a text is something else")
    if not all(each is None or (type(each) is int and -(2**63) <= each < 2**63) for each in needed + numbers):
        raise TypeError("a number is something else")


class HistoryStore:
    """``start`` once, ``close`` at the end; no method blocks, callbacks come from threads of the store."""

    def __init__(
        self,
        worker: Mapping[str, str],
        retention_ms: int,
        on_entries: Callable[[list[Entry | StoredEntry]], None],
        *,
        on_caught_up: Callable[[], None],
        on_failed: Callable[[Exception], None],
    ) -> None:
        client_id = own_client_id(worker, "history")
        clients = LogClients(
            consumer=internal(worker, "consumer", client_id),
            producer=internal(worker, "producer", client_id),
            admin=internal(worker, "admin", client_id),
        )
        replication = internal_topic(worker, "config", "", partitions=1).spec.replication_factor
        configs = {"cleanup.policy": "delete", "retention.ms": str(retention_ms)}
        topic = LogTopic(
            spec=TopicSpec(topic_name(worker), 1, replication, configs),
            setting=SETTING,
            purpose="history of connectors",
            single_partition=True,
            compacted=False,
            created=creates_internal_topics(worker),
        )
        self._on_entries = on_entries
        self._log = TopicLog(
            topic, clients, self._decode, on_caught_up=on_caught_up, on_failed=on_failed, outages=Outages()
        )

    def start(self) -> None:
        self._log.start()

    def append(self, entries: Sequence[Entry | StoredEntry], on_done: OnDone) -> None:
        """Done when they have been read back."""
        self._log.append([encode(entry) for entry in entries], on_done, read_back=True)

    def close(self) -> None:
        self._log.close()

    def _decode(self, records: Iterable[LogRecord]) -> None:
        decoded = (decode(record.value) for record in records)
        self._on_entries([entry for entry in decoded if entry is not None])
