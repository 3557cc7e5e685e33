"""Selection among the connectors that a worker has described, by name, pattern, label or state."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from penstock.api.errors import ConfigError
from penstock.core.bulk.selection import Selector, named
from penstock.core.model.urgency import STATES


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
    return [name for name in named(given, connectors) if _meant(connectors.get(name), selector, wanted)]


def _meant(shown: Mapping[str, Any] | None, selector: Selector | None, states: set[str]) -> bool:
    if shown is None:
        return selector is None and not states
    if selector is not None and not selector.matches(shown["info"]["config"]):
        return False
    return not states or ("status" in shown and bool(states & states_of(shown["status"])))


def states_of(status: Mapping[str, Any]) -> set[str]:
    """The states of a connector and of its tasks."""
    return {status["connector"]["state"], *(task["state"] for task in status["tasks"])}
