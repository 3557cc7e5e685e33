"""Names of settings, classes, connectors or commands that a misspelt name may mean."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import takewhile

_CLOSE = 0.8
"""Similarity, as ``difflib`` measures it, that a name must have to be proposed; 1.0 for equal names."""
_MAX_PROPOSALS = 2


def near_misses(name: str, known: Iterable[str]) -> list[str]:
    """Return the names that differ from this one by the case of letters, by one character, or by two swapped ones."""
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
    """Return the number of equal characters at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def misspelt_prefix(name: str, prefixes: Iterable[str]) -> list[str]:
    """Return this name with the prefixes, such as ``penstock.labels.``, that its first words may mean."""
    words = name.split(".")
    found = []
    for prefix in sorted(set(prefixes)):
        count = prefix.count(".")
        head, rest = ".".join(words[:count]) + ".", ".".join(words[count:])
        if count and rest and near_misses(head, [prefix]):
            found.append(prefix + rest)
    return found


def similar(name: str, known: Collection[str]) -> list[str]:
    """Return the names most like this one, best first."""
    close = near_misses(name, known)[:_MAX_PROPOSALS]
    return close or difflib.get_close_matches(name, sorted(set(known)), _MAX_PROPOSALS, _CLOSE)


def similar_classes(name: str, classes: Iterable[str]) -> list[str]:
    """Return the full names of the classes most like this name.

    It is a full name or the last part of one, and may lack ``Connector`` at its end.
    """
    full = sorted(set(classes))
    if "." in name and (found := near_misses(name, full)):
        return found[:_MAX_PROPOSALS]
    by_last: dict[str, list[str]] = {}
    for each in full:
        last = each.rpartition(".")[2]
        for short in {last, last.removesuffix("Connector")}:
            by_last.setdefault(short, []).append(each)
    given = name.rpartition(".")[2]
    # Neither the package nor the kind at the end makes names alike: S3SinkConnector does not mean JdbcSinkConnector.
    meant = [given] if given in by_last else similar(given.removesuffix("Connector"), by_last)
    return list(dict.fromkeys(each for short in meant for each in by_last[short]))[:_MAX_PROPOSALS]


def question(names: Iterable[str]) -> str:
    """Return the end of a sentence about a misspelt name; empty if there is nothing to propose."""
    joined = "' or '".join(names)
    return f". Did you mean '{joined}'?" if joined else ""
