"""Source partitions and offsets in the format of Confluent's connector, to take connectors over and give them back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.errors import ConnectError

NANOS = 1_000_000_000
_NUMBER, _TIME, _TIME_NANOS = "incrementing", "timestamp", "timestamp_nanos"
QUERY = {"query": "query"}
"""The source partition of a query."""


@dataclass(frozen=True, slots=True)
class TablePosition:
    """Position up to which a table has been read; ``time`` in nanoseconds since 1970."""

    number: int | None = None
    time: int | None = None

    @classmethod
    def of(cls, offset: Mapping[str, Any] | None) -> Self:
        """Parse an offset. Raises ConnectError for one that this connector can't have."""
        offset = offset or {}
        for name, value in offset.items():
            if name not in (_NUMBER, _TIME, _TIME_NANOS) or not (value is None or type(value) is int):
                raise ConnectError(
                    f"{dict(offset)} is no offset of a JDBC source: it has whole numbers `{_NUMBER}`, `{_TIME}` "
                    f"(milliseconds) and `{_TIME_NANOS}` (of the second)"
                )
        millis, nanos = offset.get(_TIME), offset.get(_TIME_NANOS)
        if millis is None:
            time = None
        elif nanos is None:
            time = millis * 1_000_000
        else:
            time = millis // 1000 * NANOS + nanos
        return cls(offset.get(_NUMBER), time)

    def offset(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self.number is not None:
            found[_NUMBER] = self.number
        if self.time is not None:
            found[_TIME] = self.time // 1_000_000
            found[_TIME_NANOS] = self.time % NANOS
        return found


def check_partition(partition: Mapping[str, Any] | None) -> None:
    """Raise ConnectError for a source partition that this connector can't have."""
    given = dict(partition or {})
    if given == QUERY or (set(given) in ({"table"}, {"protocol", "table"}) and given.get("protocol", "1") == "1"):
        return
    raise ConnectError(
        f"{given} is no source partition of a JDBC source: it is {QUERY}, or as "
        '{"protocol": "1", "table": "catalog.schema.table"}'
    )
