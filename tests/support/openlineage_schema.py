"""JSON Schema of the OpenLineage events that Penstock sends, by the specification (2-0-2, and its facets).

It is written here because no package has the specification's own files.
"""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

TEXT = {"type": "string"}
URI = {"type": "string", "pattern": r"^[a-z][a-z0-9+.-]*:\S+$"}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
"""RFC 3339's date-time, a format that jsonschema does not check."""


def record(required: dict[str, Any], /, **optional: Any) -> dict[str, Any]:
    return {"type": "object", "required": list(required), "properties": {**required, **optional}}


def facet(name: str, required: dict[str, Any], /, **optional: Any) -> dict[str, Any]:
    url = {"type": "string", "pattern": rf"^https://openlineage\.io/spec/facets/\d+-\d+-\d+/\w+\.json#/\$defs/{name}$"}
    return record({"_producer": URI, "_schemaURL": url, **required}, **optional)


def facets(**known: Any) -> dict[str, Any]:
    return {"type": "object", "properties": known, "additionalProperties": False}


FIELD = record(
    {"name": TEXT},
    type=TEXT,
    description=TEXT,
    ordinal_position={"type": "integer", "minimum": 1},
    fields={"type": "array", "items": {"$ref": "#/$defs/field"}},
)
TAGS = {"type": "array", "items": record({"key": TEXT, "value": TEXT}, source=TEXT)}
SCHEMA = facet("SchemaDatasetFacet", {}, fields={"type": "array", "items": {"$ref": "#/$defs/field"}})
DATASET = {"namespace": TEXT, "name": TEXT}
INPUT = record(DATASET, facets=facets(schema=SCHEMA), inputFacets=facets())
OUTPUT = record(DATASET, facets=facets(schema=SCHEMA), outputFacets=facets())
EVENT = {
    "$defs": {"field": FIELD},
    **record(
        {
            "eventTime": TIME,
            "producer": URI,
            "schemaURL": {"const": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"},
            "run": record(
                {"runId": {"type": "string", "format": "uuid"}},
                facets=facets(
                    processing_engine=facet(
                        "ProcessingEngineRunFacet", {"version": TEXT}, name=TEXT, openlineageAdapterVersion=TEXT
                    ),
                    errorMessage=facet(
                        "ErrorMessageRunFacet", {"message": TEXT, "programmingLanguage": TEXT}, stackTrace=TEXT
                    ),
                    tags=facet("TagsRunFacet", {}, tags=TAGS),
                ),
            ),
            "job": record(
                {"namespace": TEXT, "name": TEXT},
                facets=facets(
                    jobType=facet("JobTypeJobFacet", {"processingType": TEXT, "integration": TEXT}, jobType=TEXT),
                    tags=facet("TagsJobFacet", {}, tags=TAGS),
                ),
            ),
        },
        eventType={"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        inputs={"type": "array", "items": INPUT},
        outputs={"type": "array", "items": OUTPUT},
    ),
}


def check(event: Any) -> None:
    """Validate an event; raises jsonschema's ValidationError if it is invalid."""
    Draft202012Validator(EVENT, format_checker=FormatChecker()).validate(event)
