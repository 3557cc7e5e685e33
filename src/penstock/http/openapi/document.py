"""``GET /openapi.json``: the REST interface as OpenAPI 3.1, with the paths that the listener has."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from penstock import KAFKA_VERSION
from penstock.core.model.messages import Reply
from penstock.http.openapi.schemas import EXAMPLE_CONFIG, SCHEMAS, ref
from penstock.http.router import Call, Router

Json = dict[str, Any]

CREATION = {"name": "lines", "config": EXAMPLE_CONFIG, "initial_state": "RUNNING"}
OFFSETS = {"offsets": [{"partition": {"filename": "/tmp/lines.txt"}, "offset": {"position": 42}}]}


def add_route(router: Router) -> None:
    """Called after all other routes have been added."""
    made: list[Json] = []

    async def openapi(call: Call) -> Reply | Response:
        if not made:
            made.append(document(router.paths()))
        return Reply(200, made[0])

    router.add("GET", "/openapi.json", openapi, consumes=False)


def document(paths: list[tuple[str, list[str]]]) -> Json:
    """``paths`` with their methods."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Kafka Connect REST interface",
            "version": KAFKA_VERSION,
            "description": "Connectors, their tasks, offsets and topics, as in Kafka Connect.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {path: _path(path, methods) for path, methods in paths if path not in INTERNAL},
        "components": {"schemas": SCHEMAS},
    }


def _path(path: str, methods: list[str]) -> Json:
    item: Json = {
        method.lower(): OPERATIONS[f"{method} {path}"] for method in methods if f"{method} {path}" in OPERATIONS
    }
    names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
    return {"parameters": [PARAMETERS[name] for name in names], **item} if names else item


def _operation(summary: str, *answers: Json, body: Json | None = None, query: tuple[Json, ...] = ()) -> Json:
    responses: Json = {"default": _content("Refused or failed", ref("Error"))}
    for answer in answers:
        responses |= answer
    operation: Json = {"summary": summary, "responses": responses}
    if query:
        operation["parameters"] = list(query)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": body}}
    return operation


def _content(description: str, schema: Json | None) -> Json:
    return {"description": description} | ({"content": {"application/json": {"schema": schema}}} if schema else {})


def _answer(status: int, description: str, schema: Json | None = None) -> Json:
    return {str(status): _content(description, schema)}


def _created(status: int, description: str, schema: Json) -> Json:
    location = {"Location": {"description": "URL of the connector", "schema": {"type": "string", "format": "uri"}}}
    return {str(status): {**_content(description, schema), "headers": location}}


def _body(schema: Json, example: Any) -> Json:
    return {"schema": schema, "example": example}


def _flag(name: str, description: str) -> Json:
    """Any spelling of true is true, and all else false, so its schema is a text."""
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string"}, "example": "true"}


def _path_parameter(name: str, description: str, schema: Json, example: Any) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
        "example": example,
    }


NAME: Json = {"type": "string", "minLength": 1}
PARAMETERS = {
    "name": _path_parameter("name", "Name of a connector, percent-encoded", NAME, "lines"),
    "task": _path_parameter("task", "Number of a task", {"type": "integer", "format": "int32"}, 0),
    "plugin": _path_parameter("plugin", "Class of a plugin, or its short name", NAME, "FileStreamSource"),
    "logger": _path_parameter("logger", "Name of a logger", NAME, "org.apache.kafka.connect"),
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
    "description": "On this worker (worker) or on all workers (cluster)",
    "schema": {"type": "string"},
    "example": "worker",
}
VERSION = {
    "name": "version",
    "in": "query",
    "description": "A version, or a range of versions as Maven writes it",
    "schema": {"type": "string"},
}
CONFIG = _body(ref("Config"), EXAMPLE_CONFIG)
OK, NO_CONTENT, ACCEPTED = "OK", "Done", "Accepted"
ONE = "/connectors/{name}"
INTERNAL = (f"{ONE}/fence",)
"""Requests between workers only."""

OPERATIONS: Json = {
    "GET /": _operation("The worker and its Kafka cluster", _answer(200, OK, ref("ServerInfo"))),
    "GET /health": _operation(
        "Whether the worker is ready",
        _answer(200, "Healthy", ref("Health")),
        _answer(500, "Unhealthy", ref("Health")),
        _answer(503, "Starting", ref("Health")),
    ),
    "GET /openapi.json": _operation("This document", _answer(200, OK, {"type": "object"})),
    "GET /metrics": {
        "summary": "Metrics in Prometheus' text format",
        "responses": {"200": {"description": OK, "content": {"text/plain": {"schema": {"type": "string"}}}}},
    },
    "GET /connectors": _operation("All connectors", _answer(200, OK, ref("Connectors")), query=(EXPAND,)),
    "POST /connectors": _operation(
        "Create a connector",
        _created(201, "Created", ref("Connector")),
        body=_body(ref("CreateConnector"), CREATION),
    ),
    f"GET {ONE}": _operation("A connector", _answer(200, OK, ref("Connector"))),
    f"DELETE {ONE}": _operation("Delete a connector", _answer(204, NO_CONTENT)),
    f"GET {ONE}/config": _operation("Its configuration", _answer(200, OK, ref("Texts"))),
    f"PUT {ONE}/config": _operation(
        "Replace its configuration, or create it",
        _answer(200, "Replaced", ref("Connector")),
        _created(201, "Created", ref("Connector")),
        body=CONFIG,
    ),
    f"PATCH {ONE}/config": _operation(
        "Change single settings; null removes one",
        _answer(200, OK, ref("Connector")),
        body=_body(ref("Config"), {"batch.size": "500", "file": None}),
    ),
    f"GET {ONE}/status": _operation(
        "Its state and that of its tasks",
        _answer(200, OK, ref("ConnectorStatus")),
        query=(_flag("penstock", "Also show the health of its tasks, in the field `penstock`; not in Java"),),
    ),
    f"POST {ONE}/restart": _operation(
        "Restart it, and its tasks if requested",
        _answer(202, ACCEPTED, ref("ConnectorStatus")),
        _answer(204, NO_CONTENT),
        query=(_flag("includeTasks", "Its tasks too"), _flag("onlyFailed", "Only failed ones")),
    ),
    f"PUT {ONE}/pause": _operation("Pause it and its tasks", _answer(202, ACCEPTED)),
    f"PUT {ONE}/resume": _operation("Resume it after a pause or stop", _answer(202, ACCEPTED)),
    f"PUT {ONE}/stop": _operation("Stop it and shut its tasks down", _answer(204, NO_CONTENT)),
    f"GET {ONE}/topics": _operation("The topics it has used", _answer(200, OK, ref("ActiveTopics"))),
    f"PUT {ONE}/topics/reset": _operation(
        "Reset the topics it has used",
        _answer(200, NO_CONTENT),
    ),
    f"GET {ONE}/tasks": _operation("Its tasks and their configurations", _answer(200, OK, ref("Tasks"))),
    f"GET {ONE}/tasks/{{task}}/status": _operation("The state of a task", _answer(200, OK, ref("TaskStatus"))),
    f"POST {ONE}/tasks/{{task}}/restart": _operation("Restart a task", _answer(204, NO_CONTENT)),
    f"GET {ONE}/offsets": _operation("Its offsets", _answer(200, OK, ref("Offsets"))),
    f"PATCH {ONE}/offsets": _operation(
        "Set offsets of a stopped connector", _answer(200, OK, ref("Message")), body=_body(ref("Offsets"), OFFSETS)
    ),
    f"DELETE {ONE}/offsets": _operation("Reset all offsets of a stopped connector", _answer(200, OK, ref("Message"))),
    "GET /connector-plugins": _operation(
        "The available plugins",
        _answer(200, OK, {"type": "array", "items": ref("Plugin")}),
        query=(_flag("connectorsOnly", "Only connectors; true if it is not given"),),
    ),
    "GET /connector-plugins/{plugin}/config": _operation(
        "The settings of a plugin", _answer(200, OK, {"type": "array", "items": ref("ConfigKey")}), query=(VERSION,)
    ),
    "PUT /connector-plugins/{plugin}/config/validate": _operation(
        "Validate a configuration", _answer(200, OK, ref("ConfigInfos")), body=CONFIG
    ),
    "GET /admin/loggers": _operation("All loggers and their levels", _answer(200, OK, ref("LoggerLevels"))),
    "GET /admin/loggers/{logger}": _operation("The level of a logger", _answer(200, OK, ref("LoggerLevel"))),
    "PUT /admin/loggers/{logger}": _operation(
        "Set the level of a logger and its descendants",
        _answer(200, "The loggers whose levels changed", {"type": "array", "items": {"type": "string"}}),
        _answer(204, "Sent to all workers"),
        body=_body(ref("SetLevel"), {"level": "DEBUG"}),
        query=(SCOPE,),
    ),
}
