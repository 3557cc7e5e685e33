"""Names, patterns, labels and states."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.core.bulk.selection import Selector
from penstock.declarative.selection import select


def connector(state: str = "RUNNING", task: str = "RUNNING", **labels: str) -> dict[str, Any]:
    config = {f"penstock.labels.{key}": value for key, value in labels.items()}
    return {"info": {"config": config}, "status": {"connector": {"state": state}, "tasks": [{"state": task}]}}


CONNECTORS = {
    "orders-in": connector(team="billing", env="prod"),
    "orders-out": connector(task="FAILED", team="billing", env="test"),
    "clicks": connector(state="PAUSED", task="PAUSED", team="web"),
    "odd*": connector(),
}


@pytest.mark.parametrize(
    ("names", "selector", "states", "expected"),
    [
        (["orders-*"], None, [], ["orders-in", "orders-out"]),
        (["odd*"], None, [], ["odd*"]),
        (["nobody", "clicks"], None, [], ["nobody", "clicks"]),
        ([], "team=billing", [], ["orders-in", "orders-out"]),
        ([], "team==billing,env!=prod", [], ["orders-out"]),
        ([], "env", [], ["orders-in", "orders-out"]),
        ([], "env=*", [], ["orders-in", "orders-out"]),
        ([], "env!=*", [], ["clicks", "odd*"]),
        ([], "!env", [], ["clicks", "odd*"]),
        ([], None, ["failed"], ["orders-out"]),
        (["*"], None, ["PAUSED", "FAILED"], ["clicks", "orders-out"]),
        (["orders-*"], "env=prod", ["FAILED"], []),
    ],
)
def test_select(names: list[str], selector: str | None, states: list[str], expected: list[str]) -> None:
    assert select(names, CONNECTORS, Selector.parse(selector) if selector else None, states) == expected


@pytest.mark.parametrize(("text", "refused"), [("env", True), ("team=a,env", True), ("env=*", False), ("!env", False)])
def test_a_label_without_a_value_is_known(text: str, refused: bool) -> None:
    selector = Selector.parse(text)
    if refused:
        with pytest.raises(ConfigError, match="as in `env=VALUE`, or say that any is meant"):
            selector.check_values()
    else:
        selector.check_values()


def test_a_state_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"`--state FIALED` is no state of a connector or task; there are RUNNING, "):
        select([], CONNECTORS, states=["running", "fialed"])


@pytest.mark.parametrize("text", ["", "team=", "a b", "team=x,", "!team=x", "=x"])
def test_selectors(text: str) -> None:
    if text == "team=":
        assert Selector.parse(text).matches({"penstock.labels.team": ""})
        return
    with pytest.raises(ConfigError, match="can't be understood"):
        Selector.parse(text)
