"""Timestamps as texts, Unix times and types: lists in, lists out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import INT64, STRING, TIMESTAMP, struct
from penstock.pipeline import transforms
from penstock.values.logical import moment_of
from pipeline.transforms.applying import DAY, applied, values_of


def test_text_to_timestamp_and_back():
    config = {"field": "at", "format": "yyyy-MM-dd"}
    schema = struct(("at", STRING))
    batch = Batch.of("t", [{"at": "2024-02-29"}], value_schema=schema)
    moments = applied(transforms.TimestampConverterValue(), batch, **config, **{"target.type": "Timestamp"})
    assert values_of(moments) == (struct(("at", TIMESTAMP)), [{"at": DAY}])
    texts = applied(transforms.TimestampConverterValue(), moments, **config, **{"target.type": "string"})
    assert values_of(texts) == (schema, batch.values)


def test_timestamps_that_repeat():
    config = {"field": "at", "target.type": "string", "format": "ss.SSS"}
    column = [1001, None, 1001, 2002, 1001, None, 1001, 2002]
    for form in (list, lambda times: [None if time is None else moment_of(time) for time in times]):
        batch = Batch.of("t", Table.of({"at": form(column)}))
        texts = applied(transforms.TimestampConverterValue(), batch, **config)
        assert [row["at"] for row in texts.values] == [
            "01.001", None, "01.001", "02.002", "01.001", None, "01.001", "02.002",
        ]  # fmt: skip
    same = applied(transforms.TimestampConverterValue(), Batch.of("t", Table.of({"at": [7] * 3})), **config)
    assert [row["at"] for row in same.values] == ["00.007"] * 3
    inserted = applied(
        transforms.InsertFieldValue(),
        Batch.of("t", [{}] * 8, timestamps=column, value_schema=struct()),
        timestamp_field="at",
    )
    assert [row["at"] for row in inserted.values] == [None if time is None else moment_of(time) for time in column]


TIMES = st.none() | st.sampled_from([0, 1001, 2**41]) | st.datetimes(timezones=st.just(datetime.UTC))


@given(st.lists(TIMES, min_size=1, max_size=6), st.sampled_from(["string", "unix", "Date", "Time", "Timestamp"]))
def test_times_in_a_batch_of_maps_are_converted_as_each_alone_and_as_a_column(times, target):
    config = {"field": "at", "target.type": target, "format": "yyyy-MM-dd HH:mm:ss"}

    def converted(values: Any) -> list[Any]:
        return applied(transforms.TimestampConverterValue(), Batch.of("t", values), **config).values

    rows = converted([{"n": n, "at": time} for n, time in enumerate(times)])
    assert rows == [converted([{"n": n, "at": time}])[0] for n, time in enumerate(times)]
    assert rows == converted(Table(["n", "at"], [range(len(times)), times]))


@given(st.lists(st.none() | st.sampled_from(["2026-01-01", "1969-12-31"]), min_size=1, max_size=6))
def test_texts_in_a_batch_of_structs_are_converted_as_each_alone(texts):
    schema = struct(("at", STRING.with_(optional=True)))

    def converted(rows: list[Any]) -> list[Any]:
        batch = Batch.of("t", rows, value_schema=schema)
        config = {"field": "at", "target.type": "unix", "format": "yyyy-MM-dd"}
        return applied(transforms.TimestampConverterValue(), batch, **config).values

    rows = [{} if text is None else {"at": text} for text in texts]
    assert converted(rows) == [converted([row])[0] for row in rows]


class Minutes(Sequence[datetime.datetime]):
    """Another object each time that one is asked for."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, minute: Any) -> Any:
        return [datetime.datetime(1970, 1, 1, 0, each, tzinfo=datetime.UTC) for each in range(6)][minute]


def test_moments_that_are_equal_and_not_the_same():
    summer = datetime.datetime(2021, 10, 31, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    column = [summer, summer.replace(fold=1), summer]
    assert column[0] == column[1]
    batch = Batch.of("t", Table.of({"at": column}))
    converted = applied(transforms.TimestampConverterValue(), batch, field="at", target_type="string", format="H")
    assert [row["at"] for row in converted.values] == ["0", "1", "0"]
    batch = Batch.of("t", Table.of({"at": Minutes()}))
    converted = applied(transforms.TimestampConverterValue(), batch, field="at", target_type="string", format="m")
    assert [row["at"] for row in converted.values] == list("012345")


def test_a_time_of_day_with_a_zone_is_refused():
    batch = Batch.of("t", Table.of({"at": [datetime.time(12), datetime.time(12, tzinfo=datetime.UTC)]}))
    with pytest.raises(DataError, match=r"12:00:00\+00:00 has a zone"):
        applied(transforms.TimestampConverterValue(), batch, field="at", target_type="string", format="H")


def test_moments_without_a_zone_are_written_as_those_of_utc():
    batch = Batch.of("t", [datetime.datetime(2021, 10, 31, 2, 30, tzinfo=datetime.UTC).replace(tzinfo=None)])
    assert applied(transforms.TimestampConverterValue(), batch, target_type="string", format="H:m").values == ["2:30"]


@pytest.mark.parametrize("odd", [1.5, [1], True])
def test_a_value_that_is_no_timestamp_among_those_that_are(odd):
    batch = Batch.of("t", Table.of({"at": [1, 1, odd, 1]}))
    with pytest.raises(DataError, match="TimestampConverter does not support class"):
        applied(transforms.TimestampConverterValue(), batch, field="at", target_type="Timestamp")


def test_text_that_is_no_timestamp():
    with pytest.raises(DataError) as caught:
        applied(
            transforms.TimestampConverterValue(),
            Batch.of("t", ["a"], value_schema=STRING),
            target_type="unix",
            format="yyyy-MM-dd",
        )
    assert str(caught.value) == "Could not parse timestamp: value (a) does not match pattern (yyyy-MM-dd)"


@pytest.mark.parametrize(
    ("precision", "expected"), [("seconds", -1), ("milliseconds", -1999), ("nanoseconds", -1999000000)]
)
def test_unix_times_are_cut_off_towards_zero(precision, expected):
    moment = datetime.datetime(1969, 12, 31, 23, 59, 58, 1000, datetime.UTC)
    config = {"target.type": "unix", "unix.precision": precision}
    batch = applied(transforms.TimestampConverterValue(), Batch.of("t", [moment], value_schema=TIMESTAMP), **config)
    assert values_of(batch) == (INT64, [expected])


MICROS = 1_638_870_000_123_456
FINE = {"unix.precision": "microseconds", "format": "yyyy-MM-dd HH:mm:ss.SSSSSS"}


def converted(values: Any, schema: Any, **config: str) -> list[Any]:
    batch = Batch.of("t", values, value_schema=schema)
    return list(applied(transforms.TimestampConverterValue(), batch, **config).values)


@pytest.mark.parametrize(
    ("precision", "pattern", "time", "text"),
    [
        ("microseconds", "ss.SSSSSS", MICROS, "00.123456"),
        ("microseconds", "ss.SSSSSS", MICROS + 5, "00.123461"),
        ("microseconds", "ss.SSSSSSSSS", MICROS, "00.123456000"),
        ("microseconds", "ss.SSSS", MICROS, "00.1234"),
        ("microseconds", "ss.SSS", MICROS, "00.123"),
        ("microseconds", "ss.SSSSSS", -1, "59.999999"),
        ("nanoseconds", "ss.SSSSSSSSS", MICROS * 1000 + 789, "00.123456789"),
        ("milliseconds", "ss.SSSSSS", MICROS // 1000, "00.000123"),
    ],
)
def test_unix_times_finer_than_milliseconds_keep_their_digits_in_texts(precision, pattern, time, text):
    config = {"target.type": "string", "unix.precision": precision, "format": pattern}
    assert converted([time], INT64, **config) == [text]
    assert converted([time, time, None], None, **config) == [text, text, None]


def test_texts_with_digits_finer_than_milliseconds_become_the_same_unix_times():
    text = "2021-12-07 09:40:00.123456"
    assert converted([MICROS], INT64, **FINE, **{"target.type": "string"}) == [text]
    assert converted([text], STRING, **FINE, **{"target.type": "unix"}) == [MICROS]
    assert converted([text], STRING, **FINE, **{"target.type": "Timestamp"}) == [moment_of(MICROS // 1000)]
    assert converted([moment_of(MICROS // 1000)], TIMESTAMP, **FINE, **{"target.type": "string"}) == [f"{text[:-3]}000"]


@given(st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999))
def test_microseconds_survive_as_texts(time):
    (text,) = converted([time], INT64, **FINE, **{"target.type": "string"})
    if time > -12_219_292_800_000_000:  # the pattern has no era, and Java's calendar is another one before 1582
        assert converted([text], STRING, **FINE, **{"target.type": "unix"}) == [time]
    assert text.endswith(f"{time % 1_000_000:06d}")


def test_a_text_without_the_pattern_is_named():
    with pytest.raises(DataError, match=r"value \(soon\) does not match pattern \(yyyy-MM-dd HH:mm:ss.SSSSSS\)"):
        converted(["soon"], STRING, **FINE, **{"target.type": "unix"})
