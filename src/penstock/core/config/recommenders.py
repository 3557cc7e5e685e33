"""Values that validation recommends for settings that name a plugin or its version.

Java: ``PluginsRecommenders``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.config.catalog import Catalog, Kind


@dataclass(frozen=True, slots=True)
class Classes:
    """Recommends all classes of a kind."""

    catalog: Catalog
    kind: Kind

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self.catalog.of_kind(self.kind))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Versions:
    """Recommends the versions of the class that another setting names; invisible without one."""

    catalog: Catalog
    class_key: str
    kinds: tuple[Kind, ...]

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        found = parsed.get(self.class_key)
        version = self.catalog.latest_version(getattr(found, "java_name", found), *self.kinds)
        return [] if version is None else [version]

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return parsed.get(self.class_key) is not None


@dataclass(frozen=True, slots=True)
class Fixed:
    """Always recommends the same values."""

    values: tuple[Any, ...]

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self.values)

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True
