"""The topics that a task uses, with the schemas of their values, for events of OpenLineage.

Each topic is reported once, and again with each new schema. Each batch is read once.
"""

from __future__ import annotations

from typing import Any

from penstock.api.batch import Batch
from penstock.api.schema import RecursiveSchema, Schema, SchemaType
from penstock.hosts.jvm.tasks.steps import in_jvm
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskSpec
from penstock.pipeline.telemetry.traces import is_on

LINEAGE = "penstock.openlineage.enabled"
REPORTED = "penstock-topics"
MAX_TOPICS, MAX_FIELDS, MAX_DEPTH = 1000, 1000, 8
MAX_SCHEMAS = 10
"""The schemas of a topic, in one run of a task. Each is reported only once, as records of two schemas may alternate."""


def noting(spec: TaskSpec, metrics: Metrics) -> list[Step]:
    """Return the step between transforms and converters that notes schemas, if the worker sends lineage events."""
    if not is_on(spec.worker_config, LINEAGE):
        return []
    return [Step(PipelineStage.KAFKA_CONSUME, f"{__name__}.{TopicSchemas.__qualname__}", TopicSchemas(metrics).note)]


class TopicSchemas:
    """The schemas of the topics of a task; ``note`` is a step that reports new ones."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._known: dict[str, list[Schema]] = {}

    def note(self, batch: Batch) -> Batch:
        if not len(batch):
            return batch
        # A batch in the JVM has no schemas here.
        schemas: list[Schema | None] = [None] if in_jvm(batch) else batch.value_schemas
        if batch.topics.count(batch.topics[0]) == len(batch) and schemas.count(schemas[0]) == len(schemas):
            self._note(batch.topics[0], schemas[0])
        else:
            for topic, schema in dict(zip(batch.topics, schemas * (len(batch) // len(schemas)), strict=True)).items():
                self._note(topic, schema)
        return batch

    def _note(self, topic: str, schema: Schema | None) -> None:
        known = self._known.get(topic)
        if known is None:
            if len(self._known) >= MAX_TOPICS:
                return
            known = self._known[topic] = []
        elif schema is None or schema in known or len(known) >= MAX_SCHEMAS:
            return
        if schema is not None:
            known.append(schema)
        self._metrics.say_once(REPORTED, {"topic": topic, "fields": fields(schema)})


def fields(schema: Schema | None, depth: int = 0) -> list[dict[str, Any]]:
    """Return the fields of a struct; empty for other values, and for a struct inside of itself."""
    if schema is None or schema.type is not SchemaType.STRUCT or depth >= MAX_DEPTH:
        return []
    if depth and isinstance(schema, RecursiveSchema):
        return []
    return [
        {"name": each.name, "type": _type(each.schema), "fields": fields(_element(each.schema), depth + 1)}
        for each in schema.fields[:MAX_FIELDS]
    ]


def _element(schema: Schema) -> Schema | None:
    return schema.value_schema if schema.type in (SchemaType.ARRAY, SchemaType.MAP) else schema


def _type(schema: Schema) -> str:
    """Return the name of the type in Connect, or of a logical type (``org.apache.kafka.connect.data.Timestamp``)."""
    return schema.name if schema.name and schema.type is not SchemaType.STRUCT else schema.type.value
