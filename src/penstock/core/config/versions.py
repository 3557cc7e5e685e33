"""Versions of plugins and ranges of them, in Maven's notation, which ``*.plugin.version`` settings use (KIP-891).

A plain version means exactly that one; ``latest`` means any. Java:
``PluginUtils.connectorVersionRequirement`` and Maven's ``VersionRange``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cmp_to_key
from itertools import zip_longest
from typing import Any, Self

from penstock.api.errors import ConfigError
from penstock.api.validators import Described

UNDEFINED_VERSION = "undefined"
"""Version of plugins that do not report one; null is the version of a plugin that is not installed."""

_QUALIFIERS = {name: str(rank) for rank, name in enumerate(["alpha", "beta", "milestone", "rc", "snapshot", "", "sp"])}
_SHORT = {"cr": "rc", "ga": "", "final": "", "release": ""}
_BEFORE_DIGITS = {"a": "alpha", "b": "beta", "m": "milestone"}
_PART = re.compile(r"[0-9]+|[^0-9.-]+|[.-]")
_RANGE = re.compile(r"([\[(])([^\])]*)([\])])")

_Item = tuple[int, int, str]
_DEEPER: _Item = (1, 0, "")
"""Start of a nested list, which has all that follows. It sorts after words and before numbers."""
_NOTHING: dict[int, _Item] = {0: (0, 0, _QUALIFIERS[""]), 1: _DEEPER, 2: (2, 0, "")}
"""Items to compare with where the other version has ended."""


def _word(text: str, before_digits: bool = False) -> _Item:
    name = _BEFORE_DIGITS.get(text, text) if before_digits else text
    name = _SHORT.get(name, name)
    return (0, 0, _QUALIFIERS.get(name, f"7-{name}"))


def _number(text: str) -> _Item:
    digits = text.lstrip("0")
    return (2, len(digits), digits)


def _items(version: str) -> list[_Item]:
    """Return lists of numbers and words, each at the end of the one before, without zeros at their ends.

    A hyphen begins a list, and so does a change between letters and digits: ``1.0-rc1`` is 1, (rc, (1)).
    """
    lists: list[list[_Item]] = [[]]
    parts = _PART.findall(version.lower())
    for before, part, after in zip(["-", *parts], parts, [*parts[1:], ""], strict=False):
        if part in (".", "-"):
            if before in (".", "-"):
                lists[-1].append(_NOTHING[2])
            if part == "-":
                lists.append([])
        elif part[0].isdigit():
            lists[-1].append(_number(part))
            if after not in ("", ".", "-"):
                lists.append([])
        else:
            ends = after not in (".", "-")
            if ends and lists[-1]:
                lists.append([])
            lists[-1].append(_word(part, before_digits=ends and after != ""))
            if ends:
                lists.append([])
    for each in lists:
        while each and each[-1] == _NOTHING[each[-1][0]]:
            each.pop()
    while len(lists) > 1 and not lists[-1]:
        lists.pop()
    return [item for each in lists for item in (_DEEPER, *each)][1:]


def _compare(one: list[_Item], other: list[_Item]) -> int:
    for mine, theirs in zip_longest(one, other):
        left = mine or _NOTHING[theirs[0]]
        right = theirs or _NOTHING[mine[0]]
        if left != right:
            return -1 if left < right else 1
    return 0


_key = cmp_to_key(_compare)


def version_key(version: str) -> Any:
    """Return the key by which versions are sorted, as Maven does.

    Numbers are sorted by value, ``alpha`` < ``beta`` < ``milestone`` < ``rc`` < ``snapshot`` < release < ``sp`` < other
    words.

    Java: Maven's ``ComparableVersion``.
    """
    return _key(_items(version))


@dataclass(frozen=True, slots=True)
class Restriction:
    """Interval of versions; a bound of None is open."""

    low: str | None
    low_included: bool
    high: str | None
    high_included: bool

    def contains(self, version: str) -> bool:
        key = version_key(version)
        if self.low is not None:
            low = version_key(self.low)
            if key < low or (key == low and not self.low_included):
                return False
        if self.high is not None:
            high = version_key(self.high)
            if key > high or (key == high and not self.high_included):
                return False
        return True

    def __str__(self) -> str:
        start, end = "[" if self.low_included else "(", "]" if self.high_included else ")"
        return f"{start}{self.low or ''},{self.high or ''}{end}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """Range of versions: one interval or several."""

    restrictions: tuple[Restriction, ...]

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """Parse a range; None stands for any version. Raises ConfigError, in Maven's words, for other texts."""
        if text is None or text == "latest":
            return None
        text = text.strip()
        spec = text if text.startswith(("[", "(")) else f"[{text}]"
        restrictions: list[Restriction] = []
        rest = spec
        while found := _RANGE.match(rest):
            restriction = _restriction(*found.groups())
            if restrictions and not _ascending(restrictions[-1], restriction):
                raise ConfigError(f"Ranges overlap: {spec}")
            restrictions.append(restriction)
            rest = rest[found.end() :].strip().removeprefix(",").strip()
        if rest.startswith(("[", "(")):
            raise ConfigError(f"Unbounded range: {spec}")
        if rest:
            raise ConfigError(f"Only fully-qualified sets allowed in multiple set scenario: {spec}")
        return cls(tuple(restrictions))

    def contains(self, version: str) -> bool:
        return any(restriction.contains(version) for restriction in self.restrictions)

    def __str__(self) -> str:
        return ",".join(map(str, self.restrictions))


def _restriction(start: str, inner: str, end: str) -> Restriction:
    low, comma, high = (part.strip() for part in inner.partition(","))
    low_included, high_included = start == "[", end == "]"
    if not comma:
        if not (low_included and high_included):
            raise ConfigError(f"Single version must be surrounded by []: {start}{inner}{end}")
        return Restriction(low, True, low, True)
    if low and high:
        lowest, highest = version_key(low), version_key(high)
        if highest < lowest or (highest == lowest and not (low_included and high_included)):
            raise ConfigError(f"Range defies version ordering: {start}{inner}{end}")
    return Restriction(low or None, low_included, high or None, high_included)


def _ascending(first: Restriction, second: Restriction) -> bool:
    return first.high is None or (second.low is not None and version_key(second.low) >= version_key(first.high))


def _check_version(name: str, value: Any) -> None:
    VersionRange.parse(value)


VERSION = Described(_check_version, "a version, or a range of versions such as [1.0,2.0)")
