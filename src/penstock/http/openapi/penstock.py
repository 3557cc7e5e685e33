"""The operations below ``/penstock/v1``, which Java Connect does not have, and their documents."""

from __future__ import annotations

from penstock.http.openapi.forms import Json, ref
from penstock.http.openapi.operations import answer, body, content, flag, operation
from penstock.http.openapi.schemas import EXAMPLE_CONFIG
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
    _number("limit", "Maximum number of lines; 200 by default, at most 2000"),
    _number("after", "Only lines with a greater number; each worker numbers its own lines", AFTER_DIGITS),
    flag("here", "Only lines of the worker that answers"),
)


def _text(name: str, description: str, example: str) -> Json:
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": "string", "maxLength": 1000},
        "example": example,
    }


_FILE = {"200": {"description": "OK", "content": {kind: {"schema": {"type": "string"}} for kind in _PAGE}}}

OPERATIONS: Json = {
    "GET /ui": {**operation("The web page of the worker"), "responses": _FILE | _REFUSED},
    "GET /ui/{file}": {**operation("A file that the web page needs"), "responses": _FILE | _REFUSED},
    "GET /ui/{folder}/{file}": {**operation("A file that the web page needs"), "responses": _FILE | _REFUSED},
    "GET /penstock/v1/principal": operation(
        "The user, and the actions that the roles allow",
        answer(200, "OK", ref("Principal")),
        query=(_CONNECTOR,),
    ),
    "GET /penstock/v1/attention": operation(
        "What needs attention, with causes and next steps, the most urgent first",
        answer(200, "OK", ref("Attention")),
        query=(flag("here", "Only the rows that the worker that answers adds"),),
    ),
    "POST /penstock/v1/bulk": operation(
        "Take one action on many connectors, or with `dry_run` show what it would change",
        answer(200, "The preview", ref("Bulk")),
        answer(202, "Begun; `GET` with its ID shows the progress", ref("Bulk")),
        body=body(ref("BulkRequest"), {"action": "pause", "connectors": ["lines-*"], "dry_run": True}),
    ),
    "GET /penstock/v1/bulk/{id}": operation(
        "The progress of a bulk action, which is known until its worker ends",
        answer(200, "OK", ref("Bulk")),
        query=(flag("here", "Only a bulk action of the worker that answers"),),
    ),
    "GET /penstock/v1/workers": operation(
        "The workers of the group, and their Spark applications",
        answer(200, "OK", ref("Workers")),
        query=(flag("here", "Only the worker that answers"),),
    ),
    f"GET {ONE}/history": operation(
        "Versions of the configuration and target state, newest first", answer(200, "OK", ref("History"))
    ),
    f"GET {ONE}/history/{{version}}": operation("One version", answer(200, "OK", ref("Version"))),
    f"GET {ONE}/history/{{version}}/diff": operation(
        "Changes of a version",
        answer(200, "OK", ref("VersionDifference")),
        query=(_number("from", "The version to compare with; by default the one before"),),
    ),
    f"GET {ONE}/events": operation(
        "Events of a connector and its tasks, newest first",
        answer(200, "OK", ref("Events")),
        query=(_number("limit", "Maximum number of events, at most 500"),),
    ),
    f"GET {ONE}/logs": operation(
        "The last log lines of a connector and its tasks, oldest first", answer(200, "OK", ref("Logs")), query=_LINES
    ),
    f"GET {ONE}/logs/stream": {
        **operation("The last log lines and those that follow, as server-sent events", query=_LINES),
        "responses": {
            "200": {
                "description": "An event for each line, as JSON as in `logs`; `end` if the connector is deleted",
                "content": {"text/event-stream": {"schema": {"type": "string"}}},
            },
            "default": content("Refused or failed", ref("Error")),
        },
    },
    f"GET {ONE}/dead-letters": operation(
        "The last records that the connector could not process, newest first, and the reasons",
        answer(200, "OK", ref("DeadLetters")),
        query=(
            _number("limit", "Maximum number of records, in all and of each partition; 50 by default, at most 500"),
        ),
    ),
    f"GET {ONE}/dead-letters/{{partition}}/{{offset}}": operation(
        "A dead letter, with its key, value, headers and stack trace",
        answer(200, "OK", ref("DeadLetter")),
        query=(flag("decoded", "For a sink: also the result of its converters and transforms today"),),
    ),
    f"POST {ONE}/dead-letters/replay": operation(
        "Send a sink's dead letters to their original topics, each only once",
        answer(200, "OK", ref("Replayed")),
        body=body(ref("ReplayRequest"), {"records": ["dead-0-42"], "dry_run": True}),
    ),
    f"GET {ONE}/records": operation(
        "Records of a topic that a sink reads or a source has written to, decoded by the connector's converters",
        answer(200, "OK", ref("Records")),
        query=(
            _text("topic", "The topic; by default the only one. Without it, several are only listed", "orders"),
            _number("partition", "Only records of this partition"),
            _text(
                "from",
                "`latest` (the default), `earliest`, a time in the form of ISO 8601, or offsets of partitions",
                "0:1200,1:1180",
            ),
            _text("search", "Text that a record's key, value or headers must have, in any case", "4711"),
            _number("limit", "Maximum number of records; 50 by default, at most 500"),
            _number("seconds", "Time limit; 10 by default, at most 30"),
        ),
    ),
    f"POST {ONE}/offsets/plan": operation(
        "Show where a sink would begin after a reset of its offsets, and what it would read again or skip",
        answer(200, "OK; `PATCH /connectors/{name}/offsets` accepts the `offsets`", ref("OffsetPlan")),
        body=body(ref("OffsetPlanRequest"), {"to": "2026-11-30T08:00:00Z", "topics": ["orders"]}),
    ),
    f"GET {ONE}/skips": operation(
        "The records that a sink leaves out on request and has not passed yet", answer(200, "OK", ref("Skips"))
    ),
    f"POST {ONE}/skips": operation(
        "Let a sink leave out records, to its dead letter queue or to nowhere",
        answer(202, "Stored; the tasks leave the records out when they come to them", ref("Skipped")),
        body=body(ref("SkipRequest"), {"topic": "orders", "partition": 0, "offsets": [42], "to": "discard"}),
    ),
    f"DELETE {ONE}/skips": operation("Forget skips that have not taken effect", answer(204, "OK")),
    "POST /penstock/v1/preview": operation(
        "Try a configuration on real records, without writing anything",
        answer(200, "OK", ref("Preview")),
        body=body(ref("PreviewRequest"), {"name": "lines", "config": EXAMPLE_CONFIG, "limit": 5}),
    ),
    "POST /penstock/v1/check": operation(
        "Contact what a configuration names, with its credentials, without changing anything",
        answer(200, "OK", ref("Check")),
        body=body(ref("CheckRequest"), {"name": "lines", "config": EXAMPLE_CONFIG, "seconds": 30}),
    ),
    f"POST {ONE}/check": operation(
        "Contact what the connector's configuration names, with its credentials, without changing anything",
        answer(200, "OK", ref("Check")),
        query=(_number("seconds", "Time limit; 30 by default, at most 45"),),
    ),
    f"POST {ONE}/rollback": operation(
        "Restore a former configuration",
        answer(200, "OK", ref("Connector")),
        answer(201, "The deleted connector was created again", ref("Connector")),
        query=(_number("version", "The version; by default the last one with a different configuration"),),
    ),
}
