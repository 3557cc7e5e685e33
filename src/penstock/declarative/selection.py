"""Selection of connectors by name, pattern, label or state.

A label is a setting ``penstock.labels.<key>`` of a connector. Selectors are those of Kubernetes, without sets:
``team=billing,env!=prod,owner,!legacy``. ``owner=*`` is ``owner``: any value.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.errors import ConfigError
from penstock.core.config.connector import LABELS

STATES = ("RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING")
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
                raise ConfigError(f"`--selector {text}` can't be understood at `{part.strip()}`: {right}")
            value = None if found[4] == "*" else found[4]
            terms.append(_Term(found[2], value, not found[1] and found[3] != "!=", not (found[1] or found[3])))
        return cls(tuple(terms))

    def check_values(self) -> None:
        """Raise ConfigError for a label without a value, which means every connector that has the label."""
        for term in self.terms:
            if term.bare:
                raise ConfigError(
                    f"`--selector {term.key}` means all connectors that have a label `{term.key}`, whatever its value. "
                    f"Give the value, as in `-l {term.key}=VALUE`, or say that any is meant: `-l '{term.key}=*'`"
                )

    def matches(self, config: Mapping[str, str | None]) -> bool:
        return all(term.matches(config) for term in self.terms)


def is_pattern(name: str) -> bool:
    return any(character in name for character in "*?[")


def select(
    names: Iterable[str],
    connectors: Mapping[str, Mapping[str, Any]],
    selector: Selector | None = None,
    states: Iterable[str] = (),
) -> list[str]:
    """The names in ``connectors`` (as ``Client.described`` shows them) that are meant.

    A name that is no pattern is kept though there is no such connector, so that the worker says so. Without names all
    connectors are considered. Raises ConfigError for a state that there is not.
    """
    given, wanted = list(names), {state.upper() for state in states}
    if unknown := sorted(wanted - set(STATES)):
        raise ConfigError(f"`--state {unknown[0]}` is no state of a connector or task; there are {', '.join(STATES)}")
    found: dict[str, None] = {}
    for name in given or ["*"]:
        if name in connectors or (given and not is_pattern(name)):
            found[name] = None
        else:
            found |= dict.fromkeys(sorted(fnmatch.filter(connectors, name)))
    return [name for name in found if _meant(connectors.get(name), selector, wanted)]


def _meant(shown: Mapping[str, Any] | None, selector: Selector | None, states: set[str]) -> bool:
    if shown is None:
        return selector is None and not states
    if selector is not None and not selector.matches(shown["info"]["config"]):
        return False
    return not states or ("status" in shown and bool(states & states_of(shown["status"])))


def states_of(status: Mapping[str, Any]) -> set[str]:
    """The states of a connector and of its tasks."""
    return {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
