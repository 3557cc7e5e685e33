"""The types of settings: how a string is parsed to a value, and a value written as a string.

Java: ``ConfigDef.Type``, ``ConfigDef.parseType``, ``ConfigDef.convertToString`` and
``org.apache.kafka.common.config.types.Password``.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable
from typing import Any, Final

from penstock.api.errors import ConfigError
from penstock.java.parsing import BLANKS, double, whole_number
from penstock.java.text import java_class_name, java_text

# Loads the class of a name, in any spelling that users may use. If there is no such class it returns None,
# or raises LookupError with the sentence on that; UnusableClassError if there is one that cannot be used.
ClassLoader = Callable[[str], Any]

_COMMA = re.compile(r"\s*,\s*", re.ASCII)


class _NoDefault:
    def __repr__(self) -> str:
        return "NO_DEFAULT"


NO_DEFAULT: Final = _NoDefault()


class UnusableClassError(ConfigError):
    """A class that exists but cannot be used, with its full name."""

    def __init__(self, problem: str, name: str) -> None:
        super().__init__(problem)
        self.class_name = name


class Password(str):
    """A secret string that prints as ``[hidden]``, also inside another text that is formatted, as Java's does.

    ``value`` is the string itself: ``f"Bearer {token.value}"``.
    """

    __slots__ = ()

    @property
    def value(self) -> str:
        """The secret itself, as a plain string."""
        return str.__str__(self)[:]

    def __str__(self) -> str:
        return "[hidden]"

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format("[hidden]", spec)


class ConfigType(enum.Enum):
    """The type of a setting's value: of its own kind in Python, and a string in a configuration."""

    BOOLEAN = "BOOLEAN"
    STRING = "STRING"
    INT = "INT"
    SHORT = "SHORT"
    LONG = "LONG"
    DOUBLE = "DOUBLE"
    LIST = "LIST"
    CLASS = "CLASS"
    PASSWORD = "PASSWORD"


_BITS = {ConfigType.SHORT: 16, ConfigType.INT: 32, ConfigType.LONG: 64}
_INTEGERS = {
    ConfigType.SHORT: "a 16-bit integer (short)",
    ConfigType.INT: "a 32-bit integer",
    ConfigType.LONG: "a 64-bit integer (long)",
}


def parse_type(name: str, value: Any, type: ConfigType, load: ClassLoader | None = None) -> Any:
    """Parse a string to a value of this type.

    A value that has the type already is kept, None stays None. Raises ConfigError.
    """
    if value is None:
        return None
    trimmed = value.strip(BLANKS) if isinstance(value, str) else None
    match type:
        case ConfigType.BOOLEAN:
            return _boolean(name, value, trimmed)
        case ConfigType.STRING | ConfigType.PASSWORD:
            if trimmed is None:
                raise ConfigError(name, value, f"Expected value to be a string, but it was a {_class_of(value)}")
            if type is ConfigType.STRING:
                return trimmed
            return value if isinstance(value, Password) else Password(trimmed)
        case ConfigType.INT | ConfigType.SHORT | ConfigType.LONG:
            return _integer(name, value, trimmed, type)
        case ConfigType.DOUBLE:
            return _double(name, value, trimmed)
        case ConfigType.LIST:
            if trimmed is not None:
                return _COMMA.split(trimmed) if trimmed else []
            if isinstance(value, list | tuple):
                return list(value)
            raise ConfigError(name, value, "Expected a comma separated list.")
        case ConfigType.CLASS:
            return _class(name, value, trimmed, load)


def _boolean(name: str, value: Any, trimmed: str | None) -> bool:
    if isinstance(value, bool):
        return value
    match (trimmed or "").casefold():  # as equalsIgnoreCase, which takes a long s for an s
        case "true":
            return True
        case "false":
            return False
    raise ConfigError(name, value, "Expected value to be either true or false")


def _integer(name: str, value: Any, trimmed: str | None, type: ConfigType) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if trimmed is None:
        raise ConfigError(name, value, f"Expected value to be {_INTEGERS[type]}, but it was a {_class_of(value)}")
    number = whole_number(trimmed, _BITS[type])
    if number is not None:
        return number
    raise ConfigError(name, value, f"Not a number of type {type.name}")


def _double(name: str, value: Any, trimmed: str | None) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if trimmed is None:
        raise ConfigError(name, value, f"Expected value to be a double, but it was a {_class_of(value)}")
    number = double(trimmed)
    if number is not None:
        return number
    raise ConfigError(name, value, "Not a number of type DOUBLE")


def _class(name: str, value: Any, trimmed: str | None, load: ClassLoader | None) -> Any:
    if trimmed is None:
        return value
    if load is None:
        return trimmed
    try:
        found = load(trimmed)
    except LookupError as error:
        raise ConfigError(name, value, str(error)) from error
    if found is None:
        raise ConfigError(name, value, f"Class {value} could not be found.")
    return found


def _class_of(value: object) -> str:
    names = {bool: "java.lang.Boolean", int: "java.lang.Long", float: "java.lang.Double"}
    return names.get(type(value), type(value).__qualname__)


def to_text(value: Any, type: ConfigType | None) -> str | None:
    """Return a parsed value as a string: lists with commas, classes by name, passwords hidden; None stays None."""
    if value is None:
        return None
    if type is ConfigType.LIST:
        return ",".join(map(java_text, value))
    if type is ConfigType.CLASS and not isinstance(value, str):
        named: str = java_class_name(value) if inspect.isclass(value) else value.java_name
        return named
    return java_text(value)
