"""Versions of plugins and ranges of them, in Maven's notation, which ``*.plugin.version`` settings use (KIP-891).

A plain version means exactly that one; ``latest`` means any. Java:
``PluginUtils.connectorVersionRequirement`` and Maven's ``VersionRange``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from penstock.api.errors import ConfigError

UNDEFINED_VERSION = "undefined"
"""The version of plugins that do not report one; null is the version of a plugin that is not installed."""

_QUALIFIERS = {name: rank for rank, name in enumerate(["alpha", "beta", "milestone", "rc", "snapshot", "", "sp"])}
_SHORT = {"a": "alpha", "b": "beta", "m": "milestone", "cr": "rc", "ga": "", "final": "", "release": ""}
_LONGEST = 1000
"""Digits of a number. Python makes no int of many more, and longer numbers can be compared without."""
_PART = re.compile(r"\d+|[a-z]+")
_RANGE = re.compile(r"([\[(])([^\])]*)([\])])")


def version_key(version: str) -> tuple[tuple[int, int, str], ...]:
    """What to sort versions by: numbers by value, ``alpha`` < ``beta`` < ``rc`` < ``snapshot`` < release < ``sp`` <
    others.
    """
    key: list[tuple[int, int, str]] = []
    for part in _PART.findall(version.lower()):
        if part.isdigit():
            digits = part.lstrip("0")
            short = len(digits) <= _LONGEST
            key.append((2, int(digits or "0"), "") if short else (2, 10**_LONGEST + len(digits), digits))
        else:
            _strip_zeros(key)
            name = _SHORT.get(part, part)
            rank = _QUALIFIERS.get(name)
            key.append((0, rank - 5, "") if rank is not None else (1, 0, name))
    _strip_zeros(key)
    return (*key, (0, 0, ""))


def _strip_zeros(key: list[tuple[int, int, str]]) -> None:
    """``1.0`` is ``1``, and ``1.0-rc`` is ``1-rc``."""
    while key and key[-1] in ((2, 0, ""), (0, 0, "")):
        key.pop()


@dataclass(frozen=True, slots=True)
class Restriction:
    """One interval; a bound of None is open."""

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
    """One interval or several."""

    restrictions: tuple[Restriction, ...]

    @classmethod
    def parse(cls, text: str | None) -> Self | None:
        """None for any version. Raises ConfigError, worded as Maven words it, for a text that is no range."""
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
