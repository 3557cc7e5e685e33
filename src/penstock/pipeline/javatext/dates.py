"""Java's ``SimpleDateFormat`` in UTC with English names: what TimestampConverter and TimestampRouter read and write.

Reading is as lenient as Java's: the 32nd of January is the 1st of February, blanks before a field are skipped, and
whatever follows the last field is ignored. Patterns of plain digits have a fast way that falls back to the full one.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from penstock.api.errors import ConfigError
from penstock.pipeline.javatext.calendar import DAY, Fields, Moment, days_of

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
_MILLI = dt.timedelta(milliseconds=1)

_LETTERS = "GyMdkHmsSEDFwWahKzZYuXL"
_NUMERIC = frozenset("ydkHmsSDFwWhKYu")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_ERAS = ("BC", "AD")
_HALVES = ("AM", "PM")
_ZONES = {
    "UTC": 0, "UT": 0, "Coordinated Universal Time": 0, "Greenwich Mean Time": 0, "WET": 0, "CET": 1, "MET": 1,
    "EET": 2, "WEST": 1, "CEST": 2, "MEST": 2, "EEST": 3, "BST": 1, "MSK": 3, "JST": 9, "EST": -5, "EDT": -4, "CST": -6,
    "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "AKST": -9, "AKDT": -8, "HST": -10,
}  # fmt: skip
_FIELDS = {
    "d": "DAY_OF_MONTH", "H": "HOUR_OF_DAY", "m": "MINUTE", "s": "SECOND", "S": "MILLISECOND", "D": "DAY_OF_YEAR",
    "F": "DAY_OF_WEEK_IN_MONTH", "w": "WEEK_OF_YEAR", "W": "WEEK_OF_MONTH", "K": "HOUR",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Piece:
    """A field, ``letter`` repeated ``count`` times, or, without a letter, a literal text."""

    letter: str
    count: int
    literal: str = ""


class DateFormat:
    """One pattern such as ``yyyy-MM-dd'T'HH:mm:ss.SSSX``. Immutable; raises ConfigError for a pattern that Java
    refuses.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._pieces = _parse_pattern(pattern)
        self._quick_format = _quick_format(self._pieces)
        self._quick_parse = _quick_parse(self._pieces)

    def __repr__(self) -> str:
        return f"DateFormat({self.pattern!r})"

    def format(self, moment: dt.datetime) -> str:
        """The text of an aware moment, in UTC."""
        if self._quick_format is not None and moment.year > 1582 and moment.tzinfo is UTC:
            return self._quick_format(moment)
        return self.format_millis((moment - EPOCH) // _MILLI)

    def format_millis(self, millis: int) -> str:
        """The text of a count of milliseconds since 1970."""
        moment = Moment.of(millis)
        return "".join([_show(piece, moment) if piece.letter else piece.literal for piece in self._pieces])

    def parse(self, text: str) -> dt.datetime:
        """The moment that a text names, in UTC. Raises ValueError (``Unparseable date: "…"``, as Java) if it does not
        fit.
        """
        if self._quick_parse is not None and (found := self._quick_parse(text)) is not None:
            return found
        try:
            return EPOCH + _MILLI * self.parse_millis(text)
        except OverflowError:
            raise ValueError(f'Date beyond the years 1 to 9999: "{text}"') from None

    def parse_millis(self, text: str) -> int:
        """``parse``, in milliseconds since 1970, for any year."""
        return _Reader(self._pieces, text).millis()


def _parse_pattern(pattern: str) -> list[Piece]:
    pieces: list[Piece] = []
    literal = ""
    i, end = 0, len(pattern)
    while i < end:
        char = pattern[i]
        if char == "'":
            close = i + 1
            if pattern[close : close + 1] == "'":
                literal += "'"
                i += 2
                continue
            while True:
                quote = pattern.find("'", close)
                if quote < 0:
                    raise ConfigError("Unterminated quote")
                literal += pattern[close:quote]
                if pattern[quote + 1 : quote + 2] != "'":
                    break
                literal += "'"
                close = quote + 2
            i = quote + 1
        elif char.isascii() and char.isalpha():
            if char not in _LETTERS:
                raise ConfigError(f"Illegal pattern character '{char}'")
            count = len(pattern[i:]) - len(pattern[i:].lstrip(char))
            if char == "X" and count > 3:
                raise ConfigError(f"invalid ISO 8601 format: length={count}")
            if literal:
                pieces.append(Piece("", 0, literal))
                literal = ""
            pieces.append(Piece(char, count))
            i += count
        else:
            literal += char
            i += 1
    if literal:
        pieces.append(Piece("", 0, literal))
    return pieces


def _show(piece: Piece, at: Moment) -> str:
    letter, count = piece.letter, piece.count
    match letter:
        case "G":
            return _ERAS[at.year > 0]
        case "y" | "Y":
            year = at.week_year if letter == "Y" else at.year if at.year > 0 else 1 - at.year
            return f"{year % 100:02d}" if count == 2 else f"{year:0{count}d}"
        case "M" | "L":
            name = _MONTHS[at.month - 1]
            return name if count >= 4 else name[:3] if count == 3 else f"{at.month:0{count}d}"
        case "E":
            name = _WEEKDAYS[at.weekday - 1]
            return name if count >= 4 else name[:3]
        case "a":
            return _HALVES[at.hour >= 12]
        case "z":
            return "Coordinated Universal Time" if count >= 4 else "UTC"
        case "Z":
            return "+0000"
        case "X":
            return "Z"
    return f"{_number(letter, at):0{count}d}"


def _number(letter: str, at: Moment) -> int:
    match letter:
        case "d":
            return at.day
        case "H":
            return at.hour
        case "k":
            return at.hour or 24
        case "K":
            return at.hour % 12
        case "h":
            return at.hour % 12 or 12
        case "m":
            return at.millis // 60_000 % 60
        case "s":
            return at.millis // 1000 % 60
        case "S":
            return at.millis % 1000
        case "D":
            return at.day_of_year
        case "F":
            return (at.day - 1) // 7 + 1
        case "w":
            return at.week_of_year
        case "W":
            return at.week_of_month
        case _:
            return (at.weekday + 5) % 7 + 1


_ATTRIBUTES = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second"}


def _is_text_or_short_year(piece: Piece) -> bool:
    return (piece.letter == "M" and piece.count > 2) or piece == Piece("y", 2)


def _quick_format(pieces: list[Piece]) -> Callable[[dt.datetime], str] | None:
    """For digits only: one ``%`` of a tuple of attributes."""
    template, names = "", []
    for piece in pieces:
        if not piece.letter:
            template += piece.literal.replace("%", "%%")
        elif piece.letter in _ATTRIBUTES and not _is_text_or_short_year(piece):
            template += f"%0{piece.count}d"
            names.append(_ATTRIBUTES[piece.letter])
        else:
            return None
    if not names:
        return None
    parts = attrgetter(*names)
    return lambda moment: template % parts(moment)


def _quick_parse(pieces: list[Piece]) -> Callable[[str], dt.datetime | None] | None:
    """For years of four digits and two digits each of anything else: a regular expression and a ``datetime``."""
    form, letters = "", ""
    for piece in pieces:
        if not piece.letter:
            form += re.escape(piece.literal)
        elif (piece.letter, piece.count) in (("y", 4), ("M", 2), ("d", 2), ("H", 2), ("m", 2), ("s", 2), ("S", 3)):
            form += f"([0-9]{{{piece.count}}})"
            letters += piece.letter
        else:
            return None
    if "y" not in letters or len(set(letters)) < len(letters):
        return None
    match = re.compile(form).fullmatch
    places = [letters.find(letter) for letter in "yMdHmsS"]

    def parse(text: str) -> dt.datetime | None:
        found = match(text)
        if found is None:
            return None
        groups = found.groups()
        year, month, day, *time = [int(groups[i]) if i >= 0 else -1 for i in places]
        if year <= 1582:
            return None
        hour, minute, second, milli = [max(part, 0) for part in time]
        try:
            return dt.datetime(year, abs(month), abs(day), hour, minute, second, milli * 1000, UTC)
        except ValueError:
            return None

    return parse


class _Reader:
    """One reading of one text."""

    def __init__(self, pieces: list[Piece], text: str) -> None:
        self.pieces = pieces
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

    def _failure(self) -> ValueError:
        return ValueError(f'Unparseable date: "{self.text}"')

    def _field(self, piece: Piece, following: Piece | None) -> None:
        begin = self.i
        while self.text[self.i : self.i + 1] in (" ", "\t"):
            self.i += 1
        if self.i >= len(self.text):
            raise self._failure()
        start = self.i
        match piece.letter:
            case "G":
                self.fields.set("ERA", self._name(_ERAS))
            case "M" | "L" if piece.count >= 3:
                self.fields.set("MONTH", self._name(_MONTHS, 3))
            case "E":
                self.fields.set("DAY_OF_WEEK", self._name(_WEEKDAYS, 3) + 1)
            case "a":
                self.fields.set("AM_PM", self._name(_HALVES))
            case "z" | "Z":
                self.fields.set("ZONE_OFFSET", self._zone())
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
        found = re.compile(r"-?\d+").match(self.text, self.i, end)
        if found is None:
            raise self._failure()
        self.i = found.end()
        return _int32(int(found[0]))

    def _name(self, names: tuple[str, ...], short: int = 0) -> int:
        """The place of the longest name that stands here in any case."""
        rest = self.text[self.i :].lower()
        forms = [(form, i) for i, name in enumerate(names) for form in (name, name[: short or None])]
        candidates = [(len(form), i) for form, i in forms if rest.startswith(form.lower())]
        if not candidates:
            raise self._failure()
        length, place = max(candidates)
        self.i += length
        return place

    def _zone(self) -> int:
        rest = self.text[self.i :]
        if rest[0] in "+-":
            return self._offset(colon=False)
        if rest[:3].lower() == "gmt":
            self.i += 3
            return self._offset(colon=True) if rest[3:4] in ("+", "-") else 0
        names = [name for name in _ZONES if rest.lower().startswith(name.lower())]
        if not names:
            raise self._failure()
        name = max(names, key=len)
        self.i += len(name)
        return _ZONES[name] * 3_600_000

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


def _int32(number: int) -> int:
    """``Number.intValue`` of the long, or beyond its range the double, that Java reads."""
    if -(2**63) <= number < 2**63:
        return (number + 2**31) % 2**32 - 2**31
    return 2**31 - 1 if number > 0 else -(2**31)


def _century_start() -> int:
    """80 years ago, in milliseconds since 1970."""
    now = dt.datetime.now(UTC)
    time = (now - now.replace(hour=0, minute=0, second=0, microsecond=0)) // _MILLI
    return days_of(now.year - 80, now.month, now.day) * DAY + time
