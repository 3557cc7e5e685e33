"""The patterns of ``SimpleDateFormat``: what their letters mean, and what they show of a moment."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.java.dates.calendar import Moment
from penstock.java.errors import DatePatternError

_LETTERS = "GyMdkHmsSEDFwWahKzZYuXL"
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
ERAS = ("BC", "AD")
HALVES = ("AM", "PM")
MILLI_DIGITS, NANO_DIGITS = 3, 9
"""Digits of a second that are milliseconds and nanoseconds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A field, ``letter`` repeated ``count`` times, or, without a letter, a literal text."""

    letter: str
    count: int
    literal: str = ""


def parse_pattern(pattern: str) -> list[Piece]:
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
                    raise DatePatternError("Unterminated quote")
                literal += pattern[close:quote]
                if pattern[quote + 1 : quote + 2] != "'":
                    break
                literal += "'"
                close = quote + 2
            i = quote + 1
        elif char.isascii() and char.isalpha():
            if char not in _LETTERS:
                raise DatePatternError(f"Illegal pattern character '{char}'")
            count = len(pattern[i:]) - len(pattern[i:].lstrip(char))
            if char == "X" and count > 3:
                raise DatePatternError(f"invalid ISO 8601 format: length={count}")
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


def show(piece: Piece, at: Moment) -> str:
    letter, count = piece.letter, piece.count
    match letter:
        case "G":
            return ERAS[at.year > 0]
        case "y" | "Y":
            year = at.week_year if letter == "Y" else at.year if at.year > 0 else 1 - at.year
            return f"{year % 100:02d}" if count == 2 else f"{year:0{count}d}"
        case "M" | "L":
            name = MONTHS[at.month - 1]
            return name if count >= 4 else name[:3] if count == 3 else f"{at.month:0{count}d}"
        case "E":
            name = WEEKDAYS[at.weekday - 1]
            return name if count >= 4 else name[:3]
        case "a":
            return HALVES[at.hour >= 12]
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
            return at.weekday_in_month
        case "w":
            return at.week_of_year
        case "W":
            return at.week_of_month
        case _:
            return (at.weekday + 5) % 7 + 1
