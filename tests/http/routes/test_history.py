"""``/penstock/v1/connectors/{name}/history`` and the way back."""

from __future__ import annotations

from typing import Any

from penstock.http.access.masking import mask_json

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/x"}


def test_versions_differences_and_rollback(api: Any, other: Any) -> None:
    api.put("/connectors/x/config", json=CONFIG)
    api.put("/connectors/x/config", json={**CONFIG, "topic": "u", "tasks.max": "2"})
    api.put("/connectors/x/pause")
    listed = other.get("/penstock/v1/connectors/x/history").json()["versions"]
    assert [(each["version"], each["change"], each["state"]) for each in listed] == [
        (3, "state", "PAUSED"),
        (2, "configuration", "STARTED"),
        (1, "created", "STARTED"),
    ]
    assert listed[1]["difference"] == {"added": {"tasks.max": "2"}, "changed": {"topic": ["t", "u"]}, "removed": {}}
    first = other.get("/penstock/v1/connectors/x/history/1").json()
    assert first["config"] == {**CONFIG, "name": "x"}
    compared = other.get("/penstock/v1/connectors/x/history/1/diff?from=3").json()
    assert (compared["from"], compared["to"], compared["state"]) == (3, 1, ["PAUSED", "STARTED"])
    assert compared["difference"]["removed"] == {"tasks.max": "2"}

    back = other.post("/penstock/v1/connectors/x/rollback")
    assert (back.status_code, back.json()["config"]) == (200, first["config"])
    assert api.get("/connectors/x/config").json() == first["config"]
    assert api.post("/penstock/v1/connectors/x/rollback?version=2").json()["config"]["topic"] == "u"
    api.delete("/connectors/x")
    assert api.post("/penstock/v1/connectors/x/rollback?version=1").status_code == 201


def test_missing_versions_are_refused(api: Any) -> None:
    assert api.get("/penstock/v1/connectors/none/history").json()["message"] == "There is no history of connector none"
    api.put("/connectors/x/config", json=CONFIG)
    assert "no version 7" in api.get("/penstock/v1/connectors/x/history/7").json()["message"]
    refused = api.post("/penstock/v1/connectors/x/rollback")
    assert (refused.status_code, "no other configuration" in refused.json()["message"]) == (409, True)
    assert api.post("/penstock/v1/connectors/x/rollback?version=one").status_code == 400
    assert api.post("/penstock/v1/connectors/x/rollback", json={"version": 1}).json()["message"] == (
        "A rollback has no body; its version is the query parameter version"
    )


def test_secrets_in_differences_are_masked() -> None:
    changes = {"added": {"a.password": "x"}, "changed": {"b.password": ["x", "y"], "c": ["1", "2"]}, "removed": {}}
    shown = mask_json({"version": 1, "difference": changes}, lambda config: (), {"c"})["difference"]
    masked = {"b.password": ["[hidden]", "[hidden]"], "c": ["[hidden]", "[hidden]"]}
    assert shown == {"added": {"a.password": "[hidden]"}, "changed": masked, "removed": {}}
