"""Offsets that are no positions in the server's log that is there now."""

from __future__ import annotations

import pytest

from penstock.api.errors import ConnectError
from penstock.connectors.postgres.origin import (
    LogOrigin,
    ServerLog,
    change_of_origin,
    stored_origin,
    switches_of,
)

HISTORY = "1\t0/64\tno recovery target specified\n\n# a comment\n2\t0/C8\tbefore 2026-01-01 00:00:00+00\n"


def change(
    position: int, origin: LogOrigin | None, timeline: int | None, end: int = 1000, slot: int | None = 0
) -> str | None:
    server = ServerLog(LogOrigin("7", timeline), end)
    return change_of_origin(position, origin, server, ("s", slot), lambda timeline: switches_of(HISTORY))


def test_a_history_names_the_timelines_and_where_they_were_left() -> None:
    assert switches_of(HISTORY) == {1: 100, 2: 200}
    assert switches_of("") == {}


@pytest.mark.parametrize(
    ("position", "stored", "now"), [(100, 1, 3), (200, 2, 3), (900, 3, 3), (900, None, 3), (900, 3, None)]
)
def test_positions_before_the_switch_of_their_timeline_are_used(
    position: int, stored: int | None, now: int | None
) -> None:
    assert change(position, LogOrigin("7", stored), now, slot=position) is None


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (change(5, LogOrigin("8", 3), 3), "system identifier is 7, and the connector's position 0/5 belongs to the"),
        (change(101, LogOrigin("7", 1), 3), "left timeline 1 at 0/64, before the connector's position 0/65"),
        (change(201, LogOrigin("7", 2), 3), "left timeline 2 at 0/C8"),
        (change(5, LogOrigin("7", 4), 3), "timeline 3, which does not descend from timeline 4"),
        (change(1001, LogOrigin("7", 3), 3), "log ends at 0/3E8, before"),
        (change(1001, None, 3), "log ends at 0/3E8, before"),
        (change(5, None, 3, slot=None), "slot s is gone, and with it the changes since"),
        (change(5, None, 3, slot=6), "slot s is confirmed up to 0/6, after the connector's position 0/5"),
    ],
)
def test_other_positions_are_refused(found: str | None, sentence: str) -> None:
    assert found is not None
    assert sentence in found


def test_an_offset_names_its_origin_or_does_not() -> None:
    for origin in (LogOrigin("7", 2), LogOrigin("7", None)):
        assert stored_origin({"lsn": 5, **origin.offset()}) == origin
    assert stored_origin({"lsn": 5}) is None
    for wrong in ({"system": 7}, {"timeline": 2}, {"system": "7", "timeline": "2"}, {"system": "7", "timeline": 0}):
        with pytest.raises(ConnectError, match="system is the server's system identifier as a text"):
            stored_origin({"lsn": 5, **wrong})
