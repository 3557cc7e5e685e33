"""The catalog of plugins, and the names by which configurations may call them.

Pure data: ``plugins`` finds the classes and makes a Catalog of them. All rules about which class a name means are in
this file. Java: ``Plugins``, ``DelegatingClassLoader``, ``PluginUtils`` and ``PluginDesc`` of
``runtime.isolation``; versions are KIP-891.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import ConfigDef
from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.versions import VersionRange, version_key


class Kind(enum.Enum):
    """The kinds of plugins; the value is the ``type`` that the REST interface shows."""

    SINK = "sink"
    SOURCE = "source"
    TRANSFORMATION = "transformation"
    PREDICATE = "predicate"
    CONVERTER = "converter"
    HEADER_CONVERTER = "header_converter"
    CONFIG_PROVIDER = "configprovider"
    OVERRIDE_POLICY = "connector_client_config_override_policy"

    @property
    def interface(self) -> str:
        """Java's name of the base class, as messages say it."""
        return _INTERFACES[self]


_INTERFACES = {
    Kind.SINK: "SinkConnector",
    Kind.SOURCE: "SourceConnector",
    Kind.TRANSFORMATION: "Transformation",
    Kind.PREDICATE: "Predicate",
    Kind.CONVERTER: "Converter",
    Kind.HEADER_CONVERTER: "HeaderConverter",
    Kind.CONFIG_PROVIDER: "ConfigProvider",
    Kind.OVERRIDE_POLICY: "ConnectorClientConfigOverridePolicy",
}
CONNECTORS = (Kind.SINK, Kind.SOURCE)
LISTED = (*CONNECTORS, Kind.TRANSFORMATION, Kind.PREDICATE, Kind.CONVERTER, Kind.HEADER_CONVERTER)


@dataclass(frozen=True, slots=True)
class PluginClass:
    """One class. A class may be of several kinds: most converters are header converters as well."""

    java_name: str
    kinds: tuple[Kind, ...]
    version: str
    config_def: Callable[[], ConfigDef] = field(compare=False)
    type: Any = field(compare=False, default=None, repr=False)
    location: str = "classpath"
    meant: tuple[str, ...] = ()
    """For a class that only holds others, such as ``HoistField``: their full names."""

    @property
    def simple_name(self) -> str:
        return self.java_name.rpartition(".")[2].rpartition("$")[2]

    def __str__(self) -> str:
        return f"class {self.java_name}"

    def described(self, kind: Kind) -> str:
        """The description that messages enumerate, as Java prints a ``PluginDesc``."""
        return (
            f"PluginDesc{{klass={self}, name='{self.java_name}', version='{self.version}', "
            f"encodedVersion={self.version}, type={kind.value}, typeName='{kind.value}', location='{self.location}'}}"
        )


class Catalog:
    """All plugin classes. Of two of the same name the one given first counts."""

    def __init__(self, classes: Iterable[PluginClass]) -> None:
        self._by_name: dict[str, PluginClass] = {}
        for each in classes:
            self._by_name.setdefault(each.java_name, each)
        self._aliases = _aliases(self._by_name.values())

    def of_kind(self, *kinds: Kind) -> list[PluginClass]:
        """The classes of any of these kinds, by name."""
        found = (each for each in self._by_name.values() if any(kind in each.kinds for kind in kinds))
        return sorted(found, key=lambda each: (each.java_name, version_key(each.version)))

    def load(self, name: str) -> PluginClass | None:
        """The class of this full name or alias; None if there is none, or if the alias may mean several."""
        return self._by_name.get(self._aliases.get(name, name))

    def load_any(self, name: str) -> PluginClass | None:
        """``load``, or the class of this full name that only holds others."""
        return self.load(name) or self._holder(name)

    def _holder(self, name: str) -> PluginClass | None:
        held = [each for each in self.of_kind(*Kind) if each.java_name.startswith(f"{name}$")]
        if not held:
            return None
        names = tuple(each.java_name for each in held)
        return PluginClass(name, held[0].kinds, held[0].version, ConfigDef, location=held[0].location, meant=names)

    def connector(self, name: str) -> PluginClass:
        """The connector of this full name or alias. Raises ConnectError, which enumerates what there is."""
        found = self.load(name)
        if found is not None and any(kind in found.kinds for kind in CONNECTORS):
            return found
        known = self.of_kind(*CONNECTORS)
        shown = ", ".join(each.described(_connector_kind(each)) for each in known)
        if sum(each.simple_name in (name, name + "Connector") for each in known) > 1:
            problem = f"More than one connector matches alias {name}. Please use full package and class name instead."
            raise ConnectError(f"{problem} Classes found: {shown}")
        hint = (
            ". A class that exists only in a jar can't be used: connectors are written in Python" if "." in name else ""
        )
        raise ConnectError(
            f"Failed to find any class that implements Connector and which name matches {name}, "
            f"available connectors are: {shown}{hint}"
        )

    def latest_version(self, name: str | None, *kinds: Kind) -> str | None:
        """The version of this class, if it is of one of these kinds."""
        found = None if name is None else self.load(name)
        return found.version if found and any(kind in found.kinds for kind in kinds) else None

    def require(self, found: PluginClass, wanted: str | None) -> None:
        """Check a wanted version, such as ``1.2`` or ``[1.0,2.0)``. Raises ConfigError if this class is of another."""
        wanted_range = VersionRange.parse(wanted)
        if wanted_range is not None and not wanted_range.contains(found.version):
            available = ", ".join(found.version for _ in found.kinds)
            raise ConfigError(
                f"Plugin {found.java_name} not found that matches the version range {wanted_range}, "
                f"available versions: [{available}]"
            )

    def listing(self, connectors_only: bool = True) -> list[dict[str, str]]:
        """The body of ``GET /connector-plugins``."""
        return [
            {"class": each.java_name, "type": kind.value, "version": each.version}
            for kind in (CONNECTORS if connectors_only else LISTED)
            for each in self.of_kind(kind)
        ]


def _connector_kind(found: PluginClass) -> Kind:
    return next(kind for kind in CONNECTORS if kind in found.kinds)


def _aliases(classes: Iterable[PluginClass]) -> dict[str, str]:
    """Simple names, with and without the kind at their end, that mean one class only."""
    meanings: dict[str, set[str]] = {}
    for each in classes:
        simple = each.simple_name
        meanings.setdefault(simple, set()).add(each.java_name)
        for kind in each.kinds:
            suffix = "Connector" if kind in CONNECTORS else kind.interface
            at = simple.rfind(suffix)
            meanings.setdefault(simple[:at] if at > 0 else simple, set()).add(each.java_name)
    return {alias: names.pop() for alias, names in meanings.items() if len(names) == 1}


@dataclass(frozen=True, slots=True)
class Classes:
    """Recommends all classes of a kind (Java: ``PluginsRecommenders``, as the two below)."""

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
