"""Reading a text by a pattern of ``SimpleDateFormat``, as leniently as Java does."""

from __future__ import annotations

import datetime as dt
import re

from penstock.java.dates.calendar import DAY, Fields, Moment, days_of
from penstock.java.dates.pattern import ERAS, HALVES, MILLI_DIGITS, MONTHS, NANO_DIGITS, WEEKDAYS, Piece
from penstock.java.dates.zones import zone_at
from penstock.java.errors import DateParseError

_NUMERIC = frozenset("ydkHmsSDFwWhKYu")
_FIELDS = {
    "d": "DAY_OF_MONTH", "H": "HOUR_OF_DAY", "m": "MINUTE", "s": "SECOND", "S": "MILLISECOND", "D": "DAY_OF_YEAR",
    "F": "DAY_OF_WEEK_IN_MONTH", "w": "WEEK_OF_YEAR", "W": "WEEK_OF_MONTH", "K": "HOUR",
}  # fmt: skip
_NUMBER = re.compile(r"NaN|(-?)(?:∞|(\d+)(?:E(-?\d+))?)")
"""Whole numbers as ``NumberFormat`` reads them; it is not applied to the digits after a decimal point."""
_BEYOND_LONG = 10**19


class DateReader:
    """One reading of one text.

    ``fractions``: more than three letters S are digits of a second, not a number of milliseconds as in Java.
    """

    def __init__(self, pieces: list[Piece], text: str, fractions: bool = False) -> None:
        self.pieces = pieces
        self.fractions = fractions
        self.nanos = 0
        """The nanoseconds beyond the milliseconds, from a fraction."""
        self.text = text
        self.i = 0
        self.fields = Fields.empty()
        self.ambiguous_year = False

    def millis(self) -> int:
        for place, piece in enumerate(self.pieces, 1):
            if piece.letter:
                self._field(piece, self.pieces[place] if place < len(self.pieces) else None)
            elif self.text.startswith(piece.literal, self.i):
                self.i += len(piece.literal)
            else:
                raise self._failure()
        if not self.i:
            raise self._failure()
        result = self.fields.millis()
        if self.ambiguous_year and result < _century_start():
            self.fields.values["YEAR"] += 100
            result = self.fields.millis()
        return result

    def _failure(self) -> DateParseError:
        return DateParseError(f'Unparseable date: "{self.text}"')

    def _field(self, piece: Piece, following: Piece | None) -> None:
        begin = self.i
        while self.text[self.i : self.i + 1] in (" ", "\t"):
            self.i += 1
        if self.i >= len(self.text):
            raise self._failure()
        start = self.i
        match piece.letter:
            case "G":
                self.fields.set("ERA", self._name(begin, ERAS))
            case "M" | "L" if piece.count >= 3:
                self.fields.set("MONTH", self._name(begin, MONTHS, 3))
            case "E":
                self.fields.set("DAY_OF_WEEK", self._name(begin, WEEKDAYS, 3) + 1)
            case "a":
                self.fields.set("AM_PM", self._name(begin, HALVES))
            case "z" | "Z":
                self.fields.set("ZONE_OFFSET", self._zone(begin))
            case "X":
                self.fields.set("ZONE_OFFSET", self._iso_zone(piece.count))
            case _:
                value = self._digits(piece, following, begin)
                self._set_number(piece, value, self.text[start : self.i])

    def _set_number(self, piece: Piece, value: int, digits: str) -> None:
        match piece.letter:
            case "y" | "Y":
                if piece.count <= 2 and len(digits) == 2 and digits.isdecimal():
                    value = self._in_century(value)
                self.fields.set("YEAR" if piece.letter == "y" else "WEEK_YEAR", value)
            case "M" | "L":
                self.fields.set("MONTH", value - 1)
            case "k":
                self.fields.set("HOUR_OF_DAY", 0 if value == 24 else value)
            case "h":
                self.fields.set("HOUR", 0 if value == 12 else value)
            case "u":
                self.fields.set("DAY_OF_WEEK", value % 7 + 1 if 1 <= value <= 7 else value)
            case "S" if self.fractions and piece.count > MILLI_DIGITS and digits.isdecimal():
                milli, self.nanos = divmod(int(digits[:NANO_DIGITS].ljust(NANO_DIGITS, "0")), 10**6)
                self.fields.set("MILLISECOND", milli)
            case letter:
                self.fields.set(_FIELDS[letter], value)

    def _in_century(self, value: int) -> int:
        """Years of two digits lie between 80 years ago and 20 years ahead."""
        first = Moment.of(_century_start()).year
        self.ambiguous_year = value == first % 100
        return value + first // 100 * 100 + (100 if value < first % 100 else 0)

    def _digits(self, piece: Piece, following: Piece | None, begin: int) -> int:
        """A whole number; of as many digits as the pattern has letters if another number follows without a gap.

        As in Java, blanks before the digits (from ``begin``) count among these.
        """
        end = len(self.text)
        if following is not None and (
            following.letter in _NUMERIC or (following.letter in ("M", "L") and following.count <= 2)
        ):
            if begin + piece.count > end:
                raise self._failure()
            end = begin + piece.count
        found = _NUMBER.match(self.text, self.i, end)
        if found is None:
            raise self._failure()
        self.i = found.end()
        return _int32(_whole(*found.groups()))

    def _name(self, begin: int, names: tuple[str, ...], short: int = 0) -> int:
        """The place of the longest name that stands at ``begin`` in any case: as in Java without blanks before it."""
        rest = self.text[begin:].lower()
        forms = [(form, i) for i, name in enumerate(names) for form in (name, name[: short or None])]
        candidates = [(len(form), i) for form, i in forms if rest.startswith(form.lower())]
        if not candidates:
            raise self._failure()
        length, place = max(candidates)
        self.i = begin + length
        return place

    def _zone(self, begin: int) -> int:
        """``+hhmm``, ``GMT+hh:mm``, for which there must be no blanks, or a name."""
        rest = self.text[self.i :]
        if rest[0] in "+-":
            return self._offset(colon=False)
        if rest[:3].lower() == "gmt":
            self.i += 3
            return self._offset(colon=True) if rest[3:4] in ("+", "-") and begin == self.i - 3 else 0
        if (found := zone_at(self.text, self.i)) is None:
            raise self._failure()
        length, offset = found
        self.i += length
        return offset

    def _iso_zone(self, count: int) -> int:
        if self.text[self.i] == "Z":
            self.i += 1
            return 0
        return self._offset(colon=count == 3, hours_only=count == 1)

    def _offset(self, colon: bool, hours_only: bool = False) -> int:
        """``+hhmm``, ``+hh:mm`` (where a single digit of hours will do) or ``+hh``."""
        if hours_only:
            form = r"([+-])(\d\d)()"
        else:
            form = r"([+-])(\d\d?):(\d\d)" if colon else r"([+-])(\d\d)(\d\d)"
        found = re.compile(form).match(self.text, self.i)
        if found is None or int(found[2]) > 23 or int(found[3] or 0) > 59:
            raise self._failure()
        self.i = found.end()
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        return minutes * (-60_000 if found[1] == "-" else 60_000)


def _whole(sign: str | None, digits: str | None, exponent: str | None) -> int:
    """A number of this form, without what is behind its point. NaN is 0; infinity is beyond every long."""
    if sign is None:
        return 0
    if digits is None:
        size = _BEYOND_LONG
    elif (places := int(exponent or 0)) < 0:
        size = int(digits) // 10 ** min(-places, len(digits))
    else:
        size = int(digits) * 10 ** min(places, 20)
    return -size if sign else size


def _int32(number: int) -> int:
    """``Number.intValue`` of the long, or beyond its range the double, that Java reads."""
    if -(2**63) <= number < 2**63:
        return (number + 2**31) % 2**32 - 2**31
    return 2**31 - 1 if number > 0 else -(2**31)


def _century_start() -> int:
    """80 years ago, in milliseconds since 1970."""
    now = dt.datetime.now(dt.UTC)
    time = (now - now.replace(hour=0, minute=0, second=0, microsecond=0)) // dt.timedelta(milliseconds=1)
    return days_of(now.year - 80, now.month, now.day) * DAY + time
