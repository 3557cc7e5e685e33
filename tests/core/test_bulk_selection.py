"""Connectors that a bulk action selects."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.attention.states import Part, Watched
from penstock.core.bulk.selection import Candidate, Selection, Selector, select


def candidate(
    name: str, target: str = "STARTED", state: str = "RUNNING", kind: str = "source", **more: Any
) -> Candidate:
    config = {"connector.class": f"a.b.{kind.title()}Connector", **more.get("config", {})}
    return Candidate(Watched(name, target, 0, (Part(None, state, "w"),)), config, kind, more.get("bulk"))


KNOWN = {
    each.watched.name: each
    for each in (
        candidate("orders-in", config={"penstock.labels.team": "billing"}),
        candidate("orders-out", "PAUSED", "PAUSED", "sink", bulk="a" * 12),
        candidate("clicks", "STARTED", "FAILED", bulk="a" * 12),
        candidate("odd*"),
        candidate("odd[*]"),
    )
}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (Selection(("orders-*",)), ["orders-in", "orders-out"]),
        (Selection(("odd*",)), ["odd*"]),
        (Selection(("odd*", "orders-*"), exact=True), ["odd*", "orders-*"]),
        (Selection(("odd[*]",), exact=True), ["odd[*]"]),
        (Selection(("nobody", "cl*")), ["nobody", "clicks"]),
        (Selection(labels=Selector.parse("team=billing")), ["orders-in"]),
        (Selection(states=frozenset({"FAILED", "PAUSED"})), ["clicks", "orders-out"]),
        (Selection(types=frozenset({"sink"})), ["orders-out"]),
        (Selection(classes=("SinkConnector",)), ["orders-out"]),
        (Selection(classes=("a.b.Source*",)), ["clicks", "odd*", "odd[*]", "orders-in"]),
        (Selection(classes=("sourceconnector",)), []),
        (Selection(of="a" * 12), ["orders-out"]),
        (Selection(("cl*",), types=frozenset({"sink"})), []),
    ],
)
def test_all_that_is_given_must_match(selection: Selection, expected: list[str]) -> None:
    assert list(select(selection, KNOWN)) == expected
