"""Values that their schema's type cannot hold: refused, or changed as Java Connect's converters change them.

Java narrows 300 to the int8 44, takes the text ``"5"`` for the number 0 and a number for the text null. Unless a
converter is configured for that, such a value is an error that names its field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance, Width
from penstock.api.errors import DataError
from penstock.api.schema import TIME_NAME, Schema, SchemaType
from penstock.api.validators import ValidString
from penstock.values.class_names import class_name
from penstock.values.logical import ZonedTimeError
from penstock.values.numeric import wrapped

_FLOAT32_LIMIT = float.fromhex("0x1.ffffffp+127")
"""From this number on, the nearest one of 32 bits is infinite."""

COERCION = "penstock.coercion"
NONE, JAVA = "none", "java"
BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}

Read = Callable[[Any], Any]


class CoercionError(DataError):
    """A value that its type cannot hold. ``problem`` continues a sentence that begins with the value; ``fields`` is the
    path of the field that has it, empty for the whole value.
    """

    def __init__(self, problem: str, fields: tuple[str, ...] = ()) -> None:
        subject = f"The value of the field {'.'.join(fields)}" if fields else "The value"
        super().__init__(f"{subject} {problem}. {COERCION}={JAVA} makes the converter change it as Java Connect does.")
        self.problem, self.fields = problem, fields

    def within(self, field: str) -> CoercionError:
        return CoercionError(self.problem, (field, *self.fields))


def define_coercion(config: ConfigDef) -> ConfigDef:
    return config.define(
        COERCION,
        ConfigType.STRING,
        NONE,
        ValidString(NONE, JAVA),
        Importance.LOW,
        "Whether a value that its schema's type cannot hold, such as 300 for an int8, is an error, or is changed as "
        "Java Connect's converters change it.",
        display_name="Coercion",
        width=Width.SHORT,
    )


def is_java(settings: Mapping[str, Any]) -> bool:
    return bool(settings[COERCION] == JAVA)


def named(read: Read, field: str) -> Read:
    """Like ``read``, but an error for a value that does not fit names this field."""

    def read_named(value: Any) -> Any:
        try:
            return read(value)
        except CoercionError as error:
            raise error.within(field) from None

    return read_named


def beyond(type: SchemaType) -> CoercionError:
    half = 1 << (BITS[type] - 1)
    return CoercionError(f"is a number that {type.name} cannot hold: expected {-half} to {half - 1}")


def integer(schema: Schema, java: bool) -> Callable[[int], int]:
    """Return the function that makes an integer of any size one of a schema's type. It raises CoercionError unless
    ``java``.
    """
    type = schema.type
    half, bits = 1 << (BITS[type] - 1), BITS[type]

    def fitting(number: int) -> int:
        if -half <= number < half:
            return number
        if java:
            return wrapped(number, bits)
        raise beyond(type)

    return fitting


def mismatch(schema: Schema, value: Any) -> DataError:
    """Return the error for a value of another class than its schema's, in Java's words."""
    return DataError(f"Invalid type for {schema.type.name}: class {class_name(None, value)}")


def of_field(name: str, schema: Schema, write: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the function that writes a field's values; that of a Time names the field if a time has a zone."""
    if schema.name != TIME_NAME:
        return write

    def named(value: Any) -> Any:
        try:
            return write(value)
        except ZonedTimeError as error:
            raise DataError(f"The value of the field {name} is no Time: {error}") from None

    return named


def integer_writer(schema: Schema) -> Callable[[Any], int]:
    """Return the function that checks an integer to be written. It raises DataError for one beyond the type."""
    half = 1 << (BITS[schema.type] - 1)

    def write(value: Any) -> int:
        if type(value) is not int or not -half <= value < half:
            raise mismatch(schema, value)
        return value

    return write


def float_writer(schema: Schema) -> Callable[[Any], float]:
    """Return the function that checks a number to be written. It raises DataError for one beyond the type: Python's
    numbers have 64 bits, Java's of FLOAT32 only 32.
    """
    limit = _FLOAT32_LIMIT if schema.type is SchemaType.FLOAT32 else inf

    def write(value: Any) -> float:
        if type(value) is not float:
            raise mismatch(schema, value)
        if -limit < value < limit or not isfinite(value):
            return value
        raise DataError(f"{value!r} is a number that {schema.type.name} cannot hold")

    return write
