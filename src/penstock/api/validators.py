"""Checks of a setting's parsed value, worded as those of Java's ``ConfigDef``.

A validator is any callable of (name, value) that raises ConfigError; its ``str()`` is what documentation says about
valid values. Those here are immutable and may be shared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.errors import ConfigError
from penstock.java.hash_map import hash_order
from penstock.java.text import java_text

Validator = Callable[[str, Any], None]


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two bounds, either of which may be missing."""

    minimum: float | None = None
    maximum: float | None = None

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value is None:
            raise ConfigError(name, None, "Value must be non-null")
        if self.minimum is not None and value < self.minimum:
            raise ConfigError(name, value, f"Value must be at least {java_text(self.minimum)}")
        if self.maximum is not None and value > self.maximum:
            raise ConfigError(name, value, f"Value must be no more than {java_text(self.maximum)}")

    def __str__(self) -> str:
        bounds = [java_text(self.minimum)] if self.minimum is not None else []
        bounds.append("...")
        if self.maximum is not None:
            bounds.append(java_text(self.maximum))
        return f"[{','.join(bounds)}]"


def at_least(minimum: float) -> Range:
    """Make a check for numbers of at least this one."""
    return Range(minimum)


def between(minimum: float, maximum: float) -> Range:
    """Make a check for numbers between two, both included."""
    return Range(minimum, maximum)


class ValidString:
    """One of these strings, case-sensitive."""

    def __init__(self, *allowed: str | None) -> None:
        self.allowed = allowed

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value not in self.allowed:
            raise ConfigError(name, value, f"String must be one of: {self._listed()}")

    def _listed(self) -> str:
        return ", ".join(map(java_text, self.allowed))

    def __str__(self) -> str:
        return f"[{self._listed()}]"


class CaseInsensitiveValidString:
    """One of these strings in any case, listed in the order of Java's hash set."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = hash_order(text.upper() for text in allowed)

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value is None or value.upper() not in self.allowed:
            raise ConfigError(name, value, f"String must be one of (case insensitive): {', '.join(self.allowed)}")

    def __str__(self) -> str:
        return f"(case insensitive) [{', '.join(self.allowed)}]"


class ValidList:
    """A list without duplicates and empty strings, of these strings if any are given (KIP-1161)."""

    def __init__(self, *allowed: str, empty_allowed: bool = True, null_allowed: bool = False) -> None:
        self.element = ValidString(*allowed)
        self.empty_allowed = empty_allowed
        self.null_allowed = null_allowed

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value is None:
            if self.null_allowed:
                return
            raise ConfigError(f"Configuration '{name}' values must not be null.")
        if not value and not self.empty_allowed:
            valid = str(self.element) if self.element.allowed else "any non-empty value"
            raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {valid}")
        if len(set(value)) != len(value):
            raise ConfigError(f"Configuration '{name}' values must not be duplicated.")
        for item in value:
            if item == "":
                raise ConfigError(f"Configuration '{name}' values must not be empty.")
            if self.element.allowed:
                self.element(name, item)

    def __str__(self) -> str:
        return str(self.element) if self.element.allowed else ""


@dataclass(frozen=True, slots=True)
class ListSize:
    """A list with a maximum number of items."""

    maximum: int

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if len(value) > self.maximum:
            raise ConfigError(name, value, f"exceeds maximum list size of [{self.maximum}].")

    def __str__(self) -> str:
        return f"List containing maximum of {self.maximum} elements"


class NonNull:
    """Anything but null."""

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value is None:
            raise ConfigError(name, None, "entry must be non null")

    def __str__(self) -> str:
        return "non-null string"


class NonEmptyString:
    """Null, or a string with at least one character."""

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value == "":
            raise ConfigError(name, value, "String must be non-empty")

    def __str__(self) -> str:
        return "non-empty string"


class NonEmptyStringWithoutControlChars:
    """A string that is not empty and has no control characters, such as a name.

    Null passes: it is reported as missing elsewhere.
    """

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value is None:
            return
        if value == "":
            raise ConfigError(name, value, "String may not be empty")
        found = [str(ord(c)) for c in value if c < " " or "\x7f" <= c <= "\x9f"]
        if found:
            problem = f"String may not contain control sequences but had the following ASCII chars: {', '.join(found)}"
            raise ConfigError(name, value, problem)

    def __str__(self) -> str:
        return "non-empty string without ISO control characters"


class Matches:
    """A string that matches a regular expression as a whole; ``compile`` is for dialects other than Python's."""

    def __init__(self, pattern: str, compile: Callable[[str], Any] = re.compile) -> None:
        self.pattern = pattern
        self._compiled = compile(pattern)

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        if value is None or not self._compiled.fullmatch(value):
            raise ConfigError(name, value, f"String must match the regular expression {self.pattern}")

    def __str__(self) -> str:
        return f"text that matches {self.pattern}"


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose every item passes another validator."""

    item: Validator

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        for each in value or ():
            self.item(name, each)

    def __str__(self) -> str:
        return f"list of {self.item}"


@dataclass(frozen=True, slots=True)
class Described:
    """Any function, with the words that documentation uses for what it accepts."""

    check: Validator
    description: str

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        self.check(name, value)

    def __str__(self) -> str:
        return self.description


class Composite:
    """All of several validators; the first error is raised."""

    def __init__(self, *validators: Validator) -> None:
        self.validators: Sequence[Validator] = validators

    def __call__(self, name: str, value: Any) -> None:
        """Raise ConfigError unless the value of this setting is valid."""
        for validator in self.validators:
            validator(name, value)

    def __str__(self) -> str:
        return ", ".join(map(str, self.validators))
