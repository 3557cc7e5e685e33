"""The JSON documents of the REST interface as schemas (JSON Schema 2020-12)."""

from __future__ import annotations

from typing import Any

from penstock.core.attention.rows import KINDS
from penstock.core.bulk.results import RESULTS
from penstock.core.bulk.selection import STATES as SELECTED
from penstock.core.bulk.selection import TYPES
from penstock.core.model.skips import SKIP_TARGETS
from penstock.core.status.overall import ACTIONS

Json = dict[str, Any]

EXAMPLE_CONFIG = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "tasks.max": "1",
    "file": "/tmp/lines.txt",
    "topic": "lines",
}

TEXT: Json = {"type": "string"}
TEXT_OR_NULL: Json = {"type": ["string", "null"]}
NUMBER: Json = {"type": "integer"}
NUMBER_OR_NULL: Json = {"type": ["integer", "null"]}
FIGURE_OR_NULL: Json = {"type": ["number", "null"]}
OBJECT: Json = {"type": "object"}
OBJECT_OR_NULL: Json = {"type": ["object", "null"]}
LEVELS = ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"]
STATES = ["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING", "DESTROYED"]


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _map(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


def _object(*optional: str, **members: Json) -> Json:
    """Return the schema of an object that has all of these members but the optional ones, and no others."""
    return {**_open(*optional, **members), "additionalProperties": False}


def _open(*optional: str, **members: Json) -> Json:
    """Return the schema of an object that may have other members as well."""
    required = [name for name in members if name not in optional]
    return {"type": "object", "properties": members, **({"required": required} if required else {})}


_INSTANCE = {"state": {"enum": STATES}, "worker_id": TEXT, "trace": TEXT, "version": TEXT}
_KIND = {"enum": ["source", "sink", "unknown"]}
_TEXTS = _map(TEXT)
_RESTARTS = {
    "oneOf": [_object(restarts=NUMBER, next_restart=TEXT_OR_NULL, reason=TEXT_OR_NULL), {"type": "null"}],
    "description": "What `penstock.restart.policy` has done and will do; null where it is `never`",
}
_VALUE = _object(
    name=TEXT,
    value=TEXT_OR_NULL,
    recommended_values=_list(TEXT_OR_NULL),
    errors=_list(TEXT_OR_NULL),
    visible={"type": "boolean"},
)

_PLACE = _open(
    *("topic", "partition", "source", "position", "records"),
    direction={"enum": ["from", "to"]},
    topic=TEXT,
    partition=NUMBER,
    source={**TEXT, "description": "A source partition, as JSON"},
    position=NUMBER_OR_NULL,
    records={**NUMBER_OR_NULL, "description": "Number of records sent to it"},
    end=NUMBER_OR_NULL,
    behind=NUMBER_OR_NULL,
    unit=TEXT,
    per_second=FIGURE_OR_NULL,
)
_CHANGES = _object(added=_TEXTS, changed=_map(_list(TEXT)), removed=_TEXTS)
_SKIP = _object(
    topic=TEXT,
    partition=NUMBER,
    first={**NUMBER, "description": "The offset of the first record"},
    last={**NUMBER, "description": "The offset of the last record"},
    to={"enum": [*SKIP_TARGETS]},
)
_VERSION = {
    "version": NUMBER,
    "time": TEXT,
    "principal": TEXT_OR_NULL,
    "change": {"enum": ["created", "configuration", "state", "deleted"]},
    "state": {"enum": ["STARTED", "PAUSED", "STOPPED"]},
}
_KEPT = {"enum": ["in a topic", "in memory"], "description": "In memory it begins at the worker's start"}
_EVENT = _open(
    *("task", "state", "worker", "generation", "reason", "topic", "principal"),
    time=TEXT,
    kind={"enum": ["state", "restart", "topic", "rebalance", "skip"]},
    task=NUMBER,
    state=TEXT,
    worker=TEXT,
    generation=NUMBER,
    reason=TEXT,
    topic=TEXT,
    principal=TEXT,
)

SCHEMAS: dict[str, Json] = {
    "History": _object(connector=TEXT, kept=_KEPT, versions=_list(_object(**_VERSION, difference=_CHANGES))),
    "Version": _object(connector=TEXT, **_VERSION, config={"oneOf": [_TEXTS, {"type": "null"}]}),
    "VersionDifference": _object(
        **{"connector": TEXT, "from": NUMBER_OR_NULL, "to": NUMBER, "state": _list(TEXT_OR_NULL)}, difference=_CHANGES
    ),
    "Logs": _open(
        *("connector", "unreachable", "next"),
        connector=TEXT,
        unreachable=_list(TEXT),
        next=NUMBER,
        lines=_list(
            _object(
                number=NUMBER,
                time=TEXT,
                level=TEXT,
                logger=TEXT,
                task=NUMBER_OR_NULL,
                worker=TEXT,
                message=TEXT,
            )
        ),
    ),
    "PreviewRequest": _object(
        *("config", "patch", "limit", "partition", "offset", "poll"),
        name={"type": "string", "minLength": 1},
        config={**ref("Config"), "description": "The configuration"},
        patch={**ref("Config"), "description": "Instead: changes of the connector's present configuration"},
        limit={"type": "integer", "minimum": 1, "maximum": 100},
        partition={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        offset={"type": "integer", "minimum": 0, "maximum": 2**53},
        poll={"type": "boolean", "description": "Poll a source even if it does not declare that polling is harmless"},
    ),
    "Preview": _object(kind=_KIND, records=_list(OBJECT), error=OBJECT_OR_NULL),
    "DeadLetters": _object(
        connector=TEXT,
        setting={**TEXT, "description": "The connector's setting that names the queue"},
        queue=TEXT_OR_NULL,
        kept={**NUMBER, "description": "Number of records in the queue, including those of other connectors"},
        reasons=_list(_object(stage=TEXT, exception=TEXT, **{"class": TEXT}, count=NUMBER)),
        records=_list(OBJECT),
    ),
    "DeadLetter": OBJECT,
    "ReplayRequest": _object(
        *("records", "topic", "dry_run"),
        records={"type": "array", "minItems": 1, "maxItems": 500, "items": TEXT, "description": "By default all"},
        topic={"type": "string", "minLength": 1, "description": "For records that do not name their topic"},
        dry_run={"type": "boolean", "description": "Only report what would be sent"},
    ),
    "Replayed": _object(
        connector=TEXT,
        queue=TEXT,
        dry_run={"type": "boolean"},
        replayed=_list(_object(topic=TEXT, count=NUMBER)),
        records=_list(_object(record=TEXT, topic=TEXT, partition=NUMBER_OR_NULL)),
        skipped={**NUMBER, "description": "Number of records that may not be sent where their headers say"},
        skipped_records=_list(_object(record=TEXT, reason=TEXT)),
        missing={**_list(TEXT), "description": "Records that are missing, another connector's, or already replayed"},
        complete={"type": "boolean", "description": "Whether no records are left, except missing ones"},
    ),
    "OffsetPlanRequest": _object(
        "topics",
        to={"type": "string", "description": "`earliest`, `latest`, or a time in the form of ISO 8601, UTC by default"},
        topics={**_list({"type": "string", "minLength": 1, "maxLength": 249}), "description": "By default all"},
    ),
    "OffsetPlan": _object(
        connector=TEXT,
        again={**NUMBER, "description": "Number of offsets that are read again"},
        skipped={**NUMBER, "description": "Number of offsets that are skipped"},
        offsets=_list(
            _object(
                partition={"type": "object"},
                offset={"type": "object"},
                committed={"type": ["integer", "null"], "description": "The committed offset; null if there is none"},
                again=NUMBER,
                skipped=NUMBER,
            )
        ),
    ),
    "Skips": _object(connector=TEXT, skips=_list(_SKIP)),
    "Skipped": _object(connector=TEXT, skips=_list(_SKIP), restarted={"type": "boolean"}),
    "BulkRequest": _object(
        *("connectors", "labels", "states", "classes", "types", "of", "settings", "only_failed", "wait_seconds"),
        *("exact", "dry_run"),
        action={"enum": [*ACTIONS]},
        connectors={**_list(TEXT), "description": "Names, or patterns such as `orders-*`"},
        labels={**TEXT, "description": "Terms such as `team=billing,env!=prod`, all of which must hold"},
        states={**_list({"enum": [*SELECTED]}), "description": "States of which the connector or a task has one"},
        classes={**_list(TEXT), "description": "Classes or patterns of classes, with or without their packages"},
        types=_list({"enum": [*TYPES]}),
        exact={"type": "boolean", "description": "Whether all `connectors` are names, though some look like patterns"},
        of={**TEXT, "description": "For resume: only what this bulk action has paused or stopped"},
        settings={
            **_map({"type": ["string", "number", "boolean", "null"]}),
            "description": "For set: settings with their new values, null to remove one",
        },
        only_failed={"type": "boolean", "description": "For restart: only what has failed"},
        wait_seconds={"type": "number", "description": "Time for each connector to reach its state; 60 by default"},
        dry_run={"type": "boolean"},
    ),
    "Bulk": _object(
        id={**TEXT_OR_NULL, "description": "Null for a preview"},
        action={"enum": [*ACTIONS]},
        dry_run={"type": "boolean"},
        ended={"type": "boolean"},
        connectors=_list(
            _object(
                connector=TEXT,
                state={**TEXT_OR_NULL, "description": "The overall state before; null if it is not shown"},
                result={"enum": [*RESULTS], "description": "; ".join(f"{k}: {v}" for k, v in RESULTS.items())},
                what=TEXT,
                cause={**TEXT_OR_NULL, "description": "The root cause of a failure, for those who may view it"},
            )
        ),
    ),
    "SkipRequest": _object(
        *("to", "restart"),
        topic={"type": "string", "minLength": 1, "maxLength": 249},
        partition={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        offsets={
            "type": "array",
            "minItems": 1,
            "maxItems": 100,
            "items": {
                "anyOf": [
                    {"type": "integer", "minimum": 0, "maximum": 10**18 - 1},
                    {"type": "string", "pattern": "^[0-9]{1,18}(-[0-9]{1,18})?$"},
                ]
            },
            "description": "Offsets, and ranges such as `10-12`; 1,000 records at most",
        },
        to={"enum": [*SKIP_TARGETS], "description": "By default the dead letter queue, which the connector must have"},
        restart={"type": "boolean", "description": "Whether the tasks are restarted; true by default"},
    ),
    "Events": _object(connector=TEXT, kept=_KEPT, events=_list(_EVENT)),
    "Principal": _object(
        name=TEXT_OR_NULL,
        groups=_list(TEXT),
        authentication={"enum": ["basic", "token", "certificate", "none"]},
        connector=TEXT_OR_NULL,
        actions=_list(TEXT),
        actions_on_some=_list(TEXT),
    ),
    "Attention": _open(
        *("worker_id", "version", "busy"),
        rows=_list(
            _object(
                kind={
                    "enum": list(KINDS),
                    "description": "From the most urgent to the least, as the rows. "
                    + " ".join(f"`{kind}`: {meaning}." for kind, meaning in KINDS.items()),
                },
                connector={**TEXT_OR_NULL, "description": "Null for a row about the whole group"},
                tasks={**_list(NUMBER), "description": "Numbers of tasks; none for the connector itself"},
                worker=TEXT_OR_NULL,
                since={**TEXT_OR_NULL, "description": "Null where the time is not known"},
                why=TEXT,
                next=_object(
                    text=TEXT,
                    command={**TEXT_OR_NULL, "description": "A command of `penstock`"},
                    action={**TEXT_OR_NULL, "description": "The name of a button or view of the web page"},
                ),
            )
        ),
        worker_id={**TEXT, "description": "Of the worker that answers; with `here` only, as the other two"},
        version=TEXT,
        busy={**_list(TEXT), "description": "Connectors whose tasks there have taken records lately"},
    ),
    "Workers": _object(
        leader={
            **TEXT_OR_NULL,
            "description": "Id of the leader; null while it is unknown, and for a standalone worker",
        },
        workers=_list(
            _object(
                worker_id=TEXT,
                generation={
                    **NUMBER_OR_NULL,
                    "description": "Generation of the group; null while the worker is not a member",
                },
                knows={
                    **_list(TEXT),
                    "description": "URLs of known workers: the leader knows all, others know the leader",
                },
                spark=_list(
                    _object(
                        application={"enum": ["hosted", "queries"]},
                        running={"type": "boolean"},
                        ended={**NUMBER, "description": "Number of times that it has ended unexpectedly"},
                        heap_bytes={**NUMBER_OR_NULL, "description": "Heap that its Java uses; null until reported"},
                    )
                ),
            )
        ),
        unreachable={**_list(TEXT), "description": "Ids of workers that have not replied within five seconds"},
    ),
    "Error": _object(error_code=NUMBER, message=TEXT),
    "Message": _object(message=TEXT),
    "ServerInfo": _object(version=TEXT, commit=TEXT, kafka_cluster_id=TEXT),
    "Health": _object(status={"enum": ["healthy", "unhealthy", "starting"]}, message=TEXT),
    "Texts": _TEXTS,
    "Config": {
        "type": "object",
        "description": "Settings. Numbers and booleans become texts.",
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    },
    "CreateConnector": _object(
        "name",
        "initial_state",
        "initial_offsets",
        name={"type": ["string", "number", "boolean", "null"]},
        config=ref("Config"),
        initial_state={"enum": ["RUNNING", "PAUSED", "STOPPED", None]},
        initial_offsets={"oneOf": [_list(ref("Offset")), {"type": "null"}]},
    ),
    "TaskId": _object(connector=TEXT, task=NUMBER),
    "Connector": _object(name=TEXT, config=_TEXTS, tasks=_list(ref("TaskId")), type=_KIND),
    "ConnectorState": _object("trace", "version", **_INSTANCE),
    "TaskStatus": _object("trace", "version", id=NUMBER, **_INSTANCE),
    "ConnectorStatus": _object(
        "penstock",
        name=TEXT,
        connector=ref("ConnectorState"),
        tasks=_list(ref("TaskStatus")),
        type=_KIND,
        penstock=_object(
            "connector",
            connector=_object(restart_policy=_RESTARTS),
            tasks=_list(ref("TaskHealth")),
            unreachable=_list(TEXT),
        ),
    ),
    "TaskHealth": _object(
        "records",
        "records_per_second",
        "records_waiting",
        "records_behind",
        "seconds_behind",
        "newest_record_age_seconds",
        "stages",
        "slowest_stage",
        "places",
        "sent_by",
        "batch_ms_avg",
        "batch_ms_max",
        "retrying",
        "stalled",
        "last_error",
        "restarts",
        id=NUMBER,
        records=NUMBER_OR_NULL,
        records_per_second=FIGURE_OR_NULL,
        records_waiting=NUMBER_OR_NULL,
        records_behind=NUMBER_OR_NULL,
        seconds_behind=FIGURE_OR_NULL,
        newest_record_age_seconds=FIGURE_OR_NULL,
        stages={**_map({"type": "number"}), "description": "The share of its time that it spends in each stage"},
        slowest_stage=TEXT_OR_NULL,
        places=_list(_PLACE),
        sent_by={"enum": ["driver", "executors", None]},
        batch_ms_avg=FIGURE_OR_NULL,
        batch_ms_max=FIGURE_OR_NULL,
        retrying={"type": "boolean"},
        stalled={"type": "boolean"},
        last_error={"oneOf": [_object(time=TEXT, message=TEXT), {"type": "null"}]},
        restarts=NUMBER,
        restart_policy=_RESTARTS,
    ),
    "Connectors": {
        "oneOf": [
            _list(TEXT),
            _map(_object("status", "info", status=ref("ConnectorStatus"), info=ref("Connector"))),
        ]
    },
    "Tasks": _list(_object(id=ref("TaskId"), config=_TEXTS)),
    "ActiveTopics": _map(_object(topics=_list(TEXT))),
    "Offset": _object("partition", "offset", partition=OBJECT_OR_NULL, offset=OBJECT_OR_NULL),
    "Offsets": _object(offsets=_list(ref("Offset"))),
    "Plugin": _object("version", "problem", **{"class": TEXT, "type": TEXT, "version": TEXT_OR_NULL, "problem": TEXT}),
    "ConfigKey": _object(
        name=TEXT,
        type=TEXT,
        required={"type": "boolean"},
        default_value=TEXT_OR_NULL,
        importance=TEXT,
        documentation=TEXT_OR_NULL,
        group=TEXT_OR_NULL,
        order_in_group=NUMBER,
        width=TEXT,
        display_name=TEXT_OR_NULL,
        dependents=_list(TEXT),
    ),
    "ConfigInfos": _object(
        "penstock",
        name=TEXT,
        error_count=NUMBER,
        groups=_list(TEXT_OR_NULL),
        configs=_list(_object(definition={"oneOf": [ref("ConfigKey"), {"type": "null"}]}, value=_VALUE)),
        penstock=_object(warnings=_list(TEXT)),
    ),
    "LoggerLevel": _object(level=TEXT, last_modified={"type": ["integer", "null"]}),
    "LoggerLevels": _map(ref("LoggerLevel")),
    "SetLevel": _open(level={"enum": LEVELS}),
}
