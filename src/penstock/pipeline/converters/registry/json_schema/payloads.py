"""Payloads of JSON, one by one and whole batches of them.

A batch of structs is parsed at once and becomes a table, as far as its values are of the types of their fields.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import Schema
from penstock.java.jackson.compact import indented
from penstock.java.jackson.reading import dumps, loads, parse
from penstock.pipeline.converters import json_columns
from penstock.pipeline.converters.registry.format import FormatReader
from penstock.pipeline.converters.registry.json_schema.reader import ValueReader
from penstock.pipeline.converters.registry.json_schema.writer import ValueWriter
from penstock.pipeline.converters.scalar_nodes import InexactError

Check = Callable[[Any], None]
"""Raises SerializationError for JSON that does not fit its schema."""


def payload_reader(schema: Schema, values: ValueReader, check: Check | None) -> FormatReader:
    read_value = values.reader(schema)

    def one(data: bytes, start: int) -> Any:
        payload = data[start:]
        try:
            node = loads(payload)
            if check is not None:
                check(node)
            return read_value(node)
        except InexactError:
            return read_value(parse(payload))

    def all(messages: Sequence[bytes], start: int) -> list[Any] | Table | None:
        nodes = _parsed([data[start:] for data in messages])
        if nodes is None or None in nodes:
            return None
        if check is not None:
            for node in nodes:
                check(node)
        return values.table(schema, nodes) or list(map(read_value, nodes))

    return FormatReader(schema, one, all)


_MARK = secrets.token_hex(8)


def _parsed(payloads: list[bytes]) -> list[Any] | None:
    """Parse all payloads at once; return None if one of them is not exactly one JSON value.

    A marker that no payload contains is put between any two of them: if a payload were part of a value, or two values,
    not all markers would be at odd places.
    """
    parts = orjson.loads(b"[%b]" % (b',"%b",' % _MARK.encode()).join(payloads))
    count = len(payloads)
    if len(parts) != 2 * count - 1 or parts[1::2].count(_MARK) != count - 1:
        return None
    nodes: list[Any] = parts[::2]
    return nodes


class PayloadWriter:
    """Writes values of one schema; whole batches as the JSON converter does."""

    def __init__(self, schema: Schema | None, values: ValueWriter, check: Check | None, indent: bool) -> None:
        self._schema, self._values, self._check = schema, values, check
        self._write = values.writer(schema)
        self._indent = indent

    def one(self, head: bytes, value: Any) -> bytes:
        return self._checked(head, self._one_by_one(head, [value]))[0]

    def all(self, head: bytes, values: list[Any] | Table) -> list[bytes]:
        return self._checked(head, self._by_columns(head, values) or self._one_by_one(head, values))

    def _by_columns(self, head: bytes, values: list[Any] | Table) -> list[bytes] | None:
        if self._indent:
            return None
        try:
            return json_columns.messages(self._values, self._schema, values, head, b"")
        except (TypeError, DataError):
            return None

    def _one_by_one(self, head: bytes, values: list[Any] | Table) -> list[bytes]:
        nodes = list(map(self._write, values))
        if self._indent:
            return [head + indented(node) for node in nodes]
        try:
            return json_columns.one_by_one(nodes, head, b"")
        except TypeError:
            return [head + dumps(node) for node in nodes]

    def _checked(self, head: bytes, messages: list[bytes]) -> list[bytes]:
        if self._check is not None:
            for message in messages:
                self._check(loads(message[len(head) :]))
        return messages
