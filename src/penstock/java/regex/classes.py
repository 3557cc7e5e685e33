"""Sets of characters as Java's character classes describe them: unions, intersections, POSIX and Unicode properties."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

_LAST = sys.maxunicode


@dataclass(frozen=True, slots=True)
class CharSet:
    """Code points, as sorted ranges that neither overlap nor touch; both ends are inside."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, *ranges: tuple[int, int]) -> CharSet:
        merged: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        return cls(tuple(merged))

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet.of(*self.ranges, *other.ranges)

    def __and__(self, other: CharSet) -> CharSet:
        return (self.negated() | other.negated()).negated()

    def negated(self) -> CharSet:
        out, start = [], 0
        for first, last in self.ranges:
            if start < first:
                out.append((start, first - 1))
            start = last + 1
        if start <= _LAST:
            out.append((start, _LAST))
        return CharSet(tuple(out))

    def with_both_cases(self) -> CharSet:
        upper = self & _UPPER
        lower = self & _LOWER
        return CharSet.of(
            *self.ranges,
            *((first + 32, last + 32) for first, last in upper.ranges),
            *((first - 32, last - 32) for first, last in lower.ranges),
        )


def show_class(chars: CharSet) -> str:
    """The set as a character class of Python's ``re``."""
    if not chars.ranges:
        return "(?!)"
    return f"[{''.join(_shown(a) if a == z else f'{_shown(a)}-{_shown(z)}' for a, z in chars.ranges)}]"


def _shown(code: int) -> str:
    char = chr(code)
    if char.isascii() and char.isalnum():
        return char
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _chars(text: str) -> CharSet:
    return CharSet.of(*((ord(c), ord(c)) for c in text))


def _span(first: str, last: str) -> CharSet:
    return CharSet.of((ord(first), ord(last)))


_UPPER, _LOWER, _DIGIT = _span("A", "Z"), _span("a", "z"), _span("0", "9")
_ALPHA = _UPPER | _LOWER
_PUNCT = _span("!", "/") | _span(":", "@") | _span("[", "`") | _span("{", "~")
_SPACE = _chars(" \t\n\x0b\f\r")
_WORD = _ALPHA | _DIGIT | _chars("_")
_HORIZONTAL = _chars(" \t\xa0\u1680\u180e\u202f\u205f\u3000") | _span("\u2000", "\u200a")
_VERTICAL = _chars("\n\x0b\f\r\x85\u2028\u2029")

ESCAPED_CLASSES = {
    "d": _DIGIT,
    "D": _DIGIT.negated(),
    "s": _SPACE,
    "S": _SPACE.negated(),
    "w": _WORD,
    "W": _WORD.negated(),
    "h": _HORIZONTAL,
    "H": _HORIZONTAL.negated(),
    "v": _VERTICAL,
    "V": _VERTICAL.negated(),
}

_POSIX = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": CharSet.of((0, 127)),
    "Alpha": _ALPHA,
    "Digit": _DIGIT,
    "Alnum": _ALPHA | _DIGIT,
    "Punct": _PUNCT,
    "Graph": _ALPHA | _DIGIT | _PUNCT,
    "Print": _span(" ", "~"),
    "Blank": _chars(" \t"),
    "Cntrl": CharSet.of((0, 31), (127, 127)),
    "XDigit": _DIGIT | _span("A", "F") | _span("a", "f"),
    "Space": _SPACE,
    "L1": CharSet.of((0, 255)),
    "all": CharSet.of((0, _LAST)),
}

_CATEGORIES = (
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Zs", "Zl", "Zp", "Cc", "Cf", "Co", "Cs", "Cn",
    "Pd", "Ps", "Pe", "Pc", "Po", "Pi", "Pf", "Sm", "Sc", "Sk", "So",
)  # fmt: skip
_PREDICATES = {
    "Alphabetic": ("L", "Nl"),
    "Letter": ("L",),
    "Digit": ("Nd",),
    "Uppercase": ("Lu",),
    "Lowercase": ("Ll",),
    "Titlecase": ("Lt",),
    "Punctuation": ("P",),
    "Control": ("Cc",),
    "White_Space": ("Z",),
    "Assigned": ("L", "M", "N", "Z", "P", "S", "Cc", "Cf", "Co", "Cs"),
}
_SPACES = _SPACE | _chars("\x85")
_JAVA = {
    "javaLowerCase": "IsLowercase",
    "javaUpperCase": "IsUppercase",
    "javaDigit": "Nd",
    "javaLetter": "L",
    "javaAlphabetic": "IsAlphabetic",
    "javaTitleCase": "Lt",
}


@lru_cache(64)
def property_class(name: str) -> CharSet | None:
    """The set of ``\\p{name}``; None if this Java property is unknown here: scripts and blocks other than ASCII are."""
    if name in _POSIX:
        return _POSIX[name]
    if name in _JAVA:
        return property_class(_JAVA[name])
    if name == "javaLetterOrDigit":
        return _categories("L", "Nd")
    for prefix in ("general_category=", "gc="):
        if name.lower().startswith(prefix):
            return _category(name[len(prefix) :])
    if name.startswith("Is"):
        for predicate, categories in _PREDICATES.items():
            if name[2:].lower().replace("_", "") == predicate.lower().replace("_", ""):
                found = _categories(*categories)
                return found | _SPACES if predicate == "White_Space" else found
        return _category(name[2:])
    return _category(name)


def _categories(*names: str) -> CharSet:
    sets = [_category(name) or CharSet(()) for name in names]
    return CharSet.of(*(span for chars in sets for span in chars.ranges))


def _category(name: str) -> CharSet | None:
    """The characters of a Unicode category such as ``Lu``, or of all that begin with ``L``."""
    if name == "LC":
        names: Iterable[str] = ("Lu", "Ll", "Lt")
    elif name == "LD":
        names = ("Lu", "Ll", "Lt", "Lm", "Lo", "Nd")
    else:
        names = [known for known in _CATEGORIES if name and known.startswith(name)]
    tables = _tables()
    ranges = [span for category in names for span in tables[category]]
    return CharSet.of(*ranges) if ranges else None


@lru_cache(1)
def _tables() -> dict[str, list[tuple[int, int]]]:
    tables: dict[str, list[tuple[int, int]]] = {category: [] for category in _CATEGORIES}
    start, current = 0, unicodedata.category(chr(0))
    for code in range(1, _LAST + 1):
        category = unicodedata.category(chr(code))
        if category != current:
            tables[current].append((start, code - 1))
            start, current = code, category
    tables[current].append((start, _LAST))
    return tables
