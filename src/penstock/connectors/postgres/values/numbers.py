"""Conversion of PostgreSQL's texts of numbers, bits, bytes and points to values of Connect."""

from __future__ import annotations

import struct as binary_struct
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from penstock.api.errors import DataError
from penstock.api.schema import BYTES, FLOAT64, INT32, Schema, decimal, struct
from penstock.connectors.postgres.settings import PostgresSettings
from penstock.connectors.postgres.values import texts
from penstock.connectors.postgres.values.value_type import ValueType

DATA = "io.debezium.data."
POINT = struct(
    ("x", FLOAT64),
    ("y", FLOAT64),
    ("wkb", BYTES.with_(optional=True)),
    ("srid", INT32.with_(optional=True)),
    name=DATA + "geometry.Point",
    version=1,
    doc="Geometry (POINT)",
)
VARIABLE = struct(
    ("scale", INT32),
    ("value", BYTES),
    name=DATA + "VariableScaleDecimal",
    version=1,
    doc="Variable scaled decimal",
)
_MAX_DIGITS = Context(prec=2100)
"""A numeric with a scale has 1,000 digits, and as many zeros, at most."""


def numeric(modifier: int, settings: PostgresSettings) -> ValueType:
    """Make the Decimal of a numeric with a scale."""
    schema = decimal(scale_of(modifier))
    parameters = {**schema.parameters, "connect.decimal.precision": str((modifier - 4) >> 16 & 0xFFFF)}
    return ValueType(schema.with_(parameters=parameters), lambda text: scaled(_finite(text), scale_of(modifier)))


def scale_of(modifier: int) -> int:
    """Return the scale of a numeric, which may be negative."""
    return ((modifier - 4) & 0x7FF ^ 1024) - 1024


def _finite(text: str) -> Decimal:
    found = Decimal(text)
    if not found.is_finite():
        raise DataError(f"the numeric {text} is no decimal number; set decimal.handling.mode to string or double")
    return found


def scaled(number: Decimal, scale: int) -> Decimal:
    """Return the number with so many digits after the point. Raises DataError if it has more."""
    try:
        found = number.quantize(Decimal(1).scaleb(-scale), context=_MAX_DIGITS)
    except InvalidOperation:
        raise DataError(f"it has too many digits for the scale {scale}") from None
    if found != number:
        raise DataError(f"it has more than {scale} digits after the point")
    return found


def variable(text: str) -> dict[str, Any]:
    """Return a decimal without zeros at the end of the fraction."""
    _finite(text)
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0")
    number = int(whole + fraction)
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return {"scale": len(fraction), "value": number.to_bytes(size, "big", signed=True)}


def amount(text: str) -> Decimal:
    """Return the number of a text of money in the locale C, such as ``-$1,234.50``."""
    plain = "".join(each for each in text if each.isdigit() or each == ".")
    return Decimal(-1 if "-" in text or "(" in text else 1) * Decimal(plain)


def money(modifier: int, settings: PostgresSettings) -> ValueType:
    """Make the Decimal of money, with the digits that ``money.fraction.digits`` says."""
    digits = settings.money_digits

    def read(text: str) -> Decimal:
        try:
            return scaled(amount(text), digits)
        except DataError as error:
            raise DataError(f"{error}; raise money.fraction.digits") from None

    return ValueType(decimal(digits), read)


def bits(modifier: int, settings: PostgresSettings) -> ValueType:
    """Make the Bits of a bit string; a modifier of -1 stands for any length."""
    length = {"length": str(modifier if modifier >= 0 else 2147483647)}
    return ValueType(BYTES.with_(name=DATA + "Bits", version=1, parameters=length), texts.bits)


def single(text: str) -> float:
    """Return the number of 32 bits that PostgreSQL has printed with as few digits as tell it from others."""
    found: float = binary_struct.unpack("<f", binary_struct.pack("<f", float(text)))[0]
    return found


def binary(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def point(text: str) -> dict[str, Any]:
    x, y = (float(each) for each in text.strip("()").split(","))
    return {"x": x, "y": y, "wkb": binary_struct.pack("<bidd", 1, 1, x, y), "srid": None}


def named(schema: Schema, name: str) -> Schema:
    """Return the schema as one of Debezium's types of data."""
    return schema.with_(name=DATA + name, version=1)
