"""Java's ``SimpleDateFormat`` in UTC with English names: what TimestampConverter and TimestampRouter read and write.

Python's ``strftime`` and ``strptime`` know neither these patterns nor Java's calendar. Reading is as lenient as Java's:
the 32nd of January is the 1st of February, blanks before a field are skipped, and whatever follows the last field is
ignored. Patterns of plain digits have a fast way that falls back to the full one.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from operator import attrgetter

from penstock.java.dates.calendar import Moment
from penstock.java.dates.pattern import Piece, parse_pattern, show
from penstock.java.dates.reader import DateReader

UTC = dt.UTC
EPOCH = dt.datetime(1970, 1, 1, tzinfo=UTC)
_MILLI = dt.timedelta(milliseconds=1)


class DateFormat:
    """One pattern such as ``yyyy-MM-dd'T'HH:mm:ss.SSSX``. Immutable; raises DatePatternError for a pattern that Java
    refuses.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._pieces = parse_pattern(pattern)
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
        return "".join([show(piece, moment) if piece.letter else piece.literal for piece in self._pieces])

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
