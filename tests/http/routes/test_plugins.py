"""Plugins, validation, loggers and the worker itself."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.log_levels import levels_kept
from support.rest.errors import assert_refused

SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"


def test_the_worker(api: Any) -> None:
    got = api.get("/").json()
    assert set(got) == {"version", "commit", "kafka_cluster_id"}
    assert (got["version"], got["kafka_cluster_id"]) == ("4.3.1", "the-cluster")
    assert re.fullmatch("[0-9a-f]{16}", got["commit"])


def test_health(api: Any) -> None:
    answer = api.get("/health")
    message = "Worker has completed startup and is ready to handle requests."
    assert (answer.status_code, answer.json()) == (200, {"status": "healthy", "message": message})


def test_a_worker_that_answers_is_alive_in_every_state(api: Any, cluster: Any) -> None:
    cluster.workers["one"].herder._health.degraded("topics", "The brokers are away.")
    assert (api.get("/health").status_code, api.get("/health?live=false").status_code) == (500, 500)
    alive = api.get("/health?live=true")
    message = "Worker answers requests; GET /health says in which state it is."
    assert (alive.status_code, alive.json()) == (200, {"status": "unhealthy", "message": message})


@pytest.mark.parametrize(
    ("query", "all"),
    [
        ("", False),
        ("?connectorsOnly=false", True),
        ("?connectorsOnly=FALSE", True),
        ("?connectorsOnly=no", True),
        ("?connectorsOnly=", False),
        ("?connectorsOnly", False),
        ("?connectorsOnly=True", False),
        ("?connectorsonly=false", False),
        ("?connectorsOnly=true&connectorsOnly=false", False),
    ],
)
def test_plugins_are_listed_by_kind(api: Any, query: str, all: bool) -> None:
    kinds = {plugin["type"] for plugin in api.get(f"/connector-plugins{query}").json()}
    assert (kinds > {"source", "sink"}) is all
    assert kinds >= {"source", "sink"}


@pytest.mark.parametrize("plugin", ["FileStreamSink", "FileStreamSinkConnector", SINK])
def test_the_settings_of_a_plugin(api: Any, plugin: str) -> None:
    names = [key["name"] for key in api.get(f"/connector-plugins/{plugin}/config").json()]
    assert {"file", "topics", "tasks.max"} <= set(names)


def test_the_settings_of_no_plugin(api: Any) -> None:
    answer = api.get("/connector-plugins/NoSuchPlugin/config")
    assert (answer.status_code, answer.json()["message"]) == (404, "Unknown plugin NoSuchPlugin.")


@pytest.mark.parametrize(
    "name",
    [
        "org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy",
        "NoneConnectorClientConfigOverridePolicy",
        "Principal",
        "FileConfigProvider",
    ],
)
def test_plugins_that_no_connector_configures(api: Any, name: str) -> None:
    answer = api.get(f"/connector-plugins/{name}/config")
    valid = "Valid types are sink, source, converter, header_converter, transformation, predicate."
    assert (answer.status_code, answer.json()["message"]) == (400, f"Invalid plugin class {name}. {valid}")


def test_validation(api: Any) -> None:
    answer = api.put(
        "/connector-plugins/FileStreamSink/config/validate", json={"connector.class": SINK, "tasks.max": 0}
    )
    got = answer.json()
    assert (answer.status_code, got["name"]) == (200, SINK)
    errors = {each["value"]["name"]: each["value"]["errors"] for each in got["configs"] if each["value"]["errors"]}
    assert errors["tasks.max"] == ["Invalid value 0 for configuration tasks.max: Value must be at least 1"]


def test_settings_without_effect_are_shown_if_asked_for(api: Any) -> None:
    path, config = "/connector-plugins/FileStreamSink/config/validate", {"connector.class": SINK, "task.max": 1}
    assert "penstock" not in api.put(path, json=config).json()
    (warning,) = api.put(f"{path}?penstock=true", json=config).json()["penstock"]["warnings"]
    assert warning == "'task.max' is no setting of this connector and has no effect. Did you mean 'tasks.max'?"


@pytest.mark.parametrize("body", [{}, {"connector.class": None}])
def test_validation_without_a_class(api: Any, body: dict[str, Any]) -> None:
    answer = api.put("/connector-plugins/FileStreamSink/config/validate", json=body)
    assert answer.status_code == 400
    assert answer.json()["message"].endswith(" contains no connector type")


def test_validation_of_another_class(api: Any) -> None:
    answer = api.put("/connector-plugins/FileStreamSink/config/validate", json={"connector.class": "FileStreamSource"})
    message = "Included connector type FileStreamSource does not match request type FileStreamSink"
    assert (answer.status_code, answer.json()["message"]) == (400, message)


@pytest.fixture
def logger() -> Iterator[str]:
    """A logger that nothing else uses; the root is at WARN meanwhile."""
    with levels_kept():
        logging.root.setLevel(logging.WARNING)
        yield "rest.tests"


@pytest.mark.parametrize("level", ["DEBUG", "debug", " Debug "])
@pytest.mark.parametrize("query", ["", "?scope=worker", "?scope=WORKER", "?scope=", "?scope=planet"])
def test_a_level_on_this_worker(api: Any, logger: str, level: str, query: str) -> None:
    answer = api.put(f"/admin/loggers/{logger}{query}", json={"level": level, "more": 1})
    assert (answer.status_code, answer.json()) == (200, [logger])
    assert api.get(f"/admin/loggers/{logger}").json()["level"] == "DEBUG"
    assert api.get("/admin/loggers").json()[logger]["level"] == "DEBUG"


@pytest.mark.parametrize("scope", ["cluster", "CLUSTER"])
def test_a_level_on_all_workers(api: Any, cluster: Any, logger: str, scope: str) -> None:
    answer = api.put(f"/admin/loggers/{logger}?scope={scope}", json={"level": "debug"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert (cluster.topics.config[-1].name, cluster.topics.config[-1].level) == (logger, "debug")


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"level": "LOUD"}, 404, "invalid log level 'LOUD'."),
        ({"level": "WARNING"}, 404, "invalid log level 'WARNING'."),
        ({"level": 5}, 404, "invalid log level '5'."),
        ({"level": ""}, 400, "Illegal null or empty Level name."),
        ({"level": None}, 400, "Desired 'level' parameter was not specified in request."),
        ({"Level": "INFO"}, 400, "Desired 'level' parameter was not specified in request."),
        ({}, 400, "Desired 'level' parameter was not specified in request."),
        ({"level": ["INFO"]}, 400, "'level' must be a text, not a list"),
    ],
)
@pytest.mark.parametrize("scope", ["worker", "cluster"])
def test_no_level(api: Any, logger: str, body: dict[str, Any], status: int, message: str, scope: str) -> None:
    assert_refused(api.put(f"/admin/loggers/{logger}?scope={scope}", json=body), status, message)


def test_unknown_loggers(api: Any) -> None:
    answer = api.get("/admin/loggers/no.such.logger")
    assert (answer.status_code, answer.json()["message"]) == (404, "Logger no.such.logger not found.")
