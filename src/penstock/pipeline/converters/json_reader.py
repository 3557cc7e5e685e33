"""From parsed JSON to Connect's data: one function per schema, compiled once.

As lenient as Jackson's nodes are: a text where a number should be is 0, a number where a text should be is null, and
integers are cut to their type. Objects without a schema become maps in the order of Java's ``HashMap``.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, Field, Schema, Type
from penstock.pipeline.converters.jackson import MISSING, Node, node_type
from penstock.pipeline.javatext import float32, hash_map
from penstock.pipeline.javatext.hashmap import in_hash_order
from penstock.pipeline.logical import day_of, decimal_of, moment_of, time_of

Read = Callable[[Node], Any]

_BITS = {Type.INT8: 8, Type.INT16: 16, Type.INT32: 32, Type.INT64: 64}
_LONG = 2**63
_GROUP = re.compile("[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)")
_GROUPS = re.compile(rf"(?:[\x00-\x20]*{_GROUP.pattern})*[\x00-\x20]*")


class InexactError(Exception):
    """The node is a float, and what is asked for depends on how it was spelled: parse the text again, exactly."""


class JsonReader:
    """The functions of one converter; ``defaults``: in place of nulls, where there are any."""

    def __init__(self, defaults: bool, cache_size: int) -> None:
        self.defaults = defaults
        self.cache_size = max(cache_size, 1)
        self._compiled: dict[Schema, Read] = {}

    def reader(self, schema: Schema | None) -> Read:
        """The function for nodes of this schema, null among them. It raises DataError, and InexactError for some
        floats.
        """
        if schema is None:
            return read_free
        found = self._compiled.get(schema)
        if found is None:
            if len(self._compiled) >= self.cache_size:
                self._compiled.clear()
            found = self._compiled[schema] = self._nullable(schema, self._compile(schema))
        return found

    def read_value(self, schema: Schema, node: Node) -> Any:
        return self.reader(schema)(node)

    def _nullable(self, schema: Schema, read: Read) -> Read:
        if schema.default is not None and self.defaults:
            default = schema.default
            return lambda node: default if node is None else read(node)
        if schema.optional:
            return lambda node: None if node is None else read(node)

        def required(node: Node) -> Any:
            if node is None:
                raise DataError(f"Invalid null value for required {schema.type.name} field")
            return read(node)

        return required

    def _compile(self, schema: Schema) -> Read:
        if schema.name == DECIMAL_NAME:
            return _decimal(schema)
        if schema.name in _DATES:
            return _DATES[schema.name]
        match schema.type:
            case Type.INT8 | Type.INT16 | Type.INT32 | Type.INT64:
                return _integer(_BITS[schema.type])
            case Type.FLOAT64:
                return _double
            case Type.FLOAT32:
                return _float
            case Type.BOOLEAN:
                return _boolean
            case Type.STRING:
                return _string
            case Type.BYTES:
                return _bytes
            case Type.ARRAY:
                return self._array(schema)
            case Type.MAP:
                return self._map(schema)
            case Type.STRUCT:
                return self._struct(schema)

    def _array(self, schema: Schema) -> Read:
        read_item = self.reader(schema.value_schema)

        def read(node: Node) -> list[Any]:
            items = node if type(node) is list else node.values() if type(node) is dict else ()
            return [read_item(item) for item in items]

        return read

    def _map(self, schema: Schema) -> Read:
        assert schema.key_schema is not None
        key_type = schema.key_schema.type
        read_key, read_value = self.reader(schema.key_schema), self.reader(schema.value_schema)

        def read_object(node: Node) -> dict[str, Any]:
            if type(node) is not dict:
                raise DataError(
                    f"Maps with string fields should be encoded as JSON objects, but found {node_type(node)}"
                )
            return in_hash_order({key: read_value(item) for key, item in node.items()})

        def read_pairs(node: Node) -> dict[Any, Any]:
            if type(node) is not list:
                what = node_type(node)
                raise DataError(
                    f"Maps with non-string fields should be encoded as JSON array of tuples, but found {what}"
                )
            entries: dict[Any, Any] = {}
            for entry in node:
                if type(entry) is not list:
                    raise DataError(f"Found invalid map entry instead of array tuple: {node_type(entry)}")
                if len(entry) != 2:
                    raise DataError(f"Found invalid map entry, expected length 2 but found :{len(entry)}")
                entries[_hashable(read_key(entry[0]))] = read_value(entry[1])
            return hash_map(entries, key_type=key_type)

        return read_object if key_type is Type.STRING else read_pairs

    def _struct(self, schema: Schema) -> Read:
        fields = [(field.name, self._field(field)) for field in schema.fields]
        names = tuple(name for name, _ in fields)
        types = [_plain_type(field.schema) for field in schema.fields]
        places = [i for i, kind in enumerate(types) if kind is None]
        others = [fields[i] for i in places]
        ranges = [
            (field.name, -(2 ** (bits - 1)), 2 ** (bits - 1))
            for field, kind in zip(schema.fields, types, strict=True)
            if kind is int and (bits := _BITS[field.schema.type])
        ]

        def read(node: Node) -> dict[str, Any]:
            if type(node) is not dict:
                raise DataError(f"Structs should be encoded as JSON objects, but found {node_type(node)}")
            if tuple(node) == names:
                kinds: list[Any] = [*map(type, node.values())]
                for place in places:
                    kinds[place] = None
                if kinds == types:
                    for name, least, limit in ranges:
                        if not least <= node[name] < limit:
                            break
                    else:
                        for name, read_field in others:
                            node[name] = read_field(node[name])
                        return node
            get = node.get
            return {name: read_field(get(name)) for name, read_field in fields}

        return read

    def _field(self, field: Field) -> Read:
        """Like the reader of its schema, but a struct takes no null that came of a node of the wrong type."""
        read = self.reader(field.schema)
        if field.schema.optional or field.schema.type not in (Type.STRING, Type.BYTES):
            return read

        def read_required(node: Node) -> Any:
            value = read(node)
            if value is None:
                kind = field.schema.type.name
                raise DataError(f'Invalid value: null used for required field: "{field.name}", schema type: {kind}')
            return value

        return read_required


def read_free(node: Node) -> Any:
    """For values without a schema: longs, doubles, texts, booleans, lists and maps. Changes the node itself."""
    kind = type(node)
    if kind is dict:
        for key, item in node.items():
            kind = type(item)
            if kind is not str and not (kind is int and -_LONG <= item < _LONG):
                node[key] = read_free(item)
        return in_hash_order(node)
    if kind is str or kind is bool or node is None:
        return node
    if kind is int:
        return node if -_LONG <= node < _LONG else _wrapped(node, 64)
    if kind is list:
        return [item if type(item) is str else read_free(item) for item in node]
    if kind is float:
        if not -_LONG < node < _LONG:
            raise InexactError
        return node or 0.0
    return None if node is MISSING else _double(node)


def _plain_type(schema: Schema) -> type | None:
    """The type whose values need no more than a check of their range."""
    if schema.name == DECIMAL_NAME or schema.name in _DATES:
        return None
    if schema.type in _BITS:
        return int
    return {Type.STRING: str, Type.BOOLEAN: bool}.get(schema.type)


def _wrapped(number: int, bits: int) -> int:
    """The lowest bits of a number, as Java's narrowing conversions leave them."""
    half = 1 << (bits - 1)
    return (number + half) % (half << 1) - half


def _integer(bits: int) -> Read:
    half = 1 << (bits - 1)

    def read(node: Node) -> int:
        kind = type(node)
        if kind is int:
            return node if -half <= node < half else _wrapped(node, bits)
        if kind is float:
            raise InexactError
        if kind is Decimal:
            # Multiples of 10**64 have no bits that count, and must not be spelled out.
            return 0 if node.as_tuple().exponent >= 64 else _wrapped(int(node), bits)
        return 0

    return read


def _double(node: Node) -> float:
    if type(node) is float:
        return node or 0.0
    if type(node) is int or type(node) is Decimal:
        try:
            return float(node) or 0.0
        except OverflowError:
            return float("inf") if node > 0 else float("-inf")
    return 0.0


def _float(node: Node) -> float:
    return float32(_double(node))


def _boolean(node: Node) -> bool:
    return node is True


def _string(node: Node) -> str | None:
    return node if type(node) is str else None


def _bytes(node: Node) -> bytes | None:
    try:
        return _base64(node) if type(node) is str else None
    except ValueError as error:
        raise DataError("Invalid bytes field") from error


def _base64(text: str) -> bytes:
    """Base 64 as Jackson reads it: groups of four, each padded for itself, blanks between them; raises ValueError."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        if _GROUPS.fullmatch(text) is None:
            raise
        return b"".join(map(binascii.a2b_base64, _GROUP.findall(text)))


def _decimal(schema: Schema) -> Read:
    def read(node: Node) -> Decimal:
        match node:
            case bool() | None | list() | dict():
                pass
            case float():
                raise InexactError
            case int() | Decimal():
                return Decimal(node)
            case str():
                try:
                    return decimal_of(schema, _base64(node))
                except (ValueError, DataError) as error:
                    raise DataError("Invalid bytes for Decimal field") from error
        kind = node_type(node)
        raise DataError(
            f"Invalid type for Decimal, underlying representation should be numeric or bytes but was {kind}"
        )

    return read


def _date(what: str, size: int, kind: str, from_number: Callable[[int], Any]) -> Read:
    def read(node: Node) -> Any:
        if type(node) is float:
            raise InexactError
        if type(node) is not int or (size and not -size <= node < size):
            raise DataError(
                f"Invalid type for {what}, underlying representation should be {kind} but was {node_type(node)}"
            )
        return from_number(_wrapped(node, 64))

    return read


_DATES: dict[str | None, Read] = {
    DATE_NAME: _date("Date", 2**31, "integer", day_of),
    TIME_NAME: _date("Time", 2**31, "integer", time_of),
    TIMESTAMP_NAME: _date("Timestamp", 0, "integral", moment_of),
}


def _hashable(key: Any) -> Any:
    """A key that Python can look up. Java's maps take lists and maps as keys; here they are refused."""
    try:
        hash(key)
    except TypeError:
        raise DataError(f"A map can't have a {type(key).__name__} as a key here") from None
    return key
