"""References to config providers in a value, ``${provider:path:key}`` or ``${provider:key}`` (KIP-297).

Found in one pass: anybody who may create a connector sends such values. Java: the pattern of ``ConfigTransformer``,
``\\$\\{([^}]*?):(([^}]*?):)?([^}]*?)\\}``, whose time grows with the cube of a value's length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reference:
    provider: str
    path: str
    """Empty if the reference has none."""
    key: str
    text: str
    """The reference as it was written."""
    start: int
    """Where it is in the value."""


def references(value: str | None) -> Iterator[Reference]:
    """The references in a value from left to right. What is of another form, such as ``${x}``, is none."""
    end = 0
    while value is not None and (start := value.find("${", end)) >= 0 and (close := value.find("}", start)) >= 0:
        end = close + 1
        provider, colon, rest = value[start + 2 : close].partition(":")
        if colon:
            path, colon, key = rest.partition(":")
            yield Reference(provider, path if colon else "", key if colon else path, value[start:end], start)


def replaced(value: str, by: Callable[[Reference], str]) -> str:
    """The value with every reference replaced."""
    parts, end = [], 0
    for reference in references(value):
        parts += [value[end : reference.start], by(reference)]
        end = reference.start + len(reference.text)
    return "".join([*parts, value[end:]])
