"""Positions of records that have been given and committed, which tell how much of its log the server may drop."""

from __future__ import annotations

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
        return {"lsn": self.lsn, "event": self.event, "record": self.record}


def stored(offset: Mapping[str, Any]) -> StreamPosition:
    """Return the position of a source offset. Raises ConnectError."""
    values = [offset.get("lsn"), offset.get("event", 0), offset.get("record", 0)]
    if any(not isinstance(value, int) or isinstance(value, bool) or value < 0 for value in values):
        raise ConnectError(
            f"An offset of PostgresSource has lsn, event and record, numbers from 0 on, not {dict(offset)}"
        )
    return StreamPosition(*values)


class StreamProgress:
    """``given``: the last record that ``poll`` has returned, or the position after the last transaction if none of the
    next one was; at first the position from which it began.
    """

    def __init__(self, start: StreamPosition) -> None:
        self.given = start
        self.read = start.lsn
        """Up to here the server's log has been read."""
        self._committed = StreamPosition(0)

    def finished(self, end: int) -> None:
        """Note that a transaction has ended whose records, if it had any, are given."""
        self.read = max(self.read, end)
        self.given = max(self.given, StreamPosition(end))

    def committed(self, position: StreamPosition) -> None:
        """Note that this offset is committed; called with an offset of this run, or the one from which it began."""
        self._committed = max(self._committed, position)

    def idle(self, sent: int) -> None:
        """Note the end of the log; called when no transaction is open, and everything that was sent has been read."""
        self.read = max(self.read, sent)
        self.given = max(self.given, StreamPosition(sent))

    def confirmable(self) -> int:
        """Return the position up to which all transactions have been committed to Kafka; 0 if it is not known yet.

        It is never after the committed offset, so that a slot which is confirmed further has not been confirmed by
        this connector. The transaction of the offset itself may be sent again; its records are not given again.
        """
        return self._committed.lsn

    def uncarried(self) -> StreamPosition | None:
        """Return the position that no record carries and that is to be committed, if there is one."""
        carried = self.given.event > 0 or self.given <= self._committed
        return None if carried else self.given
