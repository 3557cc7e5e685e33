"""Selection of connectors by name, pattern, label, state, class or type.

A label is a setting ``penstock.labels.<key>`` of a connector. Selectors are those of Kubernetes, without sets:
``team=billing,env!=prod,owner,!legacy``. ``owner=*`` is ``owner``: any value.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from penstock.api.errors import ConfigError
from penstock.core.attention.states import Watched
from penstock.core.config.connector import CONNECTOR_CLASS, LABELS
from penstock.core.model.state import STARTED

TYPES = ("source", "sink")
_TERM = re.compile(r"(!?)\s*([\w./-]+)\s*(?:(==|=|!=)\s*([^\s]*))?")


@dataclass(frozen=True, slots=True)
class _Term:
    key: str
    value: str | None
    """None for any value."""
    wanted: bool
    bare: bool
    """Whether the text has only the key, where a value may have been forgotten."""

    def matches(self, config: Mapping[str, str | None]) -> bool:
        found = config.get(LABELS + self.key)
        has = found is not None if self.value is None else found == self.value
        return has == self.wanted


@dataclass(frozen=True, slots=True)
class Selector:
    """All of its terms must hold."""

    terms: tuple[_Term, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises ConfigError."""
        terms = []
        for part in text.split(","):
            found = _TERM.fullmatch(part.strip())
            if found is None or (found[1] and found[3]):
                right = "expected terms such as `team=billing`, `env!=prod`, `owner`, `!legacy`, separated by commas"
                raise ConfigError(f"The labels `{text}` can't be understood at `{part.strip()}`: {right}")
            value = None if found[4] == "*" else found[4]
            terms.append(_Term(found[2], value, not found[1] and found[3] != "!=", not (found[1] or found[3])))
        return cls(tuple(terms))

    def check_values(self) -> None:
        """Raise ConfigError for a label without a value, which means every connector that has the label."""
        for term in self.terms:
            if term.bare:
                raise ConfigError(
                    f"The labels `{term.key}` mean all connectors that have a label `{term.key}`, whatever its value. "
                    f"Give the value, as in `{term.key}=VALUE`, or say that any is meant: `{term.key}=*`"
                )

    def matches(self, config: Mapping[str, str | None]) -> bool:
        return all(term.matches(config) for term in self.terms)


def is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


def named(names: Collection[str], known: Collection[str], exact: bool = False) -> list[str]:
    """Return the connectors that names and patterns mean; all without any. ``exact``: all are names.

    A name that is no pattern is kept though there is no such connector. A connector whose own name looks like a pattern
    is meant by that alone.
    """
    found: dict[str, None] = {}
    for name in names or ["*"]:
        if name in known or (names and (exact or not is_pattern(name))):
            found[name] = None
        else:
            found |= dict.fromkeys(sorted(fnmatch.filter(known, name)))
    return list(found)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A connector that may be selected."""

    watched: Watched
    config: Mapping[str, str]
    kind: str = "unknown"
    """Type: source, sink or unknown."""
    bulk: str | None = None
    """ID of the bulk action that has paused or stopped it, if one did so last."""
    applied: bool = True
    """Whether the configurations of its tasks were made from its present configuration."""


@dataclass(frozen=True, slots=True)
class Selection:
    """All that is given must match."""

    names: tuple[str, ...] = ()
    labels: Selector | None = None
    states: frozenset[str] = frozenset()
    """States of which the connector or a task has one."""
    classes: tuple[str, ...] = ()
    """Classes, or patterns of them, with or without their packages."""
    types: frozenset[str] = frozenset()
    of: str | None = None
    """Only those that this bulk action has paused or stopped."""
    exact: bool = False
    """Whether all ``names`` are names, though some look like patterns."""

    @property
    def needs_view(self) -> bool:
        """Whether it tells something of configurations: labels, classes and types of connectors."""
        return bool(self.labels or self.classes or self.types)

    def is_empty(self) -> bool:
        return self == Selection(exact=self.exact)

    def matches(self, candidate: Candidate) -> bool:
        """Return whether a connector that the names mean is selected."""
        if self.labels is not None and not self.labels.matches(candidate.config):
            return False
        if self.states and self.states.isdisjoint(part.state for part in candidate.watched.present()):
            return False
        if self.types and candidate.kind not in self.types:
            return False
        if not self.of_matches(candidate):
            return False
        whole = candidate.config.get(CONNECTOR_CLASS, "")
        names = (whole, whole.rpartition(".")[2])
        return not self.classes or any(fnmatch.fnmatchcase(name, each) for each in self.classes for name in names)

    def of_matches(self, candidate: Candidate) -> bool:
        return self.of is None or (candidate.bulk == self.of and candidate.watched.target != STARTED)


def select(selection: Selection, candidates: Mapping[str, Candidate]) -> Iterable[str]:
    """Yield the names of selected connectors, and given names of connectors that do not exist."""
    for name in named(selection.names, candidates, selection.exact):
        candidate = candidates.get(name)
        if candidate is None or selection.matches(candidate):
            yield name
