"""From Connect's data to what orjson writes: one function per schema, compiled once.

Most values can go to orjson as they are: texts, booleans, integers, and structs whose ``dict`` has exactly the fields
of the schema, in order and of the right types. That is what each function checks first; whatever differs (nulls,
defaults, other orders, doubles that Java spells differently, logical types, bytes) is rebuilt field by field.
"""

from __future__ import annotations

import datetime as dt
from base64 import b64encode
from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    RecursiveSchema,
    Schema,
    SchemaType,
)
from penstock.java.jackson.reading import literal_number, number
from penstock.java.numbers import float_text
from penstock.pipeline.converters.coercion import BITS, float_writer, integer_writer, mismatch, of_field
from penstock.values.class_names import class_name
from penstock.values.logical import bytes_of, days_since, millis_of_day, millis_since

Write = Callable[[Any], Any]
Column = tuple[Sequence[Any], set[type]]
"""Values, and the types that are among them."""

_PLAIN_TYPES = {
    SchemaType.INT8: int, SchemaType.INT16: int, SchemaType.INT32: int, SchemaType.INT64: int,
    SchemaType.BOOLEAN: bool, SchemaType.STRING: str,
}  # fmt: skip
_FREE_TYPES = frozenset((str, int, bool, type(None)))
_DOUBLES = frozenset((float, type(None)))


class JsonWriter:
    """The functions of one converter; ``numeric``: decimals as numbers; ``defaults``: in place of nulls, where there
    are any.
    """

    def __init__(self, numeric: bool, defaults: bool, cache_size: int) -> None:
        self.numeric = numeric
        self.defaults = defaults
        self.cache_size = max(cache_size, 1)
        self._compiled: dict[Schema, Write] = {}

    def writer(self, schema: Schema | None) -> Write:
        """The function for values of this schema, null among them. It raises DataError for values that don't fit it."""
        if schema is None:
            return write_free
        found = self._compiled.get(schema)
        if found is None:
            if len(self._compiled) >= self.cache_size:
                self._compiled.clear()
            found = self._compiled[schema] = (
                self._later(schema)
                if isinstance(schema, RecursiveSchema)
                else self._nullable(schema, self._compile(schema))
            )
        return found

    def _later(self, schema: RecursiveSchema) -> Write:
        """Compile the function for a schema inside of itself when there is a value."""
        return lambda value: self.writer(schema.plain)(value)

    def table(self, schema: Schema | None, values: list[Any]) -> Table | None:
        """Structs, or maps without a schema, as columns; None if ``columns`` would not take them."""
        if set(map(type, values)) != {dict}:
            return None
        names = tuple(values[0])
        if self._inner(schema, names) is None or tuple(values[-1]) != names or set(map(tuple, values)) != {names}:
            return None
        return Table(names, [list(map(itemgetter(name), values)) for name in names])

    def columns(self, schema: Schema | None, table: Table) -> list[Column] | None:
        """The columns of a table as orjson is to write them, the same objects if as they are; None if they are not
        those of the schema. Raises DataError for a value that does not fit it.
        """
        schemas = self._inner(schema, table.names)
        return None if schemas is None else list(map(self._column, schemas, table.columns))

    def _inner(self, schema: Schema | None, names: tuple[Any, ...]) -> list[Schema | None] | None:
        """The schemas of these fields; None if a struct has others, or in another order."""
        if schema is None:
            return [None] * len(names) if set(map(type, names)) == {str} else None
        if not names or not _is_struct(schema) or names != tuple(field.name for field in schema.fields):
            return None
        return [field.schema for field in schema.fields]

    def _column(self, schema: Schema | None, column: Sequence[Any]) -> Column:
        kinds = set(map(type, column))
        if schema is None:
            fits = kinds <= _FREE_TYPES or kinds <= _DOUBLES
        else:
            fits = self._fits(schema, kinds) and (int not in kinds or _in_range(schema, column, kinds))
        if fits and (float not in kinds or all(x is None or 1e-3 <= x < 1e7 or number(x) is x for x in column)):
            return column, kinds
        written: list[Any] | None = None
        if fits:
            written = [x if x is None or 1e-3 <= x < 1e7 else number(x) for x in column]
        elif schema is not None and schema.name in _DATES:
            written = self._numbers(schema, column, kinds)
        if written is None:
            written = list(map(self.writer(schema), column))
        return written, set(map(type, written))

    def _numbers(self, schema: Schema, column: Sequence[Any], found: set[type]) -> list[Any] | None:
        """Return dates and times as numbers."""
        _, kinds, to_number = _DATES[schema.name or ""]
        if not found <= {*kinds, type(None)} or (type(None) in found and not self._writes_null(schema)):
            return None
        if type(None) in found:
            return [None if value is None else to_number(value) for value in column]
        return list(map(to_number, column))

    def _writes_null(self, schema: Schema) -> bool:
        return schema.optional and (schema.default is None or not self.defaults)

    def _fits(self, schema: Schema, kinds: set[type]) -> bool:
        """Whether values of these types are written as they are, but for doubles that Java spells differently."""
        if type(None) in kinds and not self._writes_null(schema):
            return False
        is_double = schema.type is SchemaType.FLOAT64 and schema.name not in _LOGICAL
        kind = float if is_double else _plain_type(schema)
        return kind is not None and kinds <= {kind, type(None)}

    def show_value(self, schema: Schema, value: Any) -> Any:
        return self.writer(schema)(value)

    def _nullable(self, schema: Schema, write: Write) -> Write:
        if schema.default is not None and self.defaults:
            default = write(schema.default)
            return lambda value: default if value is None else write(value)
        if schema.optional:
            return lambda value: None if value is None else write(value)

        def required(value: Any) -> Any:
            if value is None:
                raise DataError("Conversion error: null value for field that is required and has no default value")
            return write(value)

        return required

    def _compile(self, schema: Schema) -> Write:
        match schema.name:
            case str() if schema.name == DECIMAL_NAME:
                return self._decimal(schema)
            case str() if schema.name in _DATES:
                return _date(schema, *_DATES[schema.name])
        match schema.type:
            case SchemaType.FLOAT64:
                return _checked(schema, float, number)
            case SchemaType.FLOAT32:
                return _single(schema)
            case SchemaType.BYTES:
                return _bytes
            case SchemaType.ARRAY:
                return self._array(schema)
            case SchemaType.MAP:
                return self._map(schema)
            case SchemaType.STRUCT:
                return self._struct(schema)
            case SchemaType.BOOLEAN | SchemaType.STRING:
                return _checked(schema, _PLAIN_TYPES[schema.type], None)
            case _:
                return integer_writer(schema)

    def _decimal(self, schema: Schema) -> Write:
        def write(value: Any) -> Any:
            if not isinstance(value, Decimal):
                raise DataError(
                    f"Invalid type for Decimal, expected BigDecimal but was class {class_name(schema, value)}"
                )
            if self.numeric:
                return literal_number(str(value))
            return b64encode(bytes_of(schema, value)).decode()

        return write

    def _array(self, schema: Schema) -> Write:
        write_item = self.writer(schema.value_schema)

        def write(value: Any) -> Any:
            if not isinstance(value, (list, tuple)):
                raise mismatch(schema, value)
            return [write_item(item) for item in value]

        return write

    def _map(self, schema: Schema) -> Write:
        write_key, write_value = self.writer(schema.key_schema), self.writer(schema.value_schema)
        as_object = schema.key_schema is not None and schema.key_schema.type is SchemaType.STRING

        def write(value: Any) -> Any:
            if not isinstance(value, dict):
                raise mismatch(schema, value)
            if as_object:
                return {_member(write_key(k)): write_value(v) for k, v in value.items()}
            return [[write_key(k), write_value(v)] for k, v in value.items()]

        return write

    def _struct(self, schema: Schema) -> Write:
        fields = [
            (field.name, of_field(field.name, field.schema, self.writer(field.schema))) for field in schema.fields
        ]
        names = tuple(name for name, _ in fields)
        types = [_plain_type(field.schema) for field in schema.fields]
        places = [i for i, kind in enumerate(types) if kind is None]
        others = [fields[i] for i in places]
        ranges = [
            (field.name, _limit(field.schema)) for field, kind in zip(schema.fields, types, strict=True) if kind is int
        ]

        def write(value: Any) -> Any:
            if type(value) is not dict:
                raise mismatch(schema, value)
            if tuple(value) == names:
                kinds: list[Any] = [*map(type, value.values())]
                for place in places:
                    kinds[place] = None
                if kinds == types:
                    for name, limit in ranges:
                        if not -limit <= value[name] < limit:
                            break
                    else:
                        if others:
                            value = value.copy()
                            for name, write_field in others:
                                value[name] = write_field(value[name])
                        return value
            get = value.get
            return {name: write_field(get(name)) for name, write_field in fields}

        return write


def write_free(value: Any) -> Any:
    """For values without a schema."""
    kind = type(value)
    if kind in _FREE_TYPES:
        return value
    if kind is dict:
        for key in value:
            if type(key) is not str:
                return [[write_free(key), write_free(item)] for key, item in value.items()]
        for item in value.values():
            if type(item) not in _FREE_TYPES:
                return {key: write_free(item) for key, item in value.items()}
        return value
    if kind is list or kind is tuple:
        return [write_free(item) for item in value]
    if kind is float:
        return number(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value).decode()
    raise DataError(f"Java class class {class_name(None, value)} does not have corresponding schema type.")


def _is_struct(schema: Schema) -> bool:
    """Also by its name, which SetSchemaMetadata may have made that of a date: no struct can be written as one."""
    return schema.type is SchemaType.STRUCT and schema.name not in _LOGICAL


def _plain_type(schema: Schema) -> type | None:
    """The type whose values orjson writes as they are."""
    if schema.name in _LOGICAL:
        return None
    return _PLAIN_TYPES.get(schema.type)


def _checked(schema: Schema, kind: type, convert: Write | None) -> Write:
    def write(value: Any) -> Any:
        if type(value) is not kind:
            raise mismatch(schema, value)
        return value if convert is None else convert(value)

    return write


def _limit(schema: Schema) -> int:
    """Integers of this schema are below the limit and not below its negative."""
    return 1 << BITS[schema.type] - 1


def _in_range(schema: Schema, column: Sequence[Any], kinds: set[type]) -> bool:
    """Whether a column of integers, which may have nulls, has none that its schema cannot hold and orjson takes."""
    integers = [0, *filter(None, column)] if type(None) in kinds else column
    limit = _limit(schema)
    return max(integers) < limit and (schema.type is SchemaType.INT64 or -limit <= min(integers))


def _single(schema: Schema) -> Write:
    checked = float_writer(schema)
    return lambda value: literal_number(float_text(checked(value)))


def _bytes(value: Any) -> str:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise DataError(f"Invalid type for bytes type: class {class_name(None, value)}")
    return b64encode(value).decode()


def _date(schema: Schema, what: str, kinds: tuple[type, ...], to_number: Callable[[Any], int]) -> Write:
    def write(value: Any) -> int:
        if type(value) not in kinds:
            raise DataError(f"Invalid type for {what}, expected Date but was class {class_name(schema, value)}")
        return to_number(value)

    return write


_DATES: dict[str, tuple[str, tuple[type, ...], Callable[[Any], int]]] = {
    DATE_NAME: ("Date", (dt.date,), days_since),
    TIME_NAME: ("Time", (dt.time,), millis_of_day),
    TIMESTAMP_NAME: ("Timestamp", (dt.datetime,), millis_since),
}

_LOGICAL = frozenset((DECIMAL_NAME, *_DATES))


def _member(key: Any) -> str:
    """``JsonNode.asText`` of a key."""
    return "null" if key is None else str(key)
