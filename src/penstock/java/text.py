"""How values look inside messages that are Java's to the letter: ``null``, ``true``, ``[a, b]``, ``{a=b}``, ``1.0E10``.

Also the order in which Java's hash sets and hash maps go over texts, since some messages enumerate them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal


def java_text(value: object) -> str:
    """``String.valueOf`` of a setting's value."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return str(value)
        case float():
            return java_double(value)
        case type():
            return f"class {getattr(value, 'java_name', '') or f'{value.__module__}.{value.__qualname__}'}"
        case Mapping():
            return "{" + ", ".join(f"{java_text(k)}={java_text(v)}" for k, v in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(java_text, value)) + "]"
        case _:
            return str(value)


def java_double(value: float) -> str:
    """``Double.toString``: the shortest digits that give the number back, with an exponent outside of 0.001 to 10
    million.
    """
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        plain = format(Decimal(repr(value)), "f")
        return plain if "." in plain else plain + ".0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    shown = "".join(map(str, digits))
    assert isinstance(exponent, int)
    return f"{'-' if sign else ''}{shown[0]}.{shown[1:] or '0'}E{exponent + len(shown) - 1}"


def hash_code(value: str) -> int:
    """``String.hashCode``, as an unsigned number of 32 bits."""
    data = value.encode("utf-16-be", "surrogatepass")
    result = 0
    for high, low in zip(data[::2], data[1::2], strict=True):
        result = (31 * result + (high << 8 | low)) & 0xFFFFFFFF
    return result


def hash_order(values: Iterable[str], capacity: int = 16) -> list[str]:
    """These texts in the order in which a ``HashSet`` or ``HashMap`` into which they were put goes over them."""
    unique = list(dict.fromkeys(values))
    while len(unique) > capacity * 3 // 4:
        capacity *= 2

    def bucket(value: str) -> int:
        code = hash_code(value)
        return (code ^ code >> 16) & (capacity - 1)

    return sorted(unique, key=bucket)


def copy_order(values: Iterable[str]) -> list[str]:
    """The same for ``new HashMap(other)``, whose table is just large enough; ``values`` as the other map goes over
    them.
    """
    unique = list(dict.fromkeys(values))
    needed = int(len(unique) / 0.75 + 1)
    return hash_order(unique, 1 << (needed - 1).bit_length())
