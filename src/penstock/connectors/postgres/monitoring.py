"""Records of PostgresSource beside those of rows.

The beginnings and ends of transactions, with the place of each event in its transaction
(``provide.transaction.metadata``): records that are sent are counted, so a restart in the middle counts the same again.
Heartbeats: the connector is alive, with its position while no table changes.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

from penstock.api.schema import INT64, OPTIONAL_INT64, STRING, array, struct
from penstock.connectors.postgres.envelope import ChangeEvent
from penstock.connectors.postgres.pgoutput import Begin
from penstock.connectors.postgres.settings import PostgresSettings

_TRANSACTION_KEY = struct(("id", STRING), name="io.debezium.connector.common.TransactionMetadataKey", version=1)
_COLLECTION = struct(
    ("data_collection", STRING), ("event_count", INT64), name="event.collection", version=1, optional=True
)
_TRANSACTION_VALUE = struct(
    ("status", STRING),
    ("id", STRING),
    ("event_count", OPTIONAL_INT64),
    ("data_collections", array(_COLLECTION, optional=True)),
    ("ts_ms", INT64),
    name="io.debezium.connector.common.TransactionMetadataValue",
    version=1,
)


class TransactionCounts:
    """A transaction of the database and its events so far.

    Its id is its number and the position of its commit: the same in all of its records.
    """

    def __init__(self, begin: Begin) -> None:
        self.begin = begin
        self.id = f"{begin.xid}:{begin.lsn}"
        self._counts: Counter[str] = Counter()

    def begun(self) -> ChangeEvent:
        return self._event("BEGIN", None, None)

    def ended(self) -> ChangeEvent:
        tables = [{"data_collection": name, "event_count": count} for name, count in self._counts.items()]
        return self._event("END", self._counts.total(), tables)

    def mark(self, table: str, event: ChangeEvent) -> None:
        """Put an event's place into its envelope; a tombstone has none."""
        if event.value is None:
            return
        self._counts[table] += 1
        event.value["transaction"] = {
            "id": self.id,
            "total_order": self._counts.total(),
            "data_collection_order": self._counts[table],
        }

    def _event(self, status: str, count: int | None, tables: list[dict[str, Any]] | None) -> ChangeEvent:
        value = {
            "status": status,
            "id": self.id,
            "event_count": count,
            "data_collections": tables,
            "ts_ms": self.begin.time // 1000,
        }
        return ChangeEvent(_TRANSACTION_KEY, {"id": self.id}, _TRANSACTION_VALUE, value)


def topic_of(settings: PostgresSettings) -> str:
    return f"{settings.prefix}.{settings.transaction_topic}"


_HEARTBEAT_KEY = struct(("serverName", STRING), name="io.debezium.connector.common.ServerNameKey", version=1)
_HEARTBEAT_VALUE = struct(("ts_ms", INT64), name="io.debezium.connector.common.Heartbeat", version=1)


class Heartbeats:
    """Heartbeats at an interval, the first after one interval."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._last = time.monotonic()

    def due(self) -> bool:
        """Return whether a heartbeat is due; then the next one is due after another interval."""
        now, interval = time.monotonic(), self._settings.heartbeat
        if not interval or now < self._last + interval:
            return False
        self._last = now
        return True

    def event(self, now: int) -> ChangeEvent:
        """Return a heartbeat; ``now`` in nanoseconds since 1970."""
        return ChangeEvent(
            _HEARTBEAT_KEY, {"serverName": self._settings.prefix}, _HEARTBEAT_VALUE, {"ts_ms": now // 1_000_000}
        )
