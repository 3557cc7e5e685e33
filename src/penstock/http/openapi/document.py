"""``GET /openapi.json``: the REST interface as OpenAPI 3.1, with the paths that the listener has."""

from __future__ import annotations

import re

from starlette.responses import Response

from penstock import KAFKA_VERSION
from penstock.core.model.messages import Reply
from penstock.http.openapi import penstock
from penstock.http.openapi.forms import Json, ref
from penstock.http.openapi.operations import answer, body, created, flag, operation, path_parameter
from penstock.http.openapi.schemas import EXAMPLE_CONFIG, SCHEMAS
from penstock.http.router import Call, Router

CREATION = {"name": "lines", "config": EXAMPLE_CONFIG, "initial_state": "RUNNING"}
OFFSETS = {"offsets": [{"partition": {"filename": "/tmp/lines.txt"}, "offset": {"position": 42}}]}


def add_route(router: Router) -> None:
    """Add the route of the document. Called after all other routes have been added."""
    made: list[Json] = []

    async def openapi(call: Call) -> Reply | Response:
        if not made:
            made.append(document(router.paths()))
        return Reply(200, made[0])

    router.add("GET", "/openapi.json", openapi, consumes=False)


def document(paths: list[tuple[str, list[str]]]) -> Json:
    """Return the OpenAPI document of these paths and methods."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Penstock: Kafka Connect's REST interface",
            "version": KAFKA_VERSION,
            "description": "Connectors, their tasks, offsets and topics, as in Kafka Connect of this version, and "
            "below `/penstock/v1` what only Penstock has.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {path: _path(path, methods) for path, methods in paths if path not in INTERNAL},
        "tags": [{"name": name, "description": description} for name, description in TAGS.items()],
        "security": [{}, *({scheme: []} for scheme in SECURITY)],
        "components": {"schemas": SCHEMAS, "securitySchemes": SECURITY},
    }


def _path(path: str, methods: list[str]) -> Json:
    item: Json = {
        method.lower(): {"operationId": operation_id(method, path), "tags": [_tag(path)], **OPERATIONS[known]}
        for method in methods
        if (known := f"{method} {path}") in OPERATIONS
    }
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return {"parameters": [PARAMETERS[name] for name in names], **item} if names else item


def operation_id(method: str, path: str) -> str:
    """Return an id such as ``getConnectorsByNameStatus``: generated clients name their methods after it."""
    words = re.sub(r"\{(\w+)\}", r"by-\1", path.removeprefix("/penstock/v1")) if path != "/" else "root"
    return method.lower() + "".join(word.capitalize() for word in re.split(r"\W", words))


def _tag(path: str) -> str:
    first = path.split("/")[1]
    tags = {"connectors": CONNECTORS, "connector-plugins": PLUGINS, "admin": LOGGERS, "penstock": OURS}
    return tags.get(first, WORKER)


CONNECTORS, PLUGINS, LOGGERS, WORKER, OURS = "Connectors", "Plugins", "Loggers", "Worker", "Penstock"
TAGS = {
    CONNECTORS: "Connectors, their tasks, offsets and topics",
    PLUGINS: "Plugins: connectors, converters, transforms and predicates",
    LOGGERS: "Levels of loggers",
    WORKER: "The worker that answers",
    OURS: "Only in Penstock, not in Java's Kafka Connect",
}
SECURITY = {
    "basic": {"type": "http", "scheme": "basic", "description": "A user and a password"},
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of the OpenID Connect provider that the worker trusts",
    },
}
"""The worker's configuration decides which of them it accepts, if any."""

NAME: Json = {"type": "string", "minLength": 1}
PARAMETERS = {
    "name": path_parameter("name", "Name of a connector, percent-encoded", NAME, "lines"),
    "task": path_parameter("task", "Number of a task", {"type": "integer", "format": "int32"}, 0),
    "plugin": path_parameter("plugin", "Class of a plugin, or its short name", NAME, "FileStreamSource"),
    "folder": path_parameter("folder", "Name of a folder of the web page", NAME, "connector"),
    "file": path_parameter("file", "Name of a file of the web page", NAME, "page.css"),
    "logger": path_parameter("logger", "Name of a logger", NAME, "org.apache.kafka.connect"),
    "partition": path_parameter("partition", "Number of a partition", {"type": "integer", "format": "int32"}, 0),
    "offset": path_parameter("offset", "An offset in it", {"type": "integer", "format": "int64"}, 42),
    "id": path_parameter("id", "ID of a bulk action", {"type": "string"}, "0f1e2d3c4b5a"),
    "version": path_parameter("version", "Number of a version", {"type": "integer", "format": "int32"}, 1),
}
EXPAND = {
    "name": "expand",
    "in": "query",
    "description": "What to show of each connector: status, info, or both; without it only the names",
    "schema": {"type": "array", "items": {"type": "string"}},
    "example": ["status", "info"],
}
SCOPE = {
    "name": "scope",
    "in": "query",
    "description": "Scope of the level: this worker (worker) or all workers (cluster)",
    "schema": {"type": "string"},
    "example": "worker",
}
VERSION = {
    "name": "version",
    "in": "query",
    "description": "A version, or a range of versions as Maven writes it",
    "schema": {"type": "string"},
}
CONFIG = body(ref("Config"), EXAMPLE_CONFIG)
OK, NO_CONTENT, ACCEPTED = "OK", "Done", "Accepted"
ONE = "/connectors/{name}"
INTERNAL = (f"{ONE}/fence",)
"""Requests between workers only."""

OPERATIONS: Json = {
    "GET /": operation("The worker and its Kafka cluster", answer(200, OK, ref("ServerInfo"))),
    "GET /health": operation(
        "Whether the worker is ready",
        answer(200, "Healthy", ref("Health")),
        answer(500, "Unhealthy", ref("Health")),
        answer(503, "Starting", ref("Health")),
        query=(flag("live", "200 whatever the state, as long as the worker's loop answers; needs no credentials"),),
    ),
    "GET /openapi.json": operation("This document", answer(200, OK, {"type": "object"})),
    "GET /metrics": {
        "summary": "Metrics in Prometheus' text format",
        "responses": {"200": {"description": OK, "content": {"text/plain": {"schema": {"type": "string"}}}}},
    },
    "GET /connectors": operation(
        "All connectors",
        answer(200, OK, ref("Connectors")),
        query=(EXPAND, flag("penstock", "With `expand=status`: also lag and retries of tasks; not in Java")),
    ),
    "POST /connectors": operation(
        "Create a connector",
        created(201, "Created", ref("Connector")),
        body=body(ref("CreateConnector"), CREATION),
    ),
    f"GET {ONE}": operation("A connector", answer(200, OK, ref("Connector"))),
    f"DELETE {ONE}": operation("Delete a connector", answer(204, NO_CONTENT)),
    f"GET {ONE}/config": operation("Its configuration", answer(200, OK, ref("Texts"))),
    f"PUT {ONE}/config": operation(
        "Replace its configuration, or create it",
        answer(200, "Replaced", ref("Connector")),
        created(201, "Created", ref("Connector")),
        body=CONFIG,
    ),
    f"PATCH {ONE}/config": operation(
        "Change single settings; null removes one",
        answer(200, OK, ref("Connector")),
        body=body(ref("Config"), {"batch.size": "500", "file": None}),
    ),
    f"GET {ONE}/status": operation(
        "Its state and that of its tasks",
        answer(200, OK, ref("ConnectorStatus")),
        query=(flag("penstock", "Also show the health of its tasks, in the field `penstock`; not in Java"),),
    ),
    f"POST {ONE}/restart": operation(
        "Restart it, and its tasks if requested",
        answer(202, ACCEPTED, ref("ConnectorStatus")),
        answer(204, NO_CONTENT),
        query=(flag("includeTasks", "Its tasks too"), flag("onlyFailed", "Only failed ones")),
    ),
    f"PUT {ONE}/pause": operation("Pause it and its tasks", answer(202, ACCEPTED)),
    f"PUT {ONE}/resume": operation("Resume it after a pause or stop", answer(202, ACCEPTED)),
    f"PUT {ONE}/stop": operation("Stop it and shut its tasks down", answer(204, NO_CONTENT)),
    f"GET {ONE}/topics": operation("The topics it has used", answer(200, OK, ref("ActiveTopics"))),
    f"PUT {ONE}/topics/reset": operation(
        "Reset the topics it has used",
        answer(200, NO_CONTENT),
    ),
    f"GET {ONE}/tasks": operation("Its tasks and their configurations", answer(200, OK, ref("Tasks"))),
    f"GET {ONE}/tasks/{{task}}/status": operation("The state of a task", answer(200, OK, ref("TaskStatus"))),
    f"POST {ONE}/tasks/{{task}}/restart": operation("Restart a task", answer(204, NO_CONTENT)),
    f"GET {ONE}/offsets": operation("Its offsets", answer(200, OK, ref("Offsets"))),
    f"PATCH {ONE}/offsets": operation(
        "Set offsets of a stopped connector", answer(200, OK, ref("Message")), body=body(ref("Offsets"), OFFSETS)
    ),
    f"DELETE {ONE}/offsets": operation("Reset all offsets of a stopped connector", answer(200, OK, ref("Message"))),
    "GET /connector-plugins": operation(
        "The available plugins",
        answer(200, OK, {"type": "array", "items": ref("Plugin")}),
        query=(
            flag("connectorsOnly", "Only connectors; true by default"),
            flag("penstock", "Also list plugins that cannot be used, each with its `problem`; not in Java"),
        ),
    ),
    "GET /connector-plugins/{plugin}/config": operation(
        "The settings of a plugin", answer(200, OK, {"type": "array", "items": ref("ConfigKey")}), query=(VERSION,)
    ),
    "PUT /connector-plugins/{plugin}/config/validate": operation(
        "Validate a configuration",
        answer(200, OK, ref("ConfigInfos")),
        body=CONFIG,
        query=(flag("penstock", "Also show settings without effect, in the field `penstock`; not in Java"),),
    ),
    "GET /admin/loggers": operation("All loggers and their levels", answer(200, OK, ref("LoggerLevels"))),
    "GET /admin/loggers/{logger}": operation("The level of a logger", answer(200, OK, ref("LoggerLevel"))),
    "PUT /admin/loggers/{logger}": operation(
        "Set the level of a logger and its descendants",
        answer(200, "The loggers whose levels changed", {"type": "array", "items": {"type": "string"}}),
        answer(204, "Sent to all workers"),
        body=body(ref("SetLevel"), {"level": "DEBUG"}),
        query=(SCOPE,),
    ),
    **penstock.OPERATIONS,
}
