"""``POST /penstock/v1/preview``: what is asked for, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model import local_requests as local

PATH = "/penstock/v1/preview"
CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


def test_a_preview_is_passed_on_as_requested(api: Any, cluster: Any) -> None:
    asked = {"name": "x", "config": {**CONFIG, "name": "x"}, "limit": 7, "partition": 0, "offset": 5, "poll": True}
    assert api.post(PATH, json=asked).json() == cluster.previewed
    assert cluster.previews == [local.Preview("x", {**CONFIG, "name": "x"}, False, 7, 0, 5, True)]


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, "A preview needs the name of the connector, which need not exist, in 'name'"),
        ({"name": 5}, "A preview needs the name of the connector, which need not exist, in 'name'"),
        ({"name": "x", "config": {}, "patch": {}}, "A preview has 'config' or 'patch', not both"),
        ({"name": "x", "config": {**CONFIG, "name": "y"}}, "The configuration is of connector y, the preview of x"),
        ({"name": "x", "patch": {"name": "y"}}, "The configuration is of connector y, the preview of x"),
        ({"name": "x", "config": []}, "'config' must be a JSON object of settings, not a list"),
        ({"name": "x", "limit": 0}, "'limit' must be a number from 1 to 100"),
        ({"name": "x", "limit": "5"}, "'limit' must be a number from 1 to 100"),
        ({"name": "x", "partition": -1}, "'partition' must be a number from 0 to 2147483647"),
        ({"name": "x", "offset": 1.5}, "'offset' must be a number from 0 to 9007199254740992"),
        ({"name": "x", "poll": "yes"}, "'poll' must be true or false"),
    ],
)
def test_invalid_previews_are_refused(api: Any, cluster: Any, given: dict[str, Any], problem: str) -> None:
    answer = api.post(PATH, json=given)
    assert (answer.status_code, answer.json()["message"]) == (400, problem)
    assert cluster.previews == []
