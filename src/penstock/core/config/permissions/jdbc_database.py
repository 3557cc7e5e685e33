"""The description of a kind of database: the form of its JDBC URLs, and the properties of its drivers that are safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from penstock.core.config.permissions.jdbc_urls import ParsedUrl


@dataclass(frozen=True, slots=True)
class JdbcDatabase:
    """One kind of database. Names of properties are given as documented, and compared without their case."""

    form: str
    """The form of its URLs, for messages."""
    read: Callable[[str], ParsedUrl]
    """Takes what follows ``jdbc:`` and the kind in a URL. Raises UrlError."""
    drivers: frozenset[str]
    values: frozenset[str]
    files: frozenset[str] = frozenset()
    choices: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Properties of which some values are safe."""
    plain: bool = False
    """Whether values may only be words and numbers: where the driver puts them into SQL."""

    def names(self) -> list[str]:
        return sorted({*self.values, *self.files, *self.choices}, key=str.casefold)
