"""Times of day with a zone, which Connect's Time does not have: refused with the name of the field."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.api.schema import TIME, TIMESTAMP, struct
from penstock.pipeline.converters import (
    StringConverter,
)

pytest.importorskip("fastavro")
pytest.importorskip("grpc_tools")

PLUS_TWO = dt.timezone(dt.timedelta(hours=2))
ZONED = dt.time(1, 30, tzinfo=PLUS_TWO)
ROW = struct(("opens", TIME), ("at", TIMESTAMP), name="Row")
MOMENT = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def test_a_time_with_a_zone_is_refused(converter: Any) -> None:
    topic = f"{type(converter).__name__}-zoned"
    fine = {"opens": dt.time(1, 30), "at": MOMENT}
    for write in (
        lambda: converter.from_connect(topic, (), ROW, {**fine, "opens": ZONED}),
        lambda: converter.from_connect_batch([topic] * 2, [()] * 2, [ROW] * 2, [fine, {**fine, "opens": ZONED}]),
    ):
        with pytest.raises(DataError) as refused:
            write()
        errors = [str(refused.value), str(refused.value.__cause__)]
        sentence = "The value of the field opens is no Time: 01:30:00+02:00 has a zone"
        assert any(sentence in error for error in errors), errors


def test_a_text_of_a_time_with_a_zone_is_refused() -> None:
    converter = StringConverter()
    converter.configure({}, False)
    with pytest.raises(DataError, match=r"01:30:00\+02:00 has a zone"):
        converter.from_connect("topic", (), ROW, {"opens": ZONED, "at": MOMENT})


def test_moments_are_the_same_in_each_zone_and_utc_without_one(converter: Any) -> None:
    topic = f"{type(converter).__name__}-moments"
    for at in (MOMENT, MOMENT.astimezone(PLUS_TWO), MOMENT.replace(tzinfo=None)):
        data = converter.from_connect(topic, (), ROW, {"opens": dt.time(1, 30), "at": at})
        assert converter.to_connect(topic, (), data)[1]["at"] == MOMENT
