"""Records as JSON for human readers."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections.abc import Mapping
from typing import Any

from penstock.api.batch import Batch, SinkOrigin, SourceOrigin
from penstock.api.schema import Schema
from penstock.java.numbers import double_text

MAX_LENGTH = 10_000
"""Characters of a text that are shown; the rest is cut off."""


def record(batch: Batch, i: int = 0) -> dict[str, Any]:
    """Return one row of a batch as JSON values."""
    shown: dict[str, Any] = {
        "topic": batch.topics[i],
        "partition": batch.partitions[i],
        "timestamp": batch.timestamps[i],
        "key": value(batch.keys[i]),
        "key_schema": schema(batch.key_schemas[i]),
        "value": value(batch.values[i]),
        "value_schema": schema(batch.value_schemas[i]),
        "headers": [[header[0], value(header[-1])] for header in batch.headers[i] or ()],
    }
    match batch.origin:
        case SinkOrigin(topics, partitions, offsets):
            shown["origin"] = {"topic": topics[i], "partition": partitions[i], "offset": offsets[i]}
        case SourceOrigin(partitions, offsets):
            shown["origin"] = {"source_partition": value(partitions[i]), "source_offset": value(offsets[i])}
    return shown


def size(data: Any) -> int | None:
    """Return the number of bytes, or None for other values."""
    return len(data) if isinstance(data, bytes) else None


def value(data: Any, cut: bool = True) -> Any:
    """Return a value as a JSON value; ``cut``: with ``MAX_LENGTH`` characters of each text.

    Bytes are text if they are UTF-8, else ``{"base64": …}``; values without a JSON form are text, ``NaN`` as Java
    prints it, the rest as Python does.
    """
    match data:
        case float() if not math.isfinite(data):
            return double_text(data)
        case None | bool() | int() | float():
            return data
        case str():
            return data if len(data) <= MAX_LENGTH or not cut else data[:MAX_LENGTH] + "…"
        case bytes() | bytearray() | memoryview():
            raw = bytes(data)
            try:
                return value(raw.decode(), cut)
            except UnicodeDecodeError:
                return {"base64": base64.b64encode(raw[:MAX_LENGTH] if cut else raw).decode()}
        case Mapping():
            return {str(name): value(each, cut) for name, each in data.items()}
        case list() | tuple() | set() | frozenset():
            return [value(each, cut) for each in data]
    if dataclasses.is_dataclass(data) and not isinstance(data, type):
        return {field.name: value(getattr(data, field.name), cut) for field in dataclasses.fields(data)}
    return str(data)


def schema(given: Schema | None) -> str | None:
    """Return a schema's type with its name: ``struct orders.Order``, ``optional int64``."""
    if given is None:
        return None
    words = [*(["optional"] if given.optional else []), given.type.name.lower(), *([given.name] if given.name else [])]
    return " ".join(words)
