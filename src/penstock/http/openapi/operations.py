"""Parts of an operation in the OpenAPI document: its replies, body and parameters."""

from __future__ import annotations

from typing import Any

from penstock.http.openapi.forms import Json, ref


def operation(summary: str, *answers: Json, body: Json | None = None, query: tuple[Json, ...] = ()) -> Json:
    responses: Json = {"default": content("Refused or failed", ref("Error"))}
    for answer in answers:
        responses |= answer
    operation: Json = {"summary": summary, "responses": responses}
    if query:
        operation["parameters"] = list(query)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": body}}
    return operation


def content(description: str, schema: Json | None) -> Json:
    return {"description": description} | ({"content": {"application/json": {"schema": schema}}} if schema else {})


def answer(status: int, description: str, schema: Json | None = None) -> Json:
    return {str(status): content(description, schema)}


def created(status: int, description: str, schema: Json) -> Json:
    location = {"Location": {"description": "URL of the connector", "schema": {"type": "string", "format": "uri"}}}
    return {str(status): {**content(description, schema), "headers": location}}


def body(schema: Json, example: Any) -> Json:
    return {"schema": schema, "example": example}


def flag(name: str, description: str) -> Json:
    """Describe a flag: any spelling of true is true and all else false, so its schema is a text."""
    return {"name": name, "in": "query", "description": description, "schema": {"type": "string"}, "example": "true"}


def path_parameter(name: str, description: str, schema: Json, example: Any) -> Json:
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
        "example": example,
    }
