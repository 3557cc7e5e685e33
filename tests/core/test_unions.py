"""The closed unions of the control plane: every event, action and request is a member, and anything else raises."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any, cast, get_args

import pytest

from penstock.core.group import membership
from penstock.core.herder import Herder
from penstock.core.model import actions, events, tasks
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.core.model.settings import HerderSettings


def subclasses(module: ModuleType, base: type) -> set[type]:
    classes = {each for _, each in inspect.getmembers(module, inspect.isclass)}
    return {each for each in classes if issubclass(each, base) and each is not base}


@pytest.mark.parametrize("event", ["text", None, object(), tasks.SparkFigures({})])
def test_an_event_outside_of_the_union_raises_and_is_named(event: Any) -> None:
    with pytest.raises(AssertionError) as raised:
        Herder(HerderSettings(worker_id="w")).handle(event, 0)
    assert repr(event)[:80] in str(raised.value)


def test_every_request_is_a_member_of_exactly_one_union() -> None:
    parts: list[set[Any]] = [set(get_args(each)) for each in (local.LocalRequest, m.ReadRequest, m.FlowRequest)]
    assert (
        set.union(*parts, {m.RollBack})
        == set(get_args(m.Request))
        == subclasses(m, local.RequestBase) | subclasses(local, local.RequestBase)
    )
    assert sum(map(len, parts)) + 1 == len(get_args(m.Request))


def test_every_ask_is_an_action() -> None:
    asks = set(get_args(actions.Ask))
    assert asks == subclasses(actions, actions._Ask)
    assert asks < set(get_args(actions.Action))


def test_every_event_of_connectors_tasks_and_the_group_is_a_member() -> None:
    handled = set(get_args(events.Event))
    assert subclasses(events, events.ConnectorEvent) < handled
    assert subclasses(tasks, tasks.TaskEvent) < handled | set(get_args(events.Report))
    assert set(get_args(membership.GroupEvent)) < handled


def test_a_request_outside_of_the_unions_is_refused() -> None:
    """The worker's own requests never reach the herder."""
    herder = Herder(HerderSettings(worker_id="w"))
    herder.handle(events.CaughtUp(), 0)
    request = cast(m.HerderRequest, local.GetRoot())
    answers = [each for each in herder.handle(events.Submitted(1, request), 0) if isinstance(each, actions.Answer)]
    assert isinstance(answers[0].reply, m.Reply)
    assert answers[0].reply.status == 500
    assert "GetRoot" in answers[0].reply.body["message"]
