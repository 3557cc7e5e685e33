"""Schemas of the JSON documents below ``/penstock/v1``."""

from __future__ import annotations

from penstock.core.attention.rows import KINDS
from penstock.core.bulk.results import RESULTS
from penstock.core.bulk.selection import TYPES
from penstock.core.model.skips import SKIP_TARGETS
from penstock.core.model.urgency import STATES
from penstock.core.status.overall import ACTIONS
from penstock.http.openapi.forms import (
    KIND,
    NUMBER,
    NUMBER_OR_NULL,
    OBJECT,
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

_CHANGES = object_of(added=TEXTS, changed=map_of(list_of(TEXT)), removed=TEXTS)
_SKIP = object_of(
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
_EVENT = open_object(
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
PENSTOCK_SCHEMAS: dict[str, Json] = {
    "History": object_of(connector=TEXT, kept=_KEPT, versions=list_of(object_of(**_VERSION, difference=_CHANGES))),
    "Version": object_of(connector=TEXT, **_VERSION, config={"oneOf": [TEXTS, {"type": "null"}]}),
    "VersionDifference": object_of(
        **{"connector": TEXT, "from": NUMBER_OR_NULL, "to": NUMBER, "state": list_of(TEXT_OR_NULL)}, difference=_CHANGES
    ),
    "Logs": open_object(
        *("connector", "unreachable", "next"),
        connector=TEXT,
        unreachable=list_of(TEXT),
        next=NUMBER,
        lines=list_of(
            object_of(
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
    "PreviewRequest": object_of(
        *("config", "patch", "limit", "partition", "offset", "poll"),
        name={"type": "string", "minLength": 1},
        config={**ref("Config"), "description": "The configuration"},
        patch={**ref("Config"), "description": "Instead: changes of the connector's present configuration"},
        limit={"type": "integer", "minimum": 1, "maximum": 100},
        partition={"type": "integer", "minimum": 0, "maximum": 2**31 - 1},
        offset={"type": "integer", "minimum": 0, "maximum": 2**53},
        poll={"type": "boolean", "description": "Poll a source even if it does not declare that polling is harmless"},
    ),
    "CheckRequest": object_of(
        *("config", "patch", "seconds"),
        name={"type": "string", "minLength": 1},
        config={**ref("Config"), "description": "The configuration; either this or `patch`"},
        patch={**ref("Config"), "description": "Changes of the connector's present configuration"},
        seconds={"type": "integer", "minimum": 1, "maximum": 45},
    ),
    "Check": object_of(
        connector=TEXT,
        outcome={"enum": ["ok", "failed"], "description": "`failed` if a step has failed"},
        steps=list_of(
            object_of(
                part={**TEXT, "description": "What is contacted: `consumer`, `database` ..."},
                step={
                    **TEXT,
                    "description": "`configuration`, `dns`, `tcp`, `tls`, `login`, `topics`, `privileges` ...",
                },
                outcome={"enum": ["ok", "failed", "not checked"]},
                message=TEXT,
            )
        ),
    ),
    "Preview": object_of(kind=KIND, records=list_of(OBJECT), error=OBJECT_OR_NULL),
    "DeadLetters": object_of(
        connector=TEXT,
        setting={**TEXT, "description": "The connector's setting that names the queue"},
        queue=TEXT_OR_NULL,
        kept={**NUMBER, "description": "Number of records in the queue, including those of other connectors"},
        reasons=list_of(object_of(stage=TEXT, exception=TEXT, **{"class": TEXT}, count=NUMBER)),
        records=list_of(OBJECT),
    ),
    "DeadLetter": OBJECT,
    "ReplayRequest": object_of(
        *("records", "topic", "dry_run"),
        records={"type": "array", "minItems": 1, "maxItems": 500, "items": TEXT, "description": "By default all"},
        topic={"type": "string", "minLength": 1, "description": "For records that do not name their topic"},
        dry_run={"type": "boolean", "description": "Only report what would be sent"},
    ),
    "Replayed": object_of(
        connector=TEXT,
        queue=TEXT,
        dry_run={"type": "boolean"},
        replayed=list_of(object_of(topic=TEXT, count=NUMBER)),
        records=list_of(object_of(record=TEXT, topic=TEXT, partition=NUMBER_OR_NULL)),
        skipped={**NUMBER, "description": "Number of records that may not be sent where their headers say"},
        skipped_records=list_of(object_of(record=TEXT, reason=TEXT)),
        missing={**list_of(TEXT), "description": "Records that are missing, another connector's, or already replayed"},
        complete={"type": "boolean", "description": "Whether no records are left, except missing ones"},
    ),
    "Records": object_of(
        connector=TEXT,
        direction={"enum": ["in", "out"], "description": "`in` for a sink, `out` for a source"},
        topics={**list_of(TEXT), "description": "Topics that the sink names or has read, or the source has written to"},
        topic=TEXT_OR_NULL,
        cluster={**TEXT, "description": "`bootstrap.servers` of the connector's client"},
        masked={**list_of(TEXT), "description": "Fields that are masked, since transforms of the connector mask them"},
        hidden={
            **list_of({"enum": ["headers", "key", "value"]}),
            "description": "Parts of records that are masked whole: fields may be there that the connector masks",
        },
        records=list_of(OBJECT),
        scanned={**NUMBER, "description": "Number of records that were read"},
        complete={"type": "boolean", "description": "Whether everything was read up to the end that it had"},
        next={**TEXT_OR_NULL, "description": "`from` of a request that goes on; null if `complete`"},
    ),
    "OffsetPlanRequest": object_of(
        "topics",
        to={"type": "string", "description": "`earliest`, `latest`, or a time in the form of ISO 8601, UTC by default"},
        topics={**list_of({"type": "string", "minLength": 1, "maxLength": 249}), "description": "By default all"},
    ),
    "OffsetPlan": object_of(
        connector=TEXT,
        again={**NUMBER, "description": "Number of offsets that are read again"},
        skipped={**NUMBER, "description": "Number of offsets that are skipped"},
        offsets=list_of(
            object_of(
                partition={"type": "object"},
                offset={"type": "object"},
                committed={"type": ["integer", "null"], "description": "The committed offset; null if there is none"},
                again=NUMBER,
                skipped=NUMBER,
            )
        ),
    ),
    "Skips": object_of(connector=TEXT, skips=list_of(_SKIP)),
    "Skipped": object_of(connector=TEXT, skips=list_of(_SKIP), restarted={"type": "boolean"}),
    "BulkRequest": object_of(
        *("connectors", "labels", "states", "classes", "types", "of", "settings", "only_failed", "wait_seconds"),
        *("exact", "dry_run"),
        action={"enum": [*ACTIONS]},
        connectors={**list_of(TEXT), "description": "Names, or patterns such as `orders-*`"},
        labels={**TEXT, "description": "Terms such as `team=billing,env!=prod`, all of which must hold"},
        states={**list_of({"enum": [*STATES]}), "description": "States of which the connector or a task has one"},
        classes={**list_of(TEXT), "description": "Classes or patterns of classes, with or without their packages"},
        types=list_of({"enum": [*TYPES]}),
        exact={"type": "boolean", "description": "Whether all `connectors` are names, though some look like patterns"},
        of={**TEXT, "description": "For resume: only what this bulk action has paused or stopped"},
        settings={
            **map_of({"type": ["string", "number", "boolean", "null"]}),
            "description": "For set: settings with their new values, null to remove one",
        },
        only_failed={"type": "boolean", "description": "For restart: only what has failed"},
        wait_seconds={"type": "number", "description": "Time for each connector to reach its state; 60 by default"},
        dry_run={"type": "boolean"},
    ),
    "Bulk": object_of(
        id={**TEXT_OR_NULL, "description": "Null for a preview"},
        action={"enum": [*ACTIONS]},
        dry_run={"type": "boolean"},
        ended={"type": "boolean"},
        connectors=list_of(
            object_of(
                connector=TEXT,
                state={**TEXT_OR_NULL, "description": "The overall state before; null if it is not shown"},
                result={"enum": [*RESULTS], "description": "; ".join(f"{k}: {v}" for k, v in RESULTS.items())},
                what=TEXT,
                cause={**TEXT_OR_NULL, "description": "The root cause of a failure, for those who may view it"},
            )
        ),
    ),
    "SkipRequest": object_of(
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
    "Events": object_of(connector=TEXT, kept=_KEPT, events=list_of(_EVENT)),
    "Principal": object_of(
        name=TEXT_OR_NULL,
        groups=list_of(TEXT),
        authentication={"enum": ["basic", "token", "certificate", "none"]},
        connector=TEXT_OR_NULL,
        actions=list_of(TEXT),
        actions_on_some=list_of(TEXT),
    ),
    "Attention": open_object(
        *("worker_id", "version", "busy"),
        rows=list_of(
            object_of(
                kind={
                    "enum": list(KINDS),
                    "description": "From the most urgent to the least, as the rows. "
                    + " ".join(f"`{kind}`: {meaning}." for kind, meaning in KINDS.items()),
                },
                connector={**TEXT_OR_NULL, "description": "Null for a row about the whole group"},
                tasks={**list_of(NUMBER), "description": "Numbers of tasks; none for the connector itself"},
                worker=TEXT_OR_NULL,
                since={**TEXT_OR_NULL, "description": "Null where the time is not known"},
                why=TEXT,
                next=object_of(
                    text=TEXT,
                    command={**TEXT_OR_NULL, "description": "A command of `penstock`"},
                    action={**TEXT_OR_NULL, "description": "The name of a button or view of the web page"},
                ),
            )
        ),
        worker_id={**TEXT, "description": "Of the worker that answers; with `here` only, as the other two"},
        version=TEXT,
        busy={**list_of(TEXT), "description": "Connectors whose tasks there have taken records lately"},
    ),
    "Workers": object_of(
        leader={
            **TEXT_OR_NULL,
            "description": "Id of the leader; null while it is unknown, and for a standalone worker",
        },
        workers=list_of(
            object_of(
                worker_id=TEXT,
                generation={
                    **NUMBER_OR_NULL,
                    "description": "Generation of the group; null while the worker is not a member",
                },
                knows={
                    **list_of(TEXT),
                    "description": "URLs of known workers: the leader knows all, others know the leader",
                },
                spark=list_of(
                    object_of(
                        application={"enum": ["hosted", "queries"]},
                        running={"type": "boolean"},
                        ended={**NUMBER, "description": "Number of times that it has ended unexpectedly"},
                        heap_bytes={**NUMBER_OR_NULL, "description": "Heap that its Java uses; null until reported"},
                    )
                ),
            )
        ),
        unreachable={**list_of(TEXT), "description": "Ids of workers that have not replied within five seconds"},
    ),
}
