"""Records that say that the connector is alive, and carry its position while no table changes."""

from __future__ import annotations

import time

from penstock.api.schema import INT64, STRING, struct
from penstock.connectors.postgres.envelope import ChangeEvent
from penstock.connectors.postgres.settings import PostgresSettings

_KEY = struct(("serverName", STRING), name="io.debezium.connector.common.ServerNameKey", version=1)
_VALUE = struct(("ts_ms", INT64), name="io.debezium.connector.common.Heartbeat", version=1)


class Heartbeats:
    """The first is due one interval after the start."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._last = time.monotonic()

    def due(self) -> bool:
        """Whether one is to be sent now; the next one is due after another interval."""
        now, interval = time.monotonic(), self._settings.heartbeat
        if not interval or now < self._last + interval:
            return False
        self._last = now
        return True

    def event(self, now: int) -> ChangeEvent:
        """``now`` in nanoseconds since 1970."""
        return ChangeEvent(_KEY, {"serverName": self._settings.prefix}, _VALUE, {"ts_ms": now // 1_000_000})
