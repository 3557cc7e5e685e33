"""Reading what clients send.

JSON of a certain form. Everything else is refused with 400 and a sentence (Java: mostly 500).
"""

from __future__ import annotations

import json
from typing import Any

import orjson
from starlette.requests import Request

from penstock.core.messages import Refused

Pairs = tuple[tuple[dict[str, Any] | None, dict[str, Any] | None], ...]


async def document(request: Request) -> Any:
    """The body as JSON, numbers as numbers."""
    body = await request.body()
    if not body:
        raise Refused(400, "The request has no body; it must be a JSON document")
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refused(400, f"The request's body is not valid JSON: {error}") from None


async def document_as_text(request: Request) -> Any:
    """The body as JSON in which numbers stay the texts they were written as, for configurations."""
    body = await request.body()
    if not body:
        raise Refused(400, "The request has no body; it must be a JSON document")
    try:
        return json.loads(body, parse_int=_Number, parse_float=_Number, parse_constant=_Number)
    except ValueError as error:
        raise Refused(400, f"The request's body is not valid JSON: {error}") from None


class _Number(str):
    """A number, as it was written."""


def members(value: Any, what: str, *allowed: str) -> dict[str, Any]:
    """A JSON object that has no other members than these (all may be missing)."""
    if not isinstance(value, dict):
        raise Refused(400, f"{what} must be a JSON object with the members {', '.join(allowed)}, not {_kind(value)}")
    for member in value:
        if member not in allowed:
            raise Refused(400, f"{what} has an unknown member '{member}'; it may have {', '.join(allowed)}")
    return value


def config(value: Any, what: str) -> dict[str, str | None]:
    """A configuration: texts, numbers and booleans become texts, null stays None."""
    if not isinstance(value, dict):
        raise Refused(400, f"{what} must be a JSON object of settings, not {_kind(value)}")
    texts: dict[str, str | None] = {}
    for key, setting in value.items():
        if isinstance(setting, bool):
            texts[key] = "true" if setting else "false"
        elif setting is None:
            texts[key] = None
        elif isinstance(setting, str):
            texts[key] = str(setting)
        else:
            raise Refused(400, f"The value of '{key}' in {what} must be a text, not {_kind(setting)}")
    return texts


def text(value: Any, what: str) -> str | None:
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    raise Refused(400, f"{what} must be a text, not {_kind(value)}")


def offset_pairs(value: Any) -> Pairs | None:
    """The list of ``{"partition":…, "offset":…}`` of KIP-875; None if it is missing, null or empty."""
    if value is None or value == []:
        return None
    if not isinstance(value, list):
        raise Refused(
            400, f"'offsets' must be a list of objects with the members partition and offset, not {_kind(value)}"
        )
    pairs = []
    for entry in value:
        both = members(entry, "An entry of 'offsets'", "partition", "offset")
        pair = []
        for member in ("partition", "offset"):
            part = both.get(member)
            if part is not None and not isinstance(part, dict):
                raise Refused(
                    400, f"'{member}' of an entry of 'offsets' must be a JSON object or null, not {_kind(part)}"
                )
            pair.append(part)
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)


def _kind(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case _Number() | int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
