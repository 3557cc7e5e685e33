"""The JSON documents of the REST interface as schemas (JSON Schema 2020-12)."""

from __future__ import annotations

from penstock.core.model.urgency import STATES
from penstock.http.openapi.forms import (
    FIGURE_OR_NULL,
    KIND,
    NUMBER,
    NUMBER_OR_NULL,
    OBJECT_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    TEXTS,
    Json,
    list_of,
    map_of,
    object_of,
    open_object,
    ref,
)
from penstock.http.openapi.penstock_schemas import PENSTOCK_SCHEMAS

EXAMPLE_CONFIG = {
    "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
    "tasks.max": "1",
    "file": "/tmp/lines.txt",
    "topic": "lines",
}

LEVELS = ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"]
_INSTANCE = {"state": {"enum": [*STATES, "DESTROYED"]}, "worker_id": TEXT, "trace": TEXT, "version": TEXT}
_RESTARTS = {
    "oneOf": [object_of(restarts=NUMBER, next_restart=TEXT_OR_NULL, reason=TEXT_OR_NULL), {"type": "null"}],
    "description": "What `penstock.restart.policy` has done and will do; null where it is `never`",
}
_VALUE = object_of(
    name=TEXT,
    value=TEXT_OR_NULL,
    recommended_values=list_of(TEXT_OR_NULL),
    errors=list_of(TEXT_OR_NULL),
    visible={"type": "boolean"},
)

_PLACE = open_object(
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
SCHEMAS: dict[str, Json] = {
    **PENSTOCK_SCHEMAS,
    "Error": object_of(error_code=NUMBER, message=TEXT),
    "Message": object_of(message=TEXT),
    "ServerInfo": object_of(version=TEXT, commit=TEXT, kafka_cluster_id=TEXT),
    "Health": object_of(status={"enum": ["healthy", "unhealthy", "starting"]}, message=TEXT),
    "Texts": TEXTS,
    "Config": {
        "type": "object",
        "description": "Settings. Numbers and booleans become texts.",
        "additionalProperties": {"type": ["string", "number", "boolean", "null"]},
    },
    "CreateConnector": object_of(
        "name",
        "initial_state",
        "initial_offsets",
        name={"type": ["string", "number", "boolean", "null"]},
        config=ref("Config"),
        initial_state={"enum": ["RUNNING", "PAUSED", "STOPPED", None]},
        initial_offsets={"oneOf": [list_of(ref("Offset")), {"type": "null"}]},
    ),
    "TaskId": object_of(connector=TEXT, task=NUMBER),
    "Connector": object_of(name=TEXT, config=TEXTS, tasks=list_of(ref("TaskId")), type=KIND),
    "ConnectorState": object_of("trace", "version", **_INSTANCE),
    "TaskStatus": object_of("trace", "version", id=NUMBER, **_INSTANCE),
    "ConnectorStatus": object_of(
        "penstock",
        name=TEXT,
        connector=ref("ConnectorState"),
        tasks=list_of(ref("TaskStatus")),
        type=KIND,
        penstock=object_of(
            "connector",
            connector=object_of(restart_policy=_RESTARTS),
            tasks=list_of(ref("TaskHealth")),
            unreachable=list_of(TEXT),
        ),
    ),
    "TaskHealth": object_of(
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
        stages={**map_of({"type": "number"}), "description": "The share of its time that it spends in each stage"},
        slowest_stage=TEXT_OR_NULL,
        places=list_of(_PLACE),
        sent_by={"enum": ["driver", "executors", None]},
        batch_ms_avg=FIGURE_OR_NULL,
        batch_ms_max=FIGURE_OR_NULL,
        retrying={"type": "boolean"},
        stalled={"type": "boolean"},
        last_error={"oneOf": [object_of(time=TEXT, message=TEXT), {"type": "null"}]},
        restarts=NUMBER,
        restart_policy=_RESTARTS,
    ),
    "Connectors": {
        "oneOf": [
            list_of(TEXT),
            map_of(object_of("status", "info", status=ref("ConnectorStatus"), info=ref("Connector"))),
        ]
    },
    "Tasks": list_of(object_of(id=ref("TaskId"), config=TEXTS)),
    "ActiveTopics": map_of(object_of(topics=list_of(TEXT))),
    "Offset": object_of("partition", "offset", partition=OBJECT_OR_NULL, offset=OBJECT_OR_NULL),
    "Offsets": object_of(offsets=list_of(ref("Offset"))),
    "Plugin": object_of(
        "version", "problem", **{"class": TEXT, "type": TEXT, "version": TEXT_OR_NULL, "problem": TEXT}
    ),
    "ConfigKey": object_of(
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
        dependents=list_of(TEXT),
    ),
    "ConfigInfos": object_of(
        "penstock",
        name=TEXT,
        error_count=NUMBER,
        groups=list_of(TEXT_OR_NULL),
        configs=list_of(object_of(definition={"oneOf": [ref("ConfigKey"), {"type": "null"}]}, value=_VALUE)),
        penstock=object_of(warnings=list_of(TEXT)),
    ),
    "LoggerLevel": object_of(level=TEXT, last_modified={"type": ["integer", "null"]}),
    "LoggerLevels": map_of(ref("LoggerLevel")),
    "SetLevel": open_object(level={"enum": LEVELS}),
}
