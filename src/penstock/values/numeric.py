"""Anything as a Java number: the casts of ``Values``, which wrap around or saturate."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, Schema
from penstock.java.numbers import big_decimal
from penstock.values.class_names import class_name
from penstock.values.logical import days_since, millis_of_day, millis_since
from penstock.values.printing import to_string

_LONG = 2**63


def describe(schema: Schema) -> str:
    """``Schema.toString``."""
    return f"Schema{{{schema.name}:{schema.type.name}}}" if schema.name else f"Schema{{{schema.type.name}}}"


def cannot(schema: Schema | None, value: Any, target: str) -> DataError:
    return DataError(f"Unable to convert {to_string(schema, value)} (class {class_name(schema, value)}) to {target}")


def wrapped(number: int, bits: int) -> int:
    half = 1 << (bits - 1)
    return (number + half) % (half << 1) - half


def as_long(schema: Schema | None, value: Any) -> int:
    """Any number, text of a number, or date whose schema says so (in its own unit) as a long; raises DataError."""
    name = None if schema is None else schema.name
    match value:
        case bool():
            pass
        case int():
            return wrapped(value, 64)
        case float():
            return 0 if value != value else int(max(-_LONG, min(_LONG - 1, value)))
        case Decimal():
            return _of_decimal(value)
        case str():
            try:
                return _of_decimal(big_decimal(value))
            except ValueError as error:
                raise cannot(schema, value, describe(schema) if schema else "a number") from error
        case dt.datetime() if name == TIMESTAMP_NAME:
            return millis_since(value)
        case dt.date() if name == DATE_NAME:
            return days_since(value)
        case dt.time() if name == TIME_NAME:
            return millis_of_day(value)
    raise cannot(schema, value, describe(schema) if schema else "a number")


def _of_decimal(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    return 0 if exponent >= 64 else wrapped(int(value), 64)


def as_double(schema: Schema | None, value: Any) -> float:
    match value:
        case bool():
            pass
        case int() | float() | Decimal():
            return _double(value)
        case str():
            try:
                return _double(big_decimal(value))
            except ValueError:
                pass
    return float(as_long(schema, value))


def _double(value: float | Decimal) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
