"""Single nodes of JSON as values of a type: with Jackson's leniency, where what is of another kind is 0, false or null,
or exactly, where it is an error.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isinf
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.java.jackson.node import Node, node_type
from penstock.java.numbers import float32, float32_of, is_halfway
from penstock.pipeline.converters.coercion import BITS, CoercionError, beyond
from penstock.values.logical import day_of, decimal_of, moment_of, time_of
from penstock.values.numeric import wrapped

Read = Callable[[Node], Any]
_NO_NUMBERS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}

_GROUP = re.compile("[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)")
_GROUPS = re.compile(rf"(?:[\x00-\x20]*{_GROUP.pattern})*[\x00-\x20]*")


class InexactError(Exception):
    """The node is a float, and what is asked for depends on how it was spelled: parse the text again, exactly."""


def lenient_integer(target: SchemaType) -> Read:
    bits = BITS[target]
    half = 1 << (bits - 1)

    def read(node: Node) -> int:
        kind = type(node)
        if kind is int:
            return node if -half <= node < half else wrapped(node, bits)
        if kind is float:
            raise InexactError
        if kind is Decimal:
            # Multiples of 10**64 have no bits that count, and must not be spelled out.
            return 0 if node.as_tuple().exponent >= 64 else wrapped(int(node), bits)
        return 0

    return read


def exact_integer(target: SchemaType) -> Read:
    half = 1 << (BITS[target] - 1)

    def read(node: Node) -> int:
        kind = type(node)
        if kind is int and -half <= node < half:
            return node
        if kind is float:
            raise InexactError
        if kind is Decimal:
            if node != node.to_integral_value():
                raise CoercionError(f"has a fraction, which {target.name} cannot hold")
            if -half <= node < half:
                return int(node)
        elif kind is not int:
            raise another_kind(node, "a number", target.name)
        raise beyond(target)

    return read


def another_kind(node: Node, expected: str, name: str) -> CoercionError:
    return CoercionError(f"is {node_type(node)} in JSON: expected {expected} for {name}")


def lenient_double(node: Node) -> float:
    if type(node) is float:
        return node or 0.0
    if type(node) is int or type(node) is Decimal:
        try:
            return float(node) or 0.0
        except OverflowError:
            return float("inf") if node > 0 else float("-inf")
    return 0.0


def lenient_float(node: Node) -> float:
    if type(node) is float:
        single = float32(node or 0.0)
        if single != node and is_halfway(node, single):
            raise InexactError
        return single
    return float32_of(node) if type(node) is int or type(node) is Decimal else 0.0


def _exact_floating(lenient: Read, name: str) -> Read:
    """Texts that JsonConverter writes for what JSON has no numbers for are read, too."""

    def read(node: Node) -> float:
        kind = type(node)
        if kind is str and node in _NO_NUMBERS:
            return _NO_NUMBERS[node]
        if kind is not int and kind is not float and kind is not Decimal:
            raise another_kind(node, "a number", name)
        value: float = lenient(node)
        if isinf(value) and (kind is not float or not isinf(node)):
            raise CoercionError(f"is a number that {name} cannot hold")
        return value

    return read


exact_double = _exact_floating(lenient_double, "FLOAT64")
exact_float = _exact_floating(lenient_float, "FLOAT32")


def lenient_boolean(node: Node) -> bool:
    return node is True


def lenient_string(node: Node) -> str | None:
    return node if type(node) is str else None


def lenient_bytes(node: Node) -> bytes | None:
    try:
        return _base64(node) if type(node) is str else None
    except ValueError as error:
        raise DataError("Invalid bytes field") from error


def exact_boolean(node: Node) -> bool:
    if node is True or node is False:
        return bool(node)
    raise another_kind(node, "true or false", "BOOLEAN")


def exact_string(node: Node) -> str:
    if type(node) is str:
        return str(node)
    raise another_kind(node, "a text", "STRING")


def exact_bytes(node: Node) -> bytes | None:
    if type(node) is str:
        return lenient_bytes(node)
    raise another_kind(node, "a text in base 64", "BYTES")


def _base64(text: str) -> bytes:
    """Base 64 as Jackson reads it: groups of four, each padded for itself, blanks between them; raises ValueError."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        if _GROUPS.fullmatch(text) is None:
            raise
        return b"".join(map(binascii.a2b_base64, _GROUP.findall(text)))


def decimal_reader(schema: Schema) -> Read:
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


def _date(what: str, target: SchemaType, kind: str, from_number: Callable[[int], Any], java: bool) -> Read:
    half = 1 << (BITS[target] - 1)
    java_refuses = target is SchemaType.INT32

    def read(node: Node) -> Any:
        if type(node) is float:
            raise InexactError
        fits = type(node) is int and -half <= node < half
        if type(node) is not int or (java_refuses and not fits):
            raise DataError(
                f"Invalid type for {what}, underlying representation should be {kind} but was {node_type(node)}"
            )
        if not fits and not java:
            raise beyond(target)
        return from_number(wrapped(node, 64))

    return read


def _dates(java: bool) -> dict[str | None, Read]:
    return {
        DATE_NAME: _date("Date", SchemaType.INT32, "integer", day_of, java),
        TIME_NAME: _date("Time", SchemaType.INT32, "integer", time_of, java),
        TIMESTAMP_NAME: _date("Timestamp", SchemaType.INT64, "integral", moment_of, java),
    }


@dataclass(frozen=True)
class ScalarReaders:
    """The functions that read nodes which are no containers. Those of integers are made for their type."""

    integer: Callable[[SchemaType], Read]
    double: Read
    float: Read
    boolean: Read
    string: Read
    bytes: Read
    dates: Mapping[str | None, Read]
    """By the names of logical types."""


LENIENT = ScalarReaders(
    lenient_integer, lenient_double, lenient_float, lenient_boolean, lenient_string, lenient_bytes, _dates(True)
)
EXACT = ScalarReaders(exact_integer, exact_double, exact_float, exact_boolean, exact_string, exact_bytes, _dates(False))
