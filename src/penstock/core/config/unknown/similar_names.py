"""Names that a misspelt one may mean: of settings, classes, connectors, commands."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import takewhile

_CLOSE = 0.8
"""How similar a name must be to be proposed; of ``difflib``, 1.0 for equal ones."""
_MOST = 2


def near_misses(name: str, known: Iterable[str]) -> list[str]:
    """The names from which this one differs by the case of letters, by one character, or by two that are swapped."""
    return sorted(each for each in set(known) if each != name and _slip(name.lower(), each.lower()))


def _slip(given: str, right: str) -> bool:
    if abs(len(given) - len(right)) > 1:
        return False
    start = _shared(given, right)
    given, right = given[start:], right[start:]
    end = _shared(given[::-1], right[::-1])
    given, right = given[: len(given) - end], right[: len(right) - end]
    return max(len(given), len(right)) <= 1 or (len(given) == 2 and given == right[::-1])


def _shared(one: str, other: str) -> int:
    """The number of characters at the beginning that are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def misspelt_prefix(name: str, prefixes: Iterable[str]) -> list[str]:
    """This name with the prefixes, such as ``penstock.labels.``, that its first words may mean."""
    words = name.split(".")
    found = []
    for prefix in sorted(set(prefixes)):
        count = prefix.count(".")
        head, rest = ".".join(words[:count]) + ".", ".".join(words[count:])
        if count and rest and near_misses(head, [prefix]):
            found.append(prefix + rest)
    return found


def similar(name: str, known: Collection[str]) -> list[str]:
    """The names most like this one, best first."""
    return near_misses(name, known)[:_MOST] or difflib.get_close_matches(name, sorted(set(known)), _MOST, _CLOSE)


def similar_classes(name: str, classes: Iterable[str]) -> list[str]:
    """The full names of the classes most like this one, which is a full name or the last part of one, where connectors
    may lack ``Connector``.
    """
    full = sorted(set(classes))
    if "." in name and (found := similar(name, full)):
        return found
    by_last: dict[str, list[str]] = {}
    for each in full:
        last = each.rpartition(".")[2]
        for short in {last, last.removesuffix("Connector")}:
            by_last.setdefault(short, []).append(each)
    given = name.rpartition(".")[2]
    meant = [given] if given in by_last else similar(given, by_last)
    return list(dict.fromkeys(each for short in meant for each in by_last[short]))[:_MOST]


def question(names: Iterable[str]) -> str:
    """The end of a sentence about a misspelt name; empty if nothing can be proposed."""
    joined = "' or '".join(names)
    return f". Did you mean '{joined}'?" if joined else ""
