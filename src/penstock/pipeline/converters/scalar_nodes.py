"""Single nodes of JSON as values of a type, with Jackson's leniency: what is of another kind is 0, false or null."""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import DATE_NAME, TIME_NAME, TIMESTAMP_NAME, Schema, SchemaType
from penstock.java.jackson.node import Node, node_type
from penstock.java.numbers import float32, float32_of, is_halfway
from penstock.values.logical import day_of, decimal_of, moment_of, time_of

Read = Callable[[Node], Any]

BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_GROUP = re.compile("[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)")
_GROUPS = re.compile(rf"(?:[\x00-\x20]*{_GROUP.pattern})*[\x00-\x20]*")


class InexactError(Exception):
    """The node is a float, and what is asked for depends on how it was spelled: parse the text again, exactly."""


def wrapped(number: int, bits: int) -> int:
    """The lowest bits of a number, as Java's narrowing conversions leave them."""
    half = 1 << (bits - 1)
    return (number + half) % (half << 1) - half


def integer_reader(bits: int) -> Read:
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


def read_double(node: Node) -> float:
    if type(node) is float:
        return node or 0.0
    if type(node) is int or type(node) is Decimal:
        try:
            return float(node) or 0.0
        except OverflowError:
            return float("inf") if node > 0 else float("-inf")
    return 0.0


def read_float(node: Node) -> float:
    if type(node) is float:
        single = float32(node or 0.0)
        if single != node and is_halfway(node, single):
            raise InexactError
        return single
    return float32_of(node) if type(node) is int or type(node) is Decimal else 0.0


def read_boolean(node: Node) -> bool:
    return node is True


def read_string(node: Node) -> str | None:
    return node if type(node) is str else None


def read_bytes(node: Node) -> bytes | None:
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


def _date(what: str, size: int, kind: str, from_number: Callable[[int], Any]) -> Read:
    def read(node: Node) -> Any:
        if type(node) is float:
            raise InexactError
        if type(node) is not int or (size and not -size <= node < size):
            raise DataError(
                f"Invalid type for {what}, underlying representation should be {kind} but was {node_type(node)}"
            )
        return from_number(wrapped(node, 64))

    return read


DATE_READERS: dict[str | None, Read] = {
    DATE_NAME: _date("Date", 2**31, "integer", day_of),
    TIME_NAME: _date("Time", 2**31, "integer", time_of),
    TIMESTAMP_NAME: _date("Timestamp", 0, "integral", moment_of),
}
