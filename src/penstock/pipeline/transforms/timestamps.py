"""The five forms of a moment that TimestampConverter knows, and the ways from one to another."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from penstock.api.errors import ConnectError, DataError
from penstock.api.schema import (
    DATE,
    DATE_NAME,
    INT64,
    STRING,
    TIME,
    TIME_NAME,
    TIMESTAMP,
    TIMESTAMP_NAME,
    Schema,
    SchemaType,
)
from penstock.java.dates import DateFormat
from penstock.pipeline.transforms.structs import NullPointerError, schema_text
from penstock.values.class_names import class_name
from penstock.values.logical import DAY, day_of, milliseconds, moment_of, time_of
from penstock.values.repeated import converted

Convert = Callable[[Any], Any]
T = TypeVar("T")


class Form(enum.Enum):
    STRING = "string"
    UNIX = "unix"
    DATE = "Date"
    TIME = "Time"
    TIMESTAMP = "Timestamp"


# Units in a millisecond, or milliseconds in a unit where that is a fraction.
PRECISIONS: dict[str, tuple[int, int]] = {
    "nanoseconds": (1_000_000, 1),
    "microseconds": (1000, 1),
    "milliseconds": (1, 1),
    "seconds": (1, 1000),
}
_SCHEMAS = {
    Form.STRING: STRING,
    Form.UNIX: INT64,
    Form.DATE: DATE,
    Form.TIME: TIME,
    Form.TIMESTAMP: TIMESTAMP,
}
_BY_NAME = {TIMESTAMP_NAME: Form.TIMESTAMP, DATE_NAME: Form.DATE, TIME_NAME: Form.TIME}
_DATES = (datetime.date, datetime.time)
_LONG_MAX = (1 << 63) - 1
_NANOS = 10**6
"""Nanoseconds in a millisecond."""


def schema_of_form(form: Form, optional: bool) -> Schema:
    return _SCHEMAS[form].with_(optional=optional)


def form_of_schema(schema: Schema) -> Form:
    """Raises ConnectError for a schema that can't be that of a moment."""
    if schema.name in _BY_NAME:
        return _BY_NAME[schema.name]
    if schema.type is SchemaType.STRING:
        return Form.STRING
    if schema.type is SchemaType.INT64:
        return Form.UNIX
    raise ConnectError(f"Schema {schema_text(schema)} does not correspond to a known timestamp type format")


class Timestamps:
    """Converts moments to one form; texts are read and written with ``format``, Unix times are of this precision.

    If Unix times are finer than milliseconds and the pattern has more than three letters S, texts have and keep those
    digits; Java loses them, and writes the milliseconds with leading zeros.
    """

    def __init__(self, target: Form, format: DateFormat | None, precision: str) -> None:
        self._target = target
        self._format = format
        self._units, self._per_unit = PRECISIONS[precision]
        self._fine = format if format is not None and format.has_fraction and self._units > 1 else None
        self._converters: dict[Form, Convert] = {form: self._made(form) for form in Form}

    def convert_column(self, source: Form | None, column: Sequence[Any]) -> list[Any]:
        """A column of moments of one form, or of schemaless values; nulls stay. Raises DataError."""
        if source is None and set(map(type, column)) <= {int, type(None)}:
            source = Form.UNIX
        return converted(self.convert_any if source is None else self._converters[source], column)

    def convert_any(self, value: Any) -> Any:
        """A schemaless value, by its class. Raises DataError."""
        if isinstance(value, _DATES):
            source = Form.TIMESTAMP
        elif type(value) is int:
            source = Form.UNIX
        elif isinstance(value, str):
            source = Form.STRING
        else:
            raise DataError(
                f"TimestampConverter does not support class {class_name(None, value)} objects as timestamps"
            )
        return self._converters[source](value)

    def _made(self, source: Form) -> Convert:
        read, write = self._reader(source), self._writer()
        if self._fine is not None and Form.STRING in (source, self._target):
            return self._made_fine(self._fine, source, read, write)
        if source is Form.STRING and self._target is Form.TIMESTAMP:
            return self._parsed
        if source is Form.TIMESTAMP and self._target in (Form.TIMESTAMP, Form.STRING):
            return self._kept_timestamp
        return lambda value: write(read(value))

    def _made_fine(
        self, form: DateFormat, source: Form, read: Callable[[Any], int], write: Callable[[int], Any]
    ) -> Convert:
        nanos = _NANOS // self._units

        def nanos_of(value: Any) -> int:
            if source is Form.STRING:
                return self._parse(value, DateFormat.parse_nanos)
            milliseconds = read(value)  # checks the class of the value, too
            return value * nanos if source is Form.UNIX else milliseconds * _NANOS

        def convert(value: Any) -> Any:
            found = nanos_of(value)
            if self._target is Form.STRING:
                return form.format_nanos(found)
            return _limited(_towards_zero(found, nanos)) if self._target is Form.UNIX else write(found // _NANOS)

        return convert

    def _reader(self, source: Form) -> Callable[[Any], int]:
        """To milliseconds."""
        match source:
            case Form.STRING:
                return lambda text: milliseconds(self._parsed(text))
            case Form.UNIX:
                return self._from_unix

        def read(value: Any) -> int:
            if not isinstance(value, _DATES):
                raise DataError(
                    f"Expected {source.value} to be a java.util.Date, but found class {class_name(None, value)}"
                )
            return milliseconds(value)

        return read

    def _writer(self) -> Callable[[int], Any]:
        """From milliseconds."""
        match self._target:
            case Form.STRING:
                assert self._format is not None
                return self._format.format_millis
            case Form.UNIX:
                return self._to_unix
            case Form.DATE:
                return lambda time: day_of(time // DAY)
            case Form.TIME:
                return lambda time: time_of(time % DAY)
            case Form.TIMESTAMP:
                return moment_of

    def _parsed(self, text: Any) -> datetime.datetime:
        return self._parse(text, DateFormat.parse)

    def _parse(self, text: Any, parse: Callable[[DateFormat, str], T]) -> T:
        if not isinstance(text, str):
            raise DataError(f"Expected string timestamp to be a String, but found class {class_name(None, text)}")
        if self._format is None:
            raise NullPointerError(
                'Cannot invoke "java.text.SimpleDateFormat.parse(String)" because "config.format" is null'
            )
        try:
            return parse(self._format, text)
        except ValueError as e:
            pattern = self._format.pattern
            raise DataError(f"Could not parse timestamp: value ({text}) does not match pattern ({pattern})") from e

    def _kept_timestamp(self, value: Any) -> Any:
        if not isinstance(value, datetime.datetime):
            if not isinstance(value, _DATES):
                raise DataError(f"Expected Timestamp to be a java.util.Date, but found class {class_name(None, value)}")
            value = moment_of(milliseconds(value))
        if self._target is Form.TIMESTAMP:
            return value
        assert self._format is not None
        return self._format.format_millis(milliseconds(value)) if value.tzinfo is None else self._format.format(value)

    def _from_unix(self, time: Any) -> int:
        if type(time) is not int:
            raise DataError(f"Expected Unix timestamp to be a Long, but found class {class_name(None, time)}")
        if self._units == self._per_unit:
            return time
        return _limited(time * self._per_unit) if self._units == 1 else _towards_zero(time, self._units)

    def _to_unix(self, time: int) -> int:
        return _limited(time * self._units) if self._per_unit == 1 else _towards_zero(time, self._per_unit)


def _towards_zero(value: int, divisor: int) -> int:
    return value // divisor if value >= 0 else -(-value // divisor)


def _limited(value: int) -> int:
    """Java's ``TimeUnit`` stays within the range of a long."""
    return max(min(value, _LONG_MAX), -_LONG_MAX - 1)
