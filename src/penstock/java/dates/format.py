"""Java's ``SimpleDateFormat`` in UTC with English names: what TimestampConverter and TimestampRouter read and write.

Python's ``strftime`` and ``strptime`` know neither these patterns nor Java's calendar. Reading is as lenient as Java's:
the 32nd of January is the 1st of February, blanks before a field are skipped, and whatever follows the last field is
ignored. Patterns of plain digits have a fast way that falls back to the full one, and the texts of counts of
milliseconds are remembered: those of a stream are close together.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter

from penstock.java.dates.calendar import DAY, Moment
from penstock.java.dates.pattern import MILLI_DIGITS, NANO_DIGITS, Piece, parse_pattern, show
from penstock.java.dates.reader import DateReader

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
_MILLI = dt.timedelta(milliseconds=1)
_QUICK = range(
    (dt.datetime(1583, 1, 1, tzinfo=UTC) - EPOCH) // _MILLI, (dt.datetime.max.replace(tzinfo=UTC) - EPOCH) // _MILLI
)
"""Milliseconds of the years that Python's calendar has in common with Java's."""
_REMEMBERED = 1000


class DateFormat:
    """One pattern such as ``yyyy-MM-dd'T'HH:mm:ss.SSSX``. Immutable; raises DatePatternError for a pattern that Java
    refuses.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._pieces = parse_pattern(pattern)
        self.finest_unit = _finest_unit(self._pieces)
        """The milliseconds within which all moments are written alike, or less."""
        self._fractions = [piece.count for piece in self._pieces if piece.letter == "S"]
        self._millis = len(self._fractions)
        self.has_fraction = max(self._fractions, default=0) > MILLI_DIGITS
        """Whether the pattern has more than three letters S, of which ``format_nanos`` makes digits of a second."""
        self._unit = 1000 if self._millis else self.finest_unit
        self._template_pieces = _template_pieces(self._pieces) if self._millis else self._pieces
        self._quick_template = _quick_template(self._template_pieces)
        self._template_of = lru_cache(_REMEMBERED)(self._template)
        self._quick_parse = _quick_parse(self._pieces)

    def __repr__(self) -> str:
        return f"DateFormat({self.pattern!r})"

    def format(self, moment: dt.datetime) -> str:
        """The text of an aware moment, in UTC."""
        if self._quick_template is not None and moment.year > 1582 and moment.tzinfo is UTC:
            template = self._quick_template(moment)
            return self._filled(template, moment.microsecond // 1000) if self._millis else template
        return self.format_millis((moment - EPOCH) // _MILLI)

    def format_millis(self, millis: int) -> str:
        """The text of a count of milliseconds since 1970."""
        units, rest = divmod(millis, self._unit)
        template = self._template_of(units)
        return self._filled(template, rest) if self._millis else template

    def format_nanos(self, nanos: int) -> str:
        """Return the text of a count of nanoseconds since 1970. More than three letters S are digits of the second;
        Java, which knows only milliseconds, writes those with leading zeros.
        """
        seconds, rest = divmod(nanos, 10**NANO_DIGITS)
        digits = f"{rest:0{NANO_DIGITS}d}"
        shown = [digits[:count].ljust(count, "0") if count > MILLI_DIGITS else digits[:3] for count in self._fractions]
        return self._template_of(seconds) % tuple(map(int, shown))

    def _template(self, units: int) -> str:
        """The text of all moments of one unit, with places for their milliseconds if the pattern has them."""
        millis = units * self._unit
        if self._quick_template is not None and millis in _QUICK:
            return self._quick_template(EPOCH + _MILLI * millis)
        moment = Moment.of(millis)
        pieces = self._template_pieces
        return "".join([show(piece, moment) if piece.letter else piece.literal for piece in pieces])

    def _filled(self, template: str, milli: int) -> str:
        return template % ((milli,) * self._millis)

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
        return DateReader(self._pieces, text).millis()

    def parse_nanos(self, text: str) -> int:
        """Return the nanoseconds since 1970, with more than three letters S as digits of the second. Raises ValueError
        as ``parse`` does.
        """
        reader = DateReader(self._pieces, text, fractions=True)
        return reader.millis() * 10**6 + reader.nanos


_ZONES = "zZX"
_ATTRIBUTES = {"y": "year", "M": "month", "d": "day", "H": "hour", "m": "minute", "s": "second"}


def _is_text_or_short_year(piece: Piece) -> bool:
    return (piece.letter == "M" and piece.count > 2) or piece == Piece("y", 2)


def _finest_unit(pieces: list[Piece]) -> int:
    letters = {piece.letter for piece in pieces}
    units = (("S", 1), ("s", 1000), ("m", 60_000), ("HkKha", 3_600_000))
    return next((unit for shown, unit in units if not letters.isdisjoint(shown)), DAY)


def _template_pieces(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces of a format string for milliseconds."""
    return [
        Piece("", 0, f"%0{piece.count}d" if piece.letter == "S" else piece.literal.replace("%", "%%"))
        if piece.letter in ("S", "")
        else piece
        for piece in pieces
    ]


def _quick_template(pieces: list[Piece]) -> Callable[[dt.datetime], str] | None:
    """For digits only: one ``%`` of a tuple of attributes."""
    template, names = "", []
    for piece in pieces:
        if not piece.letter:
            template += piece.literal.replace("%", "%%")
        elif piece.letter in _ZONES:
            template += show(piece, Moment.of(0))
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
