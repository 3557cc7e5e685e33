"""``POST /penstock/v1/check`` and ``…/connectors/{name}/check``: what a request must be; targets are contacted in
``tests/preview/test_target_check.py``.
"""

from __future__ import annotations

from typing import Any

import pytest

from penstock.core.model import local_requests as local

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
OF_CONFIG, OF_CONNECTOR = "/penstock/v1/check", "/penstock/v1/connectors/c/check"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"name": "c", "config": CONFIG}, local.CheckConfig("c", CONFIG)),
        ({"name": "c", "patch": {"file": None}, "seconds": 5}, local.CheckConfig("c", {"file": None}, True, 5)),
    ],
)
def test_a_check_of_a_configuration_is_passed_on(
    api: Any, cluster: Any, body: dict[str, Any], expected: local.CheckConfig
) -> None:
    answer = api.post(OF_CONFIG, json=body)
    assert (answer.status_code, answer.json()) == (200, {"connector": "c", "outcome": "ok", "steps": []})
    assert cluster.checks == [expected]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"config": CONFIG}, "needs the name of the connector"),
        ({"name": "c"}, "either 'config' or 'patch'"),
        ({"name": "c", "config": CONFIG, "patch": {}}, "either 'config' or 'patch'"),
        ({"name": "c", "config": {**CONFIG, "name": "d"}}, "of connector d, the check of c"),
        ({"name": "c", "config": CONFIG, "seconds": 46}, "'seconds' must be a number from 1 to 45"),
        ({"name": "c", "config": CONFIG, "seconds": True}, "'seconds' must be a number from 1 to 45"),
        ({"name": "c", "config": CONFIG, "host": "x"}, "unknown member 'host'"),
        ({"name": "c", "config": []}, "'config' must be a JSON object"),
    ],
)
def test_what_is_no_check_is_refused(api: Any, cluster: Any, body: dict[str, Any], sentence: str) -> None:
    answer = api.post(OF_CONFIG, json=body)
    assert answer.status_code == 400
    assert sentence in answer.json()["message"]
    assert cluster.checks == []


def test_a_check_of_a_connector(api: Any, cluster: Any) -> None:
    assert api.post(OF_CONNECTOR).status_code == 404
    api.put("/connectors/c/config", json=CONFIG)
    assert api.post(f"{OF_CONNECTOR}?seconds=500").json()["connector"] == "c"
    assert cluster.checks[-1] == local.CheckConnector("c", 45)
    assert api.get(OF_CONNECTOR).status_code == 405
