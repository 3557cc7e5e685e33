"""The identity of the server's log that offsets are positions in, and the test of an offset against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConnectError

RESTART = "a new snapshot as snapshot.mode says"
PROCEED = "the changes from the slot's position on; those between are accepted as lost"


@dataclass(frozen=True, slots=True)
class LogOrigin:
    """A server's log: the system identifier, and the timeline, None on a standby server, which may change it while it
    streams.
    """

    system: str
    timeline: int | None

    def offset(self) -> dict[str, Any]:
        """Return the part of a source offset that names the origin."""
        return {"system": self.system} | ({} if self.timeline is None else {"timeline": self.timeline})


@dataclass(frozen=True, slots=True)
class ServerLog:
    """The log of the connected server: its origin, and the position of its end."""

    origin: LogOrigin
    end: int


def stored_origin(offset: Mapping[str, Any]) -> LogOrigin | None:
    """Return the origin in a source offset; None if the offset names none. Raises ConnectError."""
    system, timeline = offset.get("system"), offset.get("timeline")
    if system is None and timeline is None:
        return None
    if not isinstance(system, str) or (timeline is not None and (type(timeline) is not int or timeline < 1)):
        raise ConnectError(
            "In an offset of PostgresSource, system is the server's system identifier as a text, and timeline a number "
            f"from 1 on, not {dict(offset)}"
        )
    return LogOrigin(system, timeline)


def change_of_origin(
    position: int,
    origin: LogOrigin | None,
    server: ServerLog,
    slot: tuple[str, int | None],
    switches: Callable[[int], Mapping[int, int]],
) -> str | None:
    """Return what makes a position useless on this server, as a sentence without its full stop; None if nothing does.

    ``slot`` is the slot's name and confirmed position, None if it does not exist. ``switches`` returns for a timeline
    the timelines it descends from, each with the position at which it was left. A new timeline is no change if the
    position is not after that one, as at an ordinary failover.
    """
    name, confirmed = slot
    here, timeline = server.origin, server.origin.timeline
    at = f"the connector's position {text_of(position)}"
    if origin is not None and origin.system != here.system:
        return f"The server's system identifier is {here.system}, and {at} belongs to the server {origin.system}"
    if origin is not None and None not in (origin.timeline, timeline) and origin.timeline != timeline:
        assert timeline is not None
        left = switches(timeline).get(origin.timeline or 0)
        if left is None:
            return (
                f"The server is on timeline {timeline}, which does not descend from timeline {origin.timeline}, to "
                f"which {at} belongs: an older state of the server was restored"
            )
        if left < position:
            return (
                f"The server left timeline {origin.timeline} at {text_of(left)}, before {at}: a server with an older "
                "log was promoted, or an older state was restored"
            )
    if position > server.end:
        return f"The server's log ends at {text_of(server.end)}, before {at}: an older state of the server was restored"
    if confirmed is None:
        return f"The replication slot {name} is gone, and with it the changes since {at}"
    if confirmed > position:
        return (
            f"The replication slot {name} is confirmed up to {text_of(confirmed)}, after {at}, and the server sends "
            "nothing before that again: the slot was recreated, another reader used it, or the offset was set back"
        )
    return None


def switches_of(history: str) -> dict[int, int]:
    """Return the timelines of a timeline history file, each with the position at which it was left."""
    found = {}
    for line in history.splitlines():
        fields = line.split("#")[0].split()
        if len(fields) >= 2:
            found[int(fields[0])] = number_of(fields[1])
    return found


def text_of(lsn: int) -> str:
    """Return the position as PostgreSQL prints it."""
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def number_of(lsn: str) -> int:
    high, low = lsn.split("/")
    return (int(high, 16) << 32) | int(low, 16)
