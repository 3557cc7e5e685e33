"""The operations below ``/penstock/v1``, which Java Connect does not have, and their documents."""

from __future__ import annotations

from penstock.http.openapi.schemas import EXAMPLE_CONFIG, Json, answer, body, content, flag, operation, ref
from penstock.http.routes.history import AFTER_DIGITS

ONE = "/penstock/v1/connectors/{name}"


def _number(name: str, description: str, digits: int = 9) -> Json:
    """Describe a parameter that is a number from 0 on; the schema is a text, since an empty one counts as none."""
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": "string", "pattern": f"^[0-9]{{0,{digits}}}$"},
        "example": "1",
    }


_PAGE = ("text/html", "text/css", "text/javascript", "image/svg+xml")
_REFUSED = {"default": content("Refused or failed", ref("Error"))}
_CONNECTOR = {
    "name": "connector",
    "in": "query",
    "description": "`actions` are those on this connector, which need not exist; without it those on all connectors",
    "schema": {"type": "string"},
    "example": "lines",
}
_LEVEL = {
    "name": "level",
    "in": "query",
    "description": "Only lines of this level and above",
    "schema": {"type": "string"},
    "example": "WARN",
}
_LINES = (
    _LEVEL,
    _number("task", "Only lines of this task"),
    _number("limit", "How many at most; 200 if it is not given, no more than 2000"),
    _number("after", "Only lines of a greater number; each worker has numbers of its own", AFTER_DIGITS),
    flag("here", "Only lines of the worker that answers"),
)

_FILE = {"200": {"description": "OK", "content": {kind: {"schema": {"type": "string"}} for kind in _PAGE}}}

OPERATIONS: Json = {
    "GET /ui": {**operation("The web page of the worker"), "responses": _FILE | _REFUSED},
    "GET /ui/{file}": {**operation("A file that the web page needs"), "responses": _FILE | _REFUSED},
    "GET /ui/{folder}/{file}": {**operation("A file that the web page needs"), "responses": _FILE | _REFUSED},
    "GET /penstock/v1/principal": operation(
        "Who asks, and what the roles allow them to do",
        answer(200, "OK", ref("Principal")),
        query=(_CONNECTOR,),
    ),
    "GET /penstock/v1/workers": operation(
        "The workers of the group, and their Spark applications",
        answer(200, "OK", ref("Workers")),
        query=(flag("here", "Only the worker that answers"),),
    ),
    f"GET {ONE}/history": operation(
        "The versions of its configuration and target state, newest first", answer(200, "OK", ref("History"))
    ),
    f"GET {ONE}/history/{{version}}": operation("One version", answer(200, "OK", ref("Version"))),
    f"GET {ONE}/history/{{version}}/diff": operation(
        "What a version changed",
        answer(200, "OK", ref("VersionDifference")),
        query=(_number("from", "The version to compare with; by default the one before"),),
    ),
    f"GET {ONE}/events": operation(
        "What happened to it and its tasks, newest first",
        answer(200, "OK", ref("Events")),
        query=(_number("limit", "How many at most; no more than 500"),),
    ),
    f"GET {ONE}/logs": operation(
        "The last log lines of it and its tasks, oldest first", answer(200, "OK", ref("Logs")), query=_LINES
    ),
    f"GET {ONE}/logs/stream": {
        **operation("The last log lines and those that follow, as server-sent events", query=_LINES),
        "responses": {
            "200": {
                "description": "Lines as the JSON of `logs`, one an event; `end` if the connector is deleted",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            "default": content("Refused or failed", ref("Error")),
        },
    },
    f"GET {ONE}/dead-letters": operation(
        "The last records that it could not process, newest first, and their reasons",
        answer(200, "OK", ref("DeadLetters")),
        query=(_number("limit", "How many at most, of each partition too; 50 if it is not given, no more than 500"),),
    ),
    f"GET {ONE}/dead-letters/{{partition}}/{{offset}}": operation(
        "One of them, with its key, value, headers and stack trace",
        answer(200, "OK", ref("DeadLetter")),
        query=(flag("decoded", "Of a sink: also what its converters and transforms make of the record today"),),
    ),
    f"POST {ONE}/dead-letters/replay": operation(
        "Send a sink's dead letters to where they came from, each only once",
        answer(200, "OK", ref("Replayed")),
        body=body(ref("ReplayRequest"), {"records": ["dead-0-42"], "dry_run": True}),
    ),
    "POST /penstock/v1/preview": operation(
        "Try a configuration on real records, without writing anything",
        answer(200, "OK", ref("Preview")),
        body=body(ref("PreviewRequest"), {"name": "lines", "config": EXAMPLE_CONFIG, "limit": 5}),
    ),
    f"POST {ONE}/rollback": operation(
        "Put a former configuration into effect",
        answer(200, "OK", ref("Connector")),
        answer(201, "The connector, which had been deleted, was created", ref("Connector")),
        query=(_number("version", "The version; by default the last one whose configuration is another one"),),
    ),
}
