"""Conversion of records to messages of streams: each stream's SCHEMA before its first RECORD, and when it changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.schema import Schema, Type
from penstock.connectors.singer.json_schemas import ANYTHING, json_schema, to_json

Properties = dict[str, Any]
Refuse = Callable[[int, DataError], None]


class Streams:
    """The schemas that a run of a target has got, and the messages that it gets next."""

    def __init__(self, name_format: str, key_mode: str, key_fields: Sequence[str]) -> None:
        self._format, self._key_mode, self._key_fields = name_format, key_mode, list(key_fields)
        self._told: dict[str, bytes] = {}
        """The last SCHEMA of each stream."""
        self._current: dict[str, tuple[Any, ...]] = {}
        """The schemas of the last record of each stream, and the names of what has none."""
        self._named: dict[str, dict[str, None]] = {}
        """The fields, so far, of streams without schemas."""

    def lines(self, batch: Batch, refuse: Refuse) -> list[bytes]:
        """Return the messages of a batch. ``refuse`` is called with the number of a record that can't be one."""
        lines: list[bytes] = []
        rows = zip(batch.topics, batch.key_schemas, batch.keys, batch.value_schemas, batch.values, strict=True)
        for number, (topic, *row) in enumerate(rows):
            try:
                lines += self._messages(self._format.replace("${topic}", topic), *row)
            except DataError as error:
                refuse(number, DataError(f"A record of topic {topic} can't be written: {error}"))
        return lines

    def _messages(
        self, stream: str, key_schema: Schema | None, key: Any, value_schema: Schema | None, value: Any
    ) -> list[bytes]:
        _check_value(value_schema, value)
        if self._key_mode == "record_key":
            found, of_key = self._key(key_schema, key)
            record, keys = {**value, **found}, list(found)
        else:
            record, of_key, keys = value, {}, self._keys_in(value)
        name = to_json(stream)
        line = b"".join((b'{"type":"RECORD","stream":', name, b',"record":', to_json(record), b"}\n"))
        if value_schema is None:
            named = self._named.setdefault(stream, {})
            if not record.keys() <= named.keys():
                named.update(dict.fromkeys(record))
            current: tuple[Any, ...] = (None, key_schema, len(named), tuple(keys))
        else:
            current = (value_schema, key_schema, 0, tuple(keys))
        if current == self._current.get(stream):
            return [line]
        self._current[stream] = current
        schema = _schema_line(stream, self._properties(stream, value_schema) | of_key, keys)
        if schema == self._told.get(stream):
            return [line]
        self._told[stream] = schema
        return [schema, line]

    def _properties(self, stream: str, schema: Schema | None) -> Properties:
        if schema is None:
            return dict.fromkeys(self._named[stream], ANYTHING)
        return {each.name: json_schema(each.schema) for each in schema}

    def _keys_in(self, value: Mapping[str, Any]) -> list[str]:
        if self._key_mode == "none":
            return []
        keys = self._key_fields or list(value)
        for name in keys:
            if value.get(name) is None:
                raise DataError(f"its value has no {name}, which is among `pk.fields`")
        return keys

    def _key(self, schema: Schema | None, key: Any) -> tuple[dict[str, Any], Properties]:
        """The fields of a key, and their JSON schemas."""
        if key is None:
            raise DataError("it has no key, which `pk.mode=record_key` needs")
        if not isinstance(key, dict):
            if len(self._key_fields) != 1:
                raise DataError("its key is no struct, so that `pk.fields` has to have one name, which it gets")
            return {self._key_fields[0]: key}, {
                self._key_fields[0]: dict(ANYTHING) if schema is None else _given(schema)
            }
        names = self._key_fields or list(key)
        for name in names:
            if key.get(name) is None:
                raise DataError(f"its key has no {name}, which is among `pk.fields`")
        fields = {} if schema is None else {each.name: _given(each.schema) for each in schema}
        return {name: key[name] for name in names}, {name: fields.get(name, dict(ANYTHING)) for name in names}


def _given(schema: Schema) -> Properties:
    return json_schema(schema.with_(optional=False))


def _check_value(schema: Schema | None, value: Any) -> None:
    if value is None:
        raise DataError(
            "it has no value, and Singer has no message for what is deleted: `behavior.on.null.values=ignore` leaves "
            "such records out"
        )
    if not isinstance(value, dict) or (schema is not None and schema.type is not Type.STRUCT):
        raise DataError("its value has to be a struct, or a map without a schema")


def _schema_line(stream: str, properties: Properties, keys: Sequence[str]) -> bytes:
    schema = {"type": "object", "properties": properties}
    return to_json({"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": list(keys)}) + b"\n"
