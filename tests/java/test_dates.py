"""Java's SimpleDateFormat; Java's own answers are in pipeline/converters/test_golden.py."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.java.dates import DateFormat
from penstock.java.errors import DatePatternError

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MOMENTS = st.integers(-11_676_096_000_000, 253_402_300_799_999).map(lambda ms: EPOCH + dt.timedelta(milliseconds=ms))


@given(MOMENTS)
def test_the_quick_way_to_format_and_the_full_one_agree(moment):
    form = DateFormat("yyyy-MM-dd'T'HH:mm:ss")
    millis = (moment - EPOCH) // dt.timedelta(milliseconds=1)
    text = form.format(moment)
    assert text == form.format_millis(millis)
    assert form.parse(text) == moment.replace(microsecond=0)
    assert form.parse_millis(text) == millis // 1000 * 1000


@given(st.integers(-(2**50), 2**50))
def test_texts_of_digits_and_those_with_words_agree(millis):
    digits, words = "yyyy-MM-dd'%T'HH:mm:ss.SSSXS", "EEE"
    assert DateFormat(digits + words).format_millis(millis) == "".join(
        DateFormat(pattern).format_millis(millis) for pattern in (digits, words)
    )


def test_texts_of_one_second_differ_in_their_milliseconds_alone():
    form = DateFormat("s.SSS")
    assert [form.format_millis(millis) for millis in (-1, 0, 7, 999, 1000)] == [
        "59.999", "0.000", "0.007", "0.999", "1.000",
    ]  # fmt: skip


@given(MOMENTS)
def test_dates_are_read_again_in_words(moment):
    form = DateFormat("EEEE, d. MMMM yyyy G, h 'o''clock' a, mm:ss.SSS XXX")
    assert form.parse(form.format(moment)) == moment


def test_years_of_two_digits_are_near():
    this_year = dt.datetime.now(dt.UTC).year
    for year in range(this_year - 79, this_year + 19):
        assert DateFormat("yy").parse(f"{year % 100:02d}").year == year


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("yyyy-nn", "Illegal pattern character 'n'"),
        ("'T", "Unterminated quote"),
        ("XXXX", "invalid ISO 8601 format: length=4"),
    ],
)
def test_patterns_that_java_refuses(pattern, message):
    with pytest.raises(DatePatternError, match=message):
        DateFormat(pattern)


@pytest.mark.parametrize("text", ["", "x", "2024", "2024-1"])
def test_texts_that_do_not_fit(text):
    with pytest.raises(ValueError, match=f'Unparseable date: "{text}"'):
        DateFormat("yyyy-MM-dd").parse(text)


@pytest.mark.parametrize(
    ("text", "days", "written"),
    [
        ("1582-10-04", -141_428, "1582-10-04 1"),
        ("1582-10-14", -141_418, "1582-10-24 2"),
        ("1582-10-15", -141_427, "1582-10-15 1"),
        ("1582-10-31", -141_411, "1582-10-31 3"),
        ("1582-10-32", -141_410, "1582-11-01 1"),
        ("1582-09-46", -141_426, "1582-10-16 1"),
        ("1581-12-400", -141_336, "1583-01-14 2"),
    ],
)
def test_the_month_in_which_the_calendar_changed(text, days, written):
    millis = DateFormat("yyyy-MM-dd").parse_millis(text)
    assert millis == days * 86_400_000
    assert DateFormat("yyyy-MM-dd F").format_millis(millis) == written


@pytest.mark.parametrize(
    ("pattern", "text", "millis"),
    [
        ("S", "1E3", 1000),
        ("S", "1E-1", 0),
        ("S", "12E-1", 1),
        ("S", "1e3", 1),
        ("S", "1E", 1),
        ("S", "1E400", 2**31 - 1),
        ("S", "0E400", 0),
        ("S", "1E-400", 0),
        ("S", "-∞", -(2**31)),
        ("H", "NaN", 0),
        ("yyyyMM", "NaN01", -62_167_392_000_000),
    ],
)
def test_numbers_are_those_of_a_number_format(pattern, text, millis):
    assert DateFormat(pattern).parse_millis(text) == millis


def test_a_negative_nan_is_no_number():
    with pytest.raises(ValueError, match='Unparseable date: "-NaN"'):
        DateFormat("yyyy").parse("-NaN")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("d MMM yyyy", "29  Feb 2024"),
        ("d MMMM", "1  February"),
        ("EEE", " Thu"),
        ("yyyy G", "2024  AD"),
        ("h a", "1  PM"),
    ],
)
def test_blanks_before_a_name_are_not_skipped(pattern, text):
    with pytest.raises(ValueError, match=f'Unparseable date: "{text}"'):
        DateFormat(pattern).parse(text)
    assert DateFormat(pattern).parse(text.replace("  ", " ").strip())


@pytest.mark.parametrize(
    ("text", "hours"), [("2024 GMT+01:00", -1), ("2024  GMT+01:00", 0), ("2024  EST", 5), ("2024  +0100", -1)]
)
def test_blanks_before_a_zone_are_skipped(text, hours):
    assert DateFormat("yyyy z").parse_millis(text) == 1_704_067_200_000 + hours * 3_600_000


@pytest.mark.parametrize(("day", "of_april"), [("4", 11), ("7", 7), ("12", 19), ("14", 14), ("0", 0), ("-3", 4)])
def test_days_of_a_week_that_it_has_not(day, of_april):
    april = (dt.datetime(2013, 4, 1, tzinfo=dt.UTC) - dt.timedelta(days=1)) + dt.timedelta(days=of_april)
    assert DateFormat("YYYY-'W'ww-u").parse(f"2013-W15-{day}") == april


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("UTC", 0), ("est", -5), ("IST", 2), ("AEST", 10), ("NPT", 5.75), ("Pacific Daylight Time", -7),
        ("Central European Time", 1), ("Eastern European Time", 3), ("UTCx", 0),
    ],
)  # fmt: skip
def test_names_of_zones(zone, hours):
    """Java takes EAST, a zone of Antarctica, for the beginning of Eastern European Time."""
    read = DateFormat("yyyy-MM-dd zzzz").parse(f"2024-07-01 {zone}")
    assert read == dt.datetime(2024, 7, 1, tzinfo=dt.UTC) - dt.timedelta(hours=hours)


@pytest.mark.parametrize("zone", ["UT", "XYZ", "Eas"])
def test_no_names_of_zones(zone):
    with pytest.raises(ValueError, match="Unparseable date"):
        DateFormat("yyyy z").parse(f"2024 {zone}")
