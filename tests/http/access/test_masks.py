"""A mask that is sent back keeps the value that it stands for."""

from __future__ import annotations

from typing import Any

CONFIG = {
    "connector.class": "FileStreamSource",
    "topic": "t",
    "file": "/tmp/x",
    "producer.override.ssl.key.password": "p",
}


def test_a_mask_keeps_the_old_value(api: Any, other: Any) -> None:
    assert api.put("/connectors/x/config", json=CONFIG).status_code == 201
    masked = {**CONFIG, "producer.override.ssl.key.password": "[hidden]"}
    for client in (api, other):
        assert client.put("/connectors/x/config", json={**masked, "topic": "u"}).status_code in (200, 409)
    assert api.put("/connectors/x/config", json={**masked, "topic": "u"}).status_code == 200
    patch = {"producer.override.ssl.key.password": "[hidden]", "file": "/tmp/y"}
    assert api.patch("/connectors/x/config", json=patch).status_code == 200
    shown = api.get("/connectors/x/config").json()
    assert shown == {**CONFIG, "name": "x", "topic": "u", "file": "/tmp/y"}
