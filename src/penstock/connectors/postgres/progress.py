"""Positions of records that have been given and committed, which tell how much of its log the server may drop."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock.api.errors import ConnectError


class StreamPosition(NamedTuple):
    """A record: its transaction, by the position of its commit, the number of the change in it, and that of the record
    among those of the change. Both count from 1; changes that give no record count, too.

    Transactions come in the order of their commits, so positions are ordered as records are; and what is sent again
    after a restart has the same ones.
    """

    lsn: int
    event: int = 0
    record: int = 0

    def offset(self) -> dict[str, Any]:
        return self._asdict()


def stored(offset: Mapping[str, Any]) -> StreamPosition:
    """Return the position of a source offset. Raises ConnectError."""
    values = [offset.get("lsn"), offset.get("event", 0), offset.get("record", 0)]
    if any(not isinstance(value, int) or isinstance(value, bool) or value < 0 for value in values):
        raise ConnectError(
            f"An offset of PostgresSource has lsn, event and record, numbers from 0 on, not {dict(offset)}"
        )
    return StreamPosition(*values)


class StreamProgress:
    """``given``: the last record that ``poll`` has returned, or the position from which it began."""

    def __init__(self, start: StreamPosition) -> None:
        self.given = self._committed = start
        self.read = start.lsn
        """Up to here the server's log has been read."""
        self._finished: deque[tuple[StreamPosition, int]] = deque()
        self._confirmable = 0

    def finished(self, end: int) -> None:
        """A transaction has ended whose records, if it had any, are given."""
        self.read = max(self.read, end)
        self._finished.append((self.given, end))

    def committed(self, position: StreamPosition) -> None:
        self._committed = max(self._committed, position)

    def idle(self, sent: int) -> None:
        """Called when no transaction is open, and everything that was sent has been read."""
        self.read = max(self.read, sent)
        if self._finished and self._finished[-1][0] == self.given:
            self._finished[-1] = (self.given, max(sent, self._finished[-1][1]))
        else:
            self.finished(sent)

    def confirmable(self) -> int:
        """Return the position up to which all transactions have been committed to Kafka; 0 if it is not known yet."""
        while self._finished and self._finished[0][0] <= self._committed:
            self._confirmable = max(self._confirmable, self._finished.popleft()[1])
        return self._confirmable
