"""Statistics that librdkafka reports every few seconds: connections, bytes, and records by topic and partition.

The text arrives in a callback and is parsed when the task reports, not before.

The statistics also tell that a client is lost: since 2.10, librdkafka removes brokers that an answer does not name. If
all brokers are fenced, as while a cluster starts, a client that has just connected may remove its last one without
adding ``bootstrap.servers`` again (its issue 5301; seen with 2.16). Such a client connects to nothing any more and
reports no error. Its owner replaces it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

STATISTICS_MS = 5000
LOST_REPORTS = 3
"""The number of reports in a row without a broker after which a client is lost; one may come while it adds them."""
_INTERNAL = -1
"""librdkafka's partition of records that have none yet."""


@dataclass(slots=True, eq=False, weakref_slot=True)
class ClientStatistics:
    """``kind``: ``consumer``, ``producer`` or ``admin-client``. It is itself the client's ``stats_cb``, which is called
    while the client is polled.
    """

    kind: str
    client_id: str
    text: str = field(default="{}", repr=False)
    _without_brokers: int = field(default=0, repr=False)
    """The number of the last reports in a row that name no broker, but perhaps the coordinator of a group."""

    def __call__(self, text: str) -> None:
        self.text = text
        known = '"source":"learned"' in text or '"source":"configured"' in text
        self._without_brokers = 0 if known else self._without_brokers + 1

    @property
    def lost(self) -> bool:
        """Whether the client knows no broker, and never will: only another client can continue."""
        return self._without_brokers >= LOST_REPORTS

    def settings(self, every_ms: int = STATISTICS_MS) -> dict[str, Any]:
        """Return librdkafka's settings for the client."""
        return {"stats_cb": self, "statistics.interval.ms": every_ms}

    def read(self) -> Statistics:
        return Statistics(self.kind, self.client_id, json.loads(self.text))


OWN: WeakSet[ClientStatistics] = WeakSet()
"""Statistics of the worker's own clients."""


def own(kind: str, client_id: str) -> ClientStatistics:
    """Make statistics for a client of the worker's own; they are in OWN as long as it lives."""
    statistics = ClientStatistics(kind, client_id)
    OWN.add(statistics)
    return statistics


@dataclass(frozen=True, slots=True)
class Statistics:
    """One text, parsed."""

    kind: str
    client_id: str
    found: dict[str, Any]

    def partitions(self) -> Iterator[tuple[str, int, dict[str, Any]]]:
        for topic, each in self.found.get("topics", {}).items():
            for number, partition in each["partitions"].items():
                if int(number) != _INTERNAL:
                    yield topic, int(number), partition

    def described(self) -> dict[str, Any]:
        """``values`` by Java's names of the client's metrics; ``topics`` by those of each topic."""
        brokers = self.found.get("brokers", {}).values()
        values = {
            "connection-count": sum(broker["state"] == "UP" for broker in brokers),
            "connection-creation-total": sum(broker.get("connects", 0) for broker in brokers),
            "outgoing-byte-total": self.found.get("tx_bytes", 0),
            "incoming-byte-total": self.found.get("rx_bytes", 0),
            "request-total": self.found.get("tx", 0),
            "response-total": self.found.get("rx", 0),
        }
        topics: dict[str, dict[str, float]] = {}
        records, size = ("txmsgs", "txbytes") if self.kind == "producer" else ("rxmsgs", "rxbytes")
        names = ("record-send", "byte") if self.kind == "producer" else ("records-consumed", "bytes-consumed")
        for topic, _, partition in self.partitions():
            sums = topics.setdefault(topic, dict.fromkeys((f"{name}-total" for name in names), 0))
            sums[f"{names[0]}-total"] += partition[records]
            sums[f"{names[1]}-total"] += partition[size]
        return {"kind": self.kind, "client_id": self.client_id, "values": values, "topics": topics}
