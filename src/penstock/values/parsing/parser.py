"""Inference of the type of a text, as by Java's ``Values.parseString``.

``null``, ``true`` and ``false``; numbers of the smallest type that holds them; dates, times and timestamps in ISO form;
arrays and maps of these, with quoted texts inside. Any other text stays a string. The tokens are those of Java's
parser, quirks included: of a text such as ``1::2`` or ``[1] and more``, ``parse`` returns the value at its beginning.
``parse_whole`` returns such a text as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from typing import Any

from penstock.api.converter import SchemaAndValue
from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    Schema,
    SchemaType,
    array,
    decimal,
)
from penstock.java.dates import DateFormat
from penstock.java.numbers import big_decimal, float32_of, float_text
from penstock.values.logical import DAY, day_of, moment_of, time_of
from penstock.values.parsing.tokens import BLANK, NO_SCALAR, ValueTokens
from penstock.values.text import DATE_FORMAT, TIME_FORMAT, TIMESTAMP_FORMAT

_NUMBERS = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
)
_TEMPORAL: dict[int, tuple[Schema, DateFormat]] = {
    13: (TIME, TIME_FORMAT),
    24: (TIMESTAMP, TIMESTAMP_FORMAT),
    10: (DATE, DATE_FORMAT),
}


Convert = Callable[[Schema, Schema | None, Any], Any]
"""Converts a value to the type of the first schema; the second is its own, if it has one."""


def parse(text: str | None, convert: Convert) -> SchemaAndValue:
    """Schema and value that a text stands for; never raises. An array or map whose elements have no common type has
    none in its schema. ``convert`` brings elements to their common type.
    """
    return _parse(text, convert, whole=False)


def parse_whole(text: str | None, convert: Convert) -> SchemaAndValue:
    """Like ``parse``, but a text that goes on after a value stays a string."""
    return _parse(text, convert, whole=True)


def _parse(text: str | None, convert: Convert, whole: bool) -> SchemaAndValue:
    if text is None:
        return None, None
    if not text or (text[0] not in NO_SCALAR and not _begins_number(text)):
        return STRING, text
    parser = _ValueParser(text, convert)
    found = parser.parse(False)
    return (STRING, text) if whole and parser.has_rest() else found or (None, None)


@dataclass(slots=True)
class _Common:
    """The schema that all elements so far can be converted to, None if there is none (yet)."""

    schema: Schema | None = None
    compatible: bool = True

    def merge(self, found: SchemaAndValue | None) -> None:
        if found is None or found[0] is None or not self.compatible:
            return
        if self.schema is None:
            self.schema = found[0]
        else:
            self.schema = _merged(self.schema, found[0])
            self.compatible = self.schema is not None


def _merged(previous: Schema, new: Schema) -> Schema | None:
    if previous.type is new.type:
        return new
    if previous.type not in _NUMBERS or new.type not in _NUMBERS:
        return None
    return max(previous, new, key=lambda schema: _NUMBERS.index(schema.type))


class _ValueParser:
    def __init__(self, text: str, convert: Convert) -> None:
        self.text = text
        self.tokens = ValueTokens(text)
        self.convert = convert

    def parse(self, embedded: bool) -> SchemaAndValue | None:
        """The value that begins here, None for null. Raises DataError for an embedded one that is none."""
        tokens = self.tokens
        if not tokens.has_next():
            return None
        if not tokens.has_scalar():
            if embedded and tokens.take('"'):
                return self._quoted()
            if self._is_literal(embedded, "null"):
                return None
            if self._is_literal(embedded, "true"):
                return BOOLEAN, True
            if self._is_literal(embedded, "false"):
                return BOOLEAN, False
            start = tokens.mark()
            try:
                if tokens.take("["):
                    return self._array()
                if tokens.take("{"):
                    return self._map()
            except DataError:
                tokens.rewind(start)
        token = tokens.next()
        if not token.strip(BLANK):
            return STRING, token
        return self._scalar(embedded, token.strip(BLANK))

    def has_rest(self) -> bool:
        """Return whether anything but blanks follows the value that was parsed."""
        return bool(self.text[self.tokens.mark() :].strip(BLANK))

    def _is_literal(self, embedded: bool, literal: str) -> bool:
        start = self.tokens.mark()
        if self.tokens.take(literal) and (embedded or not self.tokens.has_next()):
            return True
        self.tokens.rewind(start)
        return False

    def _scalar(self, embedded: bool, token: str) -> SchemaAndValue:
        if token[0].isdecimal() and (temporal := self._temporal(token)) is not None:
            return temporal
        if _begins_number(token):
            try:
                return _number(token)
            except ValueError:
                pass
        if embedded:
            raise DataError("Failed to parse embedded value")
        return STRING, self.text

    def _quoted(self) -> SchemaAndValue:
        content = ""
        while self.tokens.has_next() and not self.tokens.take('"'):
            content += self.tokens.next()
        return _parse_temporal(content) or (STRING, content)

    def _temporal(self, token: str) -> SchemaAndValue | None:
        """Times and timestamps are five tokens, since their colons are delimiters."""
        position = self.tokens.mark()
        rest = self.tokens.next_several(4)
        if rest is not None and (temporal := _parse_temporal(token + rest)) is not None:
            return temporal
        self.tokens.rewind(position)
        return _parse_temporal(token)

    def _array(self) -> SchemaAndValue:
        tokens, common = self.tokens, _Common()
        items: list[SchemaAndValue | None] = []
        while tokens.has_next():
            if tokens.take("]"):
                kind = Schema(SchemaType.ARRAY) if common.schema is None else array(common.schema)
                return kind, [self._aligned(common.schema, item) for item in items]
            if tokens.take(","):
                raise DataError(f"Unable to parse an empty array element: {self.text}")
            item = self.parse(True)
            common.merge(item)
            items.append(item)
            position = tokens.mark()
            if tokens.take("]"):
                tokens.rewind(position)
            elif not tokens.take(","):
                raise DataError("Array elements missing ',' delimiter")
        if tokens.previous == ",":
            raise DataError(f"Array is missing element after ',': {self.text}")
        raise DataError(f"Array is missing terminating ']': {self.text}")

    def _map(self) -> SchemaAndValue:
        tokens, keys, values = self.tokens, _Common(), _Common()
        entries: dict[Any, tuple[SchemaAndValue, SchemaAndValue | None]] = {}
        while tokens.has_next():
            if tokens.take("}"):
                # Without a type of its keys the map has none of its values either.
                kind = Schema(SchemaType.MAP, key_schema=keys.schema, value_schema=keys.schema and values.schema)
                inside = kind.value_schema
                return kind, {self._aligned(keys.schema, k): self._aligned(inside, v) for k, v in entries.values()}
            if tokens.take(","):
                raise DataError(f"Unable to parse a map entry with no key or value: {self.text}")
            key = self.parse(True)
            if key is None or key[1] is None:
                raise DataError(f"Map entry may not have a null key: {self.text}")
            if not tokens.take(":"):
                raise DataError(f"Map entry is missing ':' at {tokens.i} in {self.text}")
            value = self.parse(True)
            try:
                entries[key[1]] = key, value
            except TypeError:
                raise DataError(f"Containers are no keys of maps here: {self.text}") from None
            tokens.take(",")
            keys.merge(key)
            values.merge(value)
        if tokens.previous == ",":
            raise DataError(f"Map is missing element after ',': {self.text}")
        raise DataError(f"Map is missing terminating '}}': {self.text}")

    def _aligned(self, schema: Schema | None, found: SchemaAndValue | None) -> Any:
        """An element as one of this schema."""
        if schema is None:
            return _alone(found)
        return self.convert(schema, None, None if found is None else found[1])


def _alone(found: SchemaAndValue | None) -> Any:
    """A value that loses its schema. A Float becomes the number with the digits that Java shows of it."""
    if found is None:
        return None
    schema, value = found
    if schema is None:
        return value
    # As in Java, what is in containers of containers need not be as the schema says.
    match value:
        case float() if schema.type is SchemaType.FLOAT32:
            return float(float_text(value))
        case list() if schema.type is SchemaType.ARRAY:
            return [_alone((schema.value_schema, item)) for item in value]
        case dict() if schema.type is SchemaType.MAP:
            keys, values = schema.key_schema, schema.value_schema
            return {_alone((keys, key)): _alone((values, item)) for key, item in value.items()}
    return value


def _begins_number(token: str) -> bool:
    return token[0].isdecimal() or token[0] in "+-"


def _number(token: str) -> SchemaAndValue:
    """The number of the smallest type; raises ValueError if it is none."""
    value = big_decimal(token)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if value.is_zero():
        return INT8, 0
    if value.adjusted() < 20 and value == value.to_integral_value(ROUND_FLOOR, Context(prec=len(token) + 20)):
        whole = int(value)
        for schema, bits in ((INT8, 8), (INT16, 16), (INT32, 32), (INT64, 64)):
            if -(1 << (bits - 1)) <= whole < 1 << (bits - 1):
                return schema, whole
    double = _finite(value)
    if exponent != 0 and double is not None:
        single = float32_of(value)
        return (FLOAT32, single) if abs(single) != float("inf") else (FLOAT64, double)
    return decimal(-exponent), value


def _finite(value: Decimal) -> float | None:
    double = float(value)
    return None if abs(double) == float("inf") else double


def _parse_temporal(token: str) -> SchemaAndValue | None:
    token = token.replace("\\:", ":")
    if len(token) not in _TEMPORAL:
        return None
    schema, form = _TEMPORAL[len(token)]
    try:
        millis = form.parse_millis(token)
        if schema is DATE:
            return schema, day_of(millis // DAY)
        return schema, time_of(millis % DAY) if schema is TIME else moment_of(millis)
    except (ValueError, DataError):
        return None
