"""The messages of a tap, one JSON object a line, as records with the state to go on from.

A STATE says that everything before it has been sent. So the record before it has it as its offset, which is committed
once Kafka has acknowledged that record and all before it; records in between have the state before.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from penstock.api.errors import ConnectError, DataError
from penstock.api.exact import float_or_decimal
from penstock.api.schema import Schema
from penstock.connectors.singer.schemas import Mapped, key_of, record_of

log = logging.getLogger(__name__)
_LONG_NUMBER = re.compile(rb"\d[\d.]{15}|[eE][+-]?\d{3}")
"""Part of each number that a 64-bit float or a 64-bit integer may not have; texts may have it too."""


class StreamRow(NamedTuple):
    stream: str
    key_schema: Schema | None
    key: dict[str, Any] | None
    value_schema: Schema
    value: dict[str, Any]


class SingerStream(NamedTuple):
    value: Mapped
    key: Mapped | None


def stream_of(message: Mapping[str, Any]) -> SingerStream:
    """Return the stream of a SCHEMA with a JSON Schema. Raises ConnectError, and KeyError for missing parts."""
    stream, properties = message["stream"], message["schema"].get("properties") or {}
    keys = message.get("key_properties") or []
    value = record_of(stream, properties)
    if not value.schema.fields:
        raise ConnectError(f"The schema of stream {stream} has no properties")
    return SingerStream(value, key_of(stream, properties, keys) if keys else None)


def parsed(line: bytes) -> Any:
    """Parse JSON. A number whose digits a 64-bit float does not have is a Decimal, an integer an int of any size."""
    found = orjson.loads(line)
    if _LONG_NUMBER.search(line) is None:
        return found
    return json.loads(line.decode(), parse_float=float_or_decimal)


class Messages:
    """Messages of a tap: ``rows`` that were read, and ``states`` behind each of them; the last may get a later one."""

    def __init__(
        self, state: Any, stream_of: Callable[[Mapping[str, Any]], SingerStream] = stream_of, writer: str = "tap"
    ) -> None:
        self.state = state
        """The last one that was written."""
        self._stream_of, self._writer = stream_of, writer
        self.rows: list[StreamRow] = []
        self.states: list[Any] = []
        self._streams: dict[str, SingerStream] = {}
        self._unknown: set[str] = set()

    def add(self, line: bytes) -> None:
        """The next line of the tap's output. Raises ConnectError for what is no message, and DataError."""
        if not line.strip():
            return
        try:
            message = parsed(line)
        except orjson.JSONDecodeError as error:
            raise ConnectError(f"The {self._writer} has written a line that is no message: {error}") from None
        kind = message.get("type") if isinstance(message, dict) else None
        try:
            match kind:
                case "RECORD":
                    self._record(message["stream"], message["record"])
                case "SCHEMA":
                    self._streams[message["stream"]] = self._stream_of(message)
                case "STATE":
                    self.state = message["value"]
                    if self.states:
                        self.states[-1] = self.state
                case "BATCH":
                    raise ConnectError(
                        f"The tap writes files instead of records of stream {message.get('stream')} (BATCH): remove "
                        "`batch_config` from `singer.config`"
                    )
                case _:
                    self._other(str(kind))
        except KeyError as error:
            raise ConnectError(f"The {self._writer} has written a message {kind} without {error}") from None
        except (TypeError, AttributeError, ValueError, RecursionError) as error:  # members of other types than Singer's
            problem = f"{type(error).__name__}: {error}"
            raise ConnectError(
                f"The {self._writer} has written a message {kind} that can't be read: {problem}"
            ) from None

    def take(self, most: int, *, all: bool) -> tuple[list[StreamRow], list[Any]]:
        """The first rows with their states; the last row stays, unless ``all``, for a state that may come."""
        count = min(most, len(self.rows) if all else len(self.rows) - 1)
        taken = self.rows[:count], self.states[:count]
        self.rows, self.states = self.rows[count:], self.states[count:]
        return taken

    def _record(self, stream: str, record: Any) -> None:
        found = self._streams.get(stream)
        if found is None:
            raise ConnectError(f"The {self._writer} has written a record of stream {stream} before its schema")
        try:
            value = found.value.convert(record)
            key = None if found.key is None else found.key.convert(record)
        except DataError as error:
            raise DataError(f"A record of stream {stream} does not fit its schema: {error}") from None
        key_schema = None if found.key is None else found.key.schema
        self.rows.append(StreamRow(stream, key_schema, key, found.value.schema, value))
        self.states.append(self.state)

    def _other(self, kind: str) -> None:
        if kind != "ACTIVATE_VERSION" and kind not in self._unknown:
            self._unknown.add(kind)
            log.warning("Messages %s of the tap are ignored", kind)


def selected(catalog: dict[str, Any], streams: list[str] | None, every: bool) -> dict[str, Any]:
    """The catalog with only these streams; with ``every``, their fields are all selected.

    Raises ConnectError for streams that are not in it.
    """
    found = catalog.get("streams") or []
    names = [each.get("stream") or each.get("tap_stream_id") for each in found]
    if missing := [name for name in streams or [] if name not in names]:
        raise ConnectError(
            f"singer.streams: there is no stream {missing[0]} in the tap's catalog, but {', '.join(names)}"
        )
    chosen = [each for name, each in zip(names, found, strict=True) if not streams or name in streams]
    return {**catalog, "streams": [_with_all(each) for each in chosen] if every else chosen}


def _with_all(stream: dict[str, Any]) -> dict[str, Any]:
    """Select a stream with all its columns, in both ways that taps know."""
    metadata = [
        {**each, "metadata": {**each.get("metadata", {}), "selected": True}} for each in stream.get("metadata") or []
    ]
    if not any(each.get("breadcrumb") == [] for each in metadata):
        metadata.append({"breadcrumb": [], "metadata": {"selected": True}})
    schema = {**(stream.get("schema") or {}), "selected": True}
    return {**stream, "schema": schema, "metadata": metadata, "selected": True}
