"""Validation errors of connectors' configurations, as Java Connect 4.3.1 reports them, with the real plugins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GOLDEN = json.loads((Path(__file__).parent / "golden" / "validation_errors.json").read_text())
SOURCE = {"connector.class": "FileStreamSource", "name": "n", "topic": "t"}


def told(case: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in case["config"].items())


@pytest.mark.parametrize("case", GOLDEN, ids=told)
def test_errors_are_those_of_java(api: Any, case: dict[str, Any]) -> None:
    config = case["config"]
    answer = api.put(f"/connector-plugins/{config['connector.class']}/config/validate", json=config)
    assert answer.status_code == 200
    found = answer.json()
    errors = {info["value"]["name"]: info["value"]["errors"] for info in found["configs"] if info["value"]["errors"]}
    assert (found["error_count"], errors) == (case["error_count"], case["errors"])


@pytest.mark.parametrize(
    ("setting", "problem"),
    [
        ({"connector.plugin.version": "[1,"}, "Unbounded range: [1,"),
        (
            {"producer.override.linger.ms": "soon"},
            "Invalid value soon for configuration linger.ms: Not a number of type LONG",
        ),
    ],
)
def test_settings_that_cannot_be_validated_are_refused(api: Any, setting: dict[str, str], problem: str) -> None:
    """Java answers the second setting with 500."""
    config = {**SOURCE, **setting}
    for answer in (
        api.put("/connector-plugins/FileStreamSource/config/validate", json=config),
        api.post("/connectors", json={"name": "n", "config": config}),
    ):
        assert (answer.status_code, answer.json()) == (400, {"error_code": 400, "message": problem})


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        ("[1,", "Invalid version specification: [1,"),
        (
            "",
            "Plugin org.apache.kafka.connect.json.JsonConverter not found that matches the version range [,], "
            "available versions: [4.3.1, 4.3.1]",
        ),
    ],
)
def test_settings_of_a_version_that_is_not_there(api: Any, version: str, problem: str) -> None:
    answer = api.get("/connector-plugins/JsonConverter/config", params={"version": version})
    assert (answer.status_code, answer.json()["message"]) == (400, problem)
