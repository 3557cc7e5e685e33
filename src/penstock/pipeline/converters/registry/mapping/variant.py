"""Variants: values of any JSON type as a struct of two byte fields, for properties whose schema allows everything.

The bytes are those of the Variant encoding of Parquet and Spark. Java: ``ConnectVariant``, ``VariantBuilder`` and
``VariantUtils`` of Confluent's 8.5.
"""

from __future__ import annotations

import base64
import datetime as dt
import itertools
import math
import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import BYTES, Field, Schema, SchemaType
from penstock.java.jackson.node import Node

VARIANT_NAME = "org.apache.kafka.connect.data.Variant"
VARIANT_FIELDS = (Field("metadata", 0, BYTES), Field("value", 1, BYTES))

_NULL, _TRUE, _FALSE, _INT8, _INT16, _INT32, _INT64, _DOUBLE, _DECIMAL4, _DECIMAL8, _DECIMAL16 = range(11)
_DATE, _TIMESTAMP, _LOCAL_TIMESTAMP, _FLOAT, _BINARY, _STRING, _TIME, _NANOS, _LOCAL_NANOS, _UUID = range(11, 21)
_SHORT_STRING, _OBJECT, _ARRAY = 1, 2, 3
_VERSION = 1
_MAX_SHORT_STRING = 63
_MAX_DIGITS = 38
_DECIMALS = ((9, _DECIMAL4, 4), (18, _DECIMAL8, 8), (_MAX_DIGITS, _DECIMAL16, 16))
DIGITS = Context(prec=_MAX_DIGITS + 1)
"""Rounds no decimal of 16 bytes."""
_INTEGERS = {_INT8: 1, _INT16: 2, _INT32: 4, _INT64: 8}
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - UTC is written or left out below


def is_variant(schema: Schema) -> bool:
    """Return whether a schema is that of a variant. Java: ``ConnectVariant.isVariant``."""
    return schema.type is SchemaType.STRUCT and schema.name == VARIANT_NAME


def to_variant(node: Node) -> dict[str, bytes]:
    """Return a JSON value as the struct of a variant.

    Numbers with a fraction or an exponent must be ``Decimal``. Those that a variant's decimals do not hold,
    since their exponents are too large, become doubles. Raises DataError for a number of more than 38 digits, or beyond
    the range of doubles.
    """
    keys: dict[str, int] = {}
    value = _encoded(node, keys)
    return {"metadata": _metadata(list(keys)), "value": value}


def from_variant(value: Any) -> Node:
    """Return the JSON value of a variant's struct. Raises DataError for bytes that are no variant."""
    try:
        metadata, data = bytes(value["metadata"]), bytes(value["value"])
        return _decoded(data, 0, _keys(metadata))
    except (IndexError, KeyError, TypeError, ValueError, struct.error, OverflowError) as error:
        raise DataError("Invalid variant: its bytes can't be decoded") from error


# -- encoding


def _metadata(keys: list[str]) -> bytes:
    texts = [key.encode("utf-8", "replace") for key in keys]
    size = _size(max(sum(map(len, texts)), len(texts)))
    header = bytes((_VERSION | (size - 1) << 6,)) + len(texts).to_bytes(size, "little")
    return header + _offsets(list(map(len, texts)), size) + b"".join(texts)


def _encoded(node: Node, keys: dict[str, int]) -> bytes:
    match node:
        case None:
            return _primitive(_NULL)
        case bool():
            return _primitive(_TRUE if node else _FALSE)
        case int():
            return _integer(node)
        case float():  # NaN and the infinities; every other number with a fraction is a decimal
            return _double(node)
        case Decimal():
            return _decimal(node)
        case str():
            return _text(node)
        case list():
            return _array([_encoded(item, keys) for item in node])
        case dict():
            return _object(node, keys)
    raise DataError(f"A {type(node).__name__} is no value of JSON")


def _primitive(kind: int) -> bytes:
    return bytes((kind << 2,))


def _integer(number: int) -> bytes:
    for kind, size in ((_INT32, 4), (_INT64, 8)):
        if -(1 << 8 * size - 1) <= number < 1 << 8 * size - 1:
            return _primitive(kind) + number.to_bytes(size, "little", signed=True)
    return _decimal(Decimal(number))


def _decimal(number: Decimal) -> bytes:
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return _double(float(number))
    unscaled = int("".join(map(str, digits)) or "0")
    if (count := len(str(unscaled))) > _MAX_DIGITS:
        raise DataError(f"A number of {count} digits does not fit a variant, which has {_MAX_DIGITS} at most")
    if 0 < exponent <= _MAX_DIGITS - count:
        unscaled, count, exponent = unscaled * 10**exponent, count + exponent, 0
    if exponent <= 0:
        # Spark also reads no scale that exceeds the digits of the decimal's size.
        for limit, kind, size in _DECIMALS:
            if max(count, -exponent) <= limit:
                whole = (-unscaled if sign else unscaled).to_bytes(size, "little", signed=True)
                return _primitive(kind) + bytes((-exponent,)) + whole
    return _double(_finite(number))


def _double(number: float) -> bytes:
    return _primitive(_DOUBLE) + struct.pack("<d", number)


def _finite(number: Decimal) -> float:
    found = float(number)
    if math.isinf(found):
        raise DataError(f"The number {number} does not fit a variant")
    return found


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "replace")
    if len(data) <= _MAX_SHORT_STRING:
        return bytes((len(data) << 2 | _SHORT_STRING,)) + data
    return _primitive(_STRING) + len(data).to_bytes(4, "little") + data


def _array(items: list[bytes]) -> bytes:
    offset_size, count, size = _container(items)
    header = bytes(((size > 1) << 4 | (offset_size - 1) << 2 | _ARRAY,)) + count.to_bytes(size, "little")
    return header + _offsets(list(map(len, items)), offset_size) + b"".join(items)


def _object(node: dict[str, Node], keys: dict[str, int]) -> bytes:
    fields = []
    for key, item in node.items():
        number = keys.setdefault(key, len(keys))
        fields.append((key.encode("utf-16-be", "surrogatepass"), number, _encoded(item, keys)))
    fields.sort()  # as Java's texts are compared
    items = [item for _, _, item in fields]
    offset_size, count, size = _container(items)
    id_size = _size(max((number for _, number, _ in fields), default=0))
    header = bytes(((size > 1) << 6 | (id_size - 1) << 4 | (offset_size - 1) << 2 | _OBJECT,))
    numbers = b"".join(number.to_bytes(id_size, "little") for _, number, _ in fields)
    offsets = _offsets(list(map(len, items)), offset_size)
    return header + count.to_bytes(size, "little") + numbers + offsets + b"".join(items)


def _container(items: list[bytes]) -> tuple[int, int, int]:
    """Return the bytes of an offset, the number of items, and the bytes of that number."""
    return _size(sum(map(len, items))), len(items), 4 if len(items) > 0xFF else 1


def _offsets(lengths: Sequence[int], size: int) -> bytes:
    return b"".join(offset.to_bytes(size, "little") for offset in itertools.accumulate(lengths, initial=0))


def _size(number: int) -> int:
    return next(size for size in (1, 2, 3, 4) if number < 1 << 8 * size)


# -- decoding


def _keys(metadata: bytes) -> list[str]:
    if metadata[0] & 0x0F != _VERSION:
        raise ValueError(f"version {metadata[0] & 0x0F}")
    size = (metadata[0] >> 6) + 1
    count = _unsigned(metadata, 1, size)
    starts = [_unsigned(metadata, 1 + size * (1 + i), size) for i in range(count + 1)]
    first = 1 + size * (count + 2)
    return [metadata[first + a : first + b].decode() for a, b in itertools.pairwise(starts)]


def _decoded(data: bytes, at: int, keys: list[str]) -> Node:
    kind, info = data[at] & 3, data[at] >> 2
    if kind == _SHORT_STRING:
        return _slice(data, at + 1, info).decode()
    if kind == _ARRAY:
        size = 4 if info >> 2 & 1 else 1
        count, offset_size = _unsigned(data, at + 1, size), (info & 3) + 1
        starts, first = at + 1 + size, at + 1 + size + (count + 1) * offset_size
        places = [first + _unsigned(data, starts + i * offset_size, offset_size) for i in range(count)]
        return [_decoded(data, place, keys) for place in places]
    if kind == _OBJECT:
        size = 4 if info >> 4 & 1 else 1
        count, id_size, offset_size = _unsigned(data, at + 1, size), (info >> 2 & 3) + 1, (info & 3) + 1
        ids = at + 1 + size
        starts, first = ids + count * id_size, ids + count * id_size + (count + 1) * offset_size
        return {
            keys[_unsigned(data, ids + i * id_size, id_size)]: _decoded(
                data, first + _unsigned(data, starts + i * offset_size, offset_size), keys
            )
            for i in range(count)
        }
    return _scalar(data, at + 1, info)


def _scalar(data: bytes, at: int, kind: int) -> Node:
    if kind in _CONSTANTS:
        return _CONSTANTS[kind]
    if kind in _INTEGERS:
        return _signed(data, at, _INTEGERS[kind])
    for _, decimal, size in _DECIMALS:
        if kind == decimal:
            scale = int.from_bytes(data[at : at + 1], "little", signed=True)
            return Decimal(_signed(data, at + 1, size)).scaleb(-scale, DIGITS)
    if kind in (_STRING, _BINARY):
        found = _slice(data, at + 4, _unsigned(data, at, 4))
        return found.decode() if kind == _STRING else base64.b64encode(found).decode()
    return _OTHERS[kind](data, at)


def _unsigned(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_slice(data, at, size), "little")


def _signed(data: bytes, at: int, size: int) -> int:
    return int.from_bytes(_slice(data, at, size), "little", signed=True)


def _slice(data: bytes, at: int, size: int) -> bytes:
    found = data[at : at + size]
    if len(found) < size:
        raise IndexError(at)
    return found


def _moment(nanos: int, zone: str) -> str:
    """Return a point in time as Java's ``Instant`` prints it: with no, three, six or nine digits of a second."""
    seconds, rest = divmod(nanos, 10**9)
    return (_EPOCH + dt.timedelta(seconds=seconds)).isoformat() + _fraction(rest) + zone


def _fraction(nanos: int) -> str:
    if not nanos:
        return ""
    digits = f"{nanos:09d}"
    return "." + next(digits[:n] for n in (3, 6, 9) if not int(digits[n:] or "0"))


def _time(micros: int) -> str:
    seconds, rest = divmod(micros, 10**6)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}" + _fraction(rest * 1000)


_CONSTANTS: dict[int, Node] = {_NULL: None, _TRUE: True, _FALSE: False}
_OTHERS: dict[int, Callable[[bytes, int], Node]] = {
    _DOUBLE: lambda data, at: struct.unpack("<d", _slice(data, at, 8))[0],
    _FLOAT: lambda data, at: struct.unpack("<f", _slice(data, at, 4))[0],
    _DATE: lambda data, at: (_EPOCH.date() + dt.timedelta(days=_signed(data, at, 4))).isoformat(),
    _TIMESTAMP: lambda data, at: _moment(_signed(data, at, 8) * 1000, "Z"),
    _LOCAL_TIMESTAMP: lambda data, at: _moment(_signed(data, at, 8) * 1000, ""),
    _NANOS: lambda data, at: _moment(_signed(data, at, 8), "Z"),
    _LOCAL_NANOS: lambda data, at: _moment(_signed(data, at, 8), ""),
    _TIME: lambda data, at: _time(_signed(data, at, 8)),
    _UUID: lambda data, at: str(uuid.UUID(bytes=_slice(data, at, 16))),
}
