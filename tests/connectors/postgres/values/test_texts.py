"""PostgreSQL's texts, read."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.errors import DataError
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values import texts
from penstock.connectors.postgres.values.mappings import mapping

EPOCH = datetime.datetime(1970, 1, 1)  # noqa: DTZ001
GIVEN = {"database.hostname": "h", "database.user": "u", "database.dbname": "d", "topic.prefix": "p"}


def read(name: str, text: str, modifier: int = -1, **settings: str) -> Any:
    found = PostgresSettings.of({**GIVEN, **{key.replace("_", "."): value for key, value in settings.items()}})
    chosen = mapping(name, modifier, found)
    assert chosen is not None
    return chosen.of(modifier, found).read(text)


@given(st.dates())
def test_dates_are_days_since_1970(day: datetime.date) -> None:
    assert texts.days(day.isoformat()) == (day - EPOCH.date()).days


def test_days_of_other_centuries() -> None:
    assert texts.days("0001-01-01") - texts.days("0001-12-31 BC") == 1
    assert texts.days("4714-11-24 BC") == -2_440_588  # the first day that PostgreSQL has
    assert texts.days("10000-01-01") == texts.days("9999-12-31") + 1


@given(st.datetimes(), st.integers(-15 * 60, 15 * 60))
def test_timestamps_are_microseconds_since_1970(moment: datetime.datetime, minutes: int) -> None:
    us = (moment - EPOCH) // datetime.timedelta(microseconds=1)
    assert texts.micros(moment.isoformat(" ")) == us
    sign, (hours, rest) = "-" if minutes < 0 else "+", divmod(abs(minutes), 60)
    assert texts.micros(f"{moment.isoformat(' ')}{sign}{hours:02}:{rest:02}") == us - minutes * 60_000_000


def test_micros_of_other_centuries() -> None:
    assert texts.micros("0044-03-15 12:00:00.5+00 BC") == texts.days("0044-03-15 BC") * texts.DAY_US + 43_200_500_000


@pytest.mark.parametrize("text", ["infinity", "-infinity"])
def test_infinite_times_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="is not a time that a record can hold"):
        texts.micros(text)


@pytest.mark.parametrize(
    ("text", "parts", "micros", "iso"),
    [
        ("00:00:00", (0, 0, 0), 0, "P0Y0M0DT0H0M0S"),
        ("1 year -2 mons +3 days -04:05:06.7", (10, 3, -14_706_700_000), 26_542_493_300_000, "P0Y10M3DT-4H-5M-6.7S"),
        ("-6 years 3 days 113:45:27", (-72, 3, 409_527_000_000), -188_676_873_000_000, "P-6Y0M3DT113H45M27S"),
        ("1 mon", (1, 0, 0), 2_629_800_000_000, "P0Y1M0DT0H0M0S"),
    ],
)
def test_intervals_are_parsed_into_parts(text: str, parts: tuple[int, int, int], micros: int, iso: str) -> None:
    assert texts.interval(text) == parts
    assert read("interval", text, interval_handling_mode="numeric") == micros
    assert read("interval", text, interval_handling_mode="string") == iso


def test_array_texts_are_parsed() -> None:
    assert texts.array("{}") == []
    assert texts.array('{1,NULL,"NULL","a \\"b\\\\",}') == ["1", None, "NULL", 'a "b\\', ""][:4]
    assert texts.array("[0:1]={a,b}") == ["a", "b"]
    assert texts.array('{{1,2},{"}",4}}') == ["{1,2}", '{"}",4}']


def test_bit_strings_become_bytes() -> None:
    assert texts.bits("000000001") == b"\x01"
    assert texts.bits("") == b""


@pytest.mark.parametrize(
    ("name", "mode", "modifier", "text", "value"),
    [
        ("date", "adaptive", -1, "1970-01-02", 1),
        ("date", "connect", -1, "1970-01-02", datetime.date(1970, 1, 2)),
        ("date", "isostring", -1, "0083-12-28", "0083-12-28Z"),
        ("time", "adaptive", 3, "00:00:01.5", 1500),
        ("time", "adaptive", -1, "00:00:01.5", 1_500_000),
        ("time", "adaptive_time_microseconds", 3, "00:00:01.5", 1_500_000),
        ("time", "connect", -1, "00:00:01.123456", datetime.time(0, 0, 1, 123_000)),
        ("time", "isostring", -1, "00:00:01.10", "00:00:01.1Z"),
        ("timetz", "connect", -1, "01:00:00+02", "23:00:00Z"),
        ("timestamp", "adaptive", 3, "1969-12-31 23:59:59.999", -1),
        ("timestamp", "adaptive", -1, "1969-12-31 23:59:59.999999", -1),
        ("timestamp", "microseconds", 3, "1970-01-01 00:00:00.001", 1000),
        ("timestamp", "connect", -1, "1970-01-01 00:00:00.001", EPOCH.replace(microsecond=1000, tzinfo=datetime.UTC)),
        ("timestamptz", "adaptive", 3, "2020-01-02 00:00:00+00", "2020-01-02T00:00:00.000Z"),
        ("timestamptz", "adaptive", 0, "2020-01-02 00:00:00+00", "2020-01-02T00:00:00Z"),
        ("timestamptz", "adaptive", -1, "2020-01-02 00:00:00.1+05:30", "2020-01-01T18:30:00.100000Z"),
    ],
)
def test_times_of_day_are_parsed(name: str, mode: str, modifier: int, text: str, value: object) -> None:
    assert read(name, text, modifier, time_precision_mode=mode) == value


def test_a_year_that_no_text_has() -> None:
    with pytest.raises(DataError, match="not in the years 1 to 9999"):
        read("timestamptz", "0001-01-01 00:00:00+00 BC")


@pytest.mark.parametrize(
    ("name", "text", "mode"),
    [("time", "24:00:00", "connect"), ("timetz", "24:00:00+00", "adaptive"), ("timetz", "24:00:00+02", "adaptive")],
)
def test_the_end_of_a_day_does_not_become_its_beginning(name: str, text: str, mode: str) -> None:
    with pytest.raises(DataError, match="is the end of a day"):
        read(name, text, time_precision_mode=mode)
    assert read("time", "24:00:00") == 86_400_000_000
    assert read("time", "24:00:00", time_precision_mode="isostring") == "24:00:00Z"


@pytest.mark.parametrize("mode", ["numeric", "string"])
def test_an_infinite_interval_is_refused(mode: str) -> None:
    with pytest.raises(DataError, match="is not an interval"):
        read("interval", "infinity", interval_handling_mode=mode)


def test_an_interval_beyond_64_bits_of_microseconds_is_refused() -> None:
    with pytest.raises(DataError, match=r"set interval\.handling\.mode to string"):
        read("interval", "178000000 years")
    assert read("interval", "178000000 years", interval_handling_mode="string") == "P178000000Y0M0DT0H0M0S"
