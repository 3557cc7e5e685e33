"""A type of PostgreSQL, and the field of Connect that its columns become under some settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.api.schema import Schema
from penstock.connectors.postgres.settings import PostgresSettings

Read = Callable[[str], Any]
MODES = {
    "decimal.handling.mode": "decimals",
    "time.precision.mode": "times",
    "binary.handling.mode": "binary",
    "interval.handling.mode": "intervals",
}
"""Settings that choose the field of a type, and their names in ``PostgresSettings``."""


@dataclass(frozen=True, slots=True)
class ValueType:
    """``schema`` is that of a value that can't be null; ``nothing`` a text that says nothing, if that is not empty."""

    schema: Schema
    read: Read
    nothing: str | None = None


@dataclass(frozen=True, slots=True)
class TypeMapping:
    """Some types of PostgreSQL that become the same field of Connect."""

    name: str
    """The types as PostgreSQL's documentation names them."""
    types: frozenset[str]
    """Their names in ``pg_type``."""
    of: Callable[[int, PostgresSettings], ValueType]
    """Makes the field of a type modifier."""
    setting: str = ""
    """The setting that chooses this field, of MODES."""
    modes: tuple[str, ...] = ()
    """Values of the setting."""
    modifiers: tuple[int, int] | None = None
    """The least and the greatest type modifier; None: any, also none (-1)."""
    range: str = ""
    """The values that the field can hold; empty: all that the type has."""
    beyond: str = ""
    """The outcome for other values."""
    declared: tuple[str, ...] = ()
    """Columns of these types as tests declare them in a real database."""

    def takes(self, type: str, modifier: int, settings: PostgresSettings) -> bool:
        """Return whether a column of a type becomes this field."""
        return (
            type in self.types
            and (not self.setting or getattr(settings, MODES[self.setting]) in self.modes)
            and (self.modifiers is None or self.modifiers[0] <= modifier <= self.modifiers[1])
        )
