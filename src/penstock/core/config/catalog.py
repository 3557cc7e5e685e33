"""Catalog of plugins, and the names by which configurations refer to them.

Pure data: ``plugins`` finds the classes and makes a Catalog of them. All rules about the class that a name means are in
this file. Java: ``Plugins``, ``DelegatingClassLoader``, ``PluginUtils`` and ``PluginDesc`` of
``runtime.isolation``; versions are KIP-891.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import ConfigDef
from penstock.api.config_types import UnusableClassError
from penstock.api.errors import ConfigError, ConnectError
from penstock.core.config.unknown.similar_names import question, similar_classes
from penstock.core.config.versions import UNDEFINED_VERSION, VersionRange, version_key
from penstock.core.model.messages import PluginFailed

_MAX_LISTED = 25
"""Names of connectors in the message about one that does not exist."""
BAD_REQUEST = "org.apache.kafka.connect.runtime.rest.errors.BadRequestException"


class Kind(enum.Enum):
    """Kind of a plugin; the value is the ``type`` that the REST interface shows."""

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
        """Java's name of the base class, for messages."""
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
    """Plugin class. It may be of several kinds: most converters are header converters as well."""

    java_name: str
    kinds: tuple[Kind, ...]
    version: str
    config_def: Callable[[], ConfigDef] = field(compare=False)
    type: Any = field(compare=False, default=None, repr=False)
    location: str = "classpath"
    meant: tuple[str, ...] = ()
    """Full names of the nested classes, for a class that only holds them, such as ``HoistField``."""
    problem: str = ""
    """Sentence that says why the class, which is listed, cannot be used; empty if it can."""
    native: bool = False
    """Whether it is shipped with this runtime, and not with Java Connect: its alias gives way to that of a plugin."""

    @property
    def simple_name(self) -> str:
        return self.java_name.rpartition(".")[2].rpartition("$")[2]

    def __str__(self) -> str:
        return f"class {self.java_name}"


class Catalog:
    """Set of all plugin classes. It may have a class in several versions and from several places."""

    def __init__(self, classes: Iterable[PluginClass]) -> None:
        self._by_name: dict[str, list[PluginClass]] = {}
        self._unusable: dict[str, PluginClass] = {}
        for each in classes:
            if each.problem:
                self._unusable.setdefault(each.java_name, each)
                continue
            same = self._by_name.setdefault(each.java_name, [])
            if not any((each.version, each.location) == (other.version, other.location) for other in same):
                same.append(each)
        for same in self._by_name.values():
            same.sort(key=_rank)
        self._aliases = _aliases(each for same in self._by_name.values() for each in same)
        self._aliases_of_unusable = _aliases(self._unusable.values())

    def not_found(self, name: str, *kinds: Kind) -> str:
        """Return the sentence about a class that is of none of these kinds, with the class that was probably meant."""
        return f"Class {name} could not be found" + (self._meant(name, *kinds) or ".")

    def _meant(self, name: str, *kinds: Kind) -> str:
        return question(similar_classes(name.strip(), (each.java_name for each in self.of_kind(*kinds))))

    def of_kind(self, *kinds: Kind) -> list[PluginClass]:
        """Return the classes of any of these kinds, sorted by name."""
        found = (each for same in self._by_name.values() for each in same if any(kind in each.kinds for kind in kinds))
        return sorted(found, key=lambda each: (each.java_name, _rank(each)))

    def load(self, name: str) -> PluginClass | None:
        """Return the newest class of this full name or alias; None if there is none, or if the alias is ambiguous."""
        same = self._versions(name)
        return same[-1] if same else None

    def _versions(self, name: str) -> list[PluginClass]:
        return self._by_name.get(self._aliases.get(name, name), [])

    def choose(self, name: str, wanted: str | None, near: str | None = None) -> PluginClass | None:
        """Return the class of this full name or alias in a wanted version, such as ``1.2`` or ``[1.0,2.0)``.

        A class from the place ``near`` is preferred, then the newest. None if there is no such class. Raises
        ConfigError if no version of it matches. Java: ``DelegatingClassLoader.findPluginLoader``.
        """
        same, wanted_range, chosen = self._versions(name), VersionRange.parse(wanted), None
        for each in same:
            if wanted_range is None or wanted_range.contains(each.version):
                chosen = each
            if chosen is not None and chosen.location == near:
                break
        if same and chosen is None:
            available = ", ".join(self.available(name))
            raise ConfigError(
                f"Plugin {same[0].java_name} not found that matches the version range {wanted_range}, "
                f"available versions: [{available}]"
            )
        return chosen

    def available(self, name: str) -> list[str]:
        """Return the versions of this class, each once for each of its kinds, as Java does."""
        return [each.version for each in self._versions(name) for _ in each.kinds]

    def versions(self, name: str | None, *kinds: Kind) -> list[str]:
        """Return the versions in which this class is of one of these kinds, each once, the newest last."""
        same = [] if name is None else self._versions(name)
        return list(dict.fromkeys(each.version for each in same if any(kind in each.kinds for kind in kinds)))

    def load_any(self, name: str) -> PluginClass | None:
        """Return the class as ``load`` does, or the class of this full name that only holds others.

        Raises UnusableClassError for a class that cannot be used.
        """
        found = self.load(name) or self._holder(name)
        if found is None and (unusable := self._unusable_class(name)):
            raise UnusableClassError(unusable.problem, unusable.java_name)
        return found

    def load_named(self, name: str) -> PluginClass:
        """Return the class as ``load_any`` does, for the value of a setting.

        Raises LookupError with the sentence about a class that does not exist.
        """
        found = self.load_any(name)
        if found is None:
            raise LookupError(self.not_found(name, *Kind))
        return found

    def problem(self, name: str) -> str | None:
        """Return why the class of this full name or alias cannot be used; None if it can, or if there is none."""
        unusable = self._unusable_class(name)
        return None if unusable is None else unusable.problem

    def _unusable_class(self, name: str) -> PluginClass | None:
        return None if self._versions(name) else self._unusable.get(self._aliases_of_unusable.get(name, name))

    def _holder(self, name: str) -> PluginClass | None:
        held = [each for each in self.of_kind(*Kind) if each.java_name.startswith(f"{name}$")]
        if not held:
            return None
        names = tuple(each.java_name for each in held)
        return PluginClass(name, held[0].kinds, held[0].version, ConfigDef, location=held[0].location, meant=names)

    def connector(self, name: str) -> PluginClass:
        """Return the connector of this full name or alias. Raises ConnectError, which enumerates the connectors."""
        found = self.load(name)
        if found is not None and any(kind in found.kinds for kind in CONNECTORS):
            return found
        if problem := self.problem(name):
            raise ConnectError(problem)
        known = self.of_kind(*CONNECTORS)
        names = list(dict.fromkeys(each.java_name for each in known))
        shown = ", ".join(names[:_MAX_LISTED])
        if left := len(names[_MAX_LISTED:]):
            shown += f" and {left} more, see GET /connector-plugins"
        if sum(each.simple_name in (name, name + "Connector") for each in known) > 1:
            problem = f"More than one connector matches alias {name}. Please use full package and class name instead."
            raise ConnectError(f"{problem} Classes found: {shown}")
        place = ". Its jar, or its Python package, must be in a folder of the worker's plugin.path"
        hint = self._meant(name, *CONNECTORS) or (place if "." in name else "")
        raise ConnectError(
            f"Failed to find any class that implements Connector and which name matches {name}, "
            f"available connectors are: {shown}{hint}"
        )

    def default_version(self, name: str | None, kind: Kind, near: str | None = None) -> str | None:
        """Return the version that is used by default: from the place ``near``, else the newest of this kind."""
        chosen = None
        for each in [] if name is None else self._versions(name):
            if kind in each.kinds:
                chosen = each
                if each.location == near:
                    break
        return None if chosen is None else chosen.version

    def listing(self, connectors_only: bool = True, unusable: bool = False) -> list[dict[str, str]]:
        """Return the body of ``GET /connector-plugins``; the same class and version in several places is listed once.

        A plugin that does not report its version is listed without one. With ``unusable``, the classes that cannot be
        used follow, with their ``problem``.
        """
        kinds = CONNECTORS if connectors_only else LISTED
        rows = ((each.java_name, kind.value, each.version) for kind in kinds for each in self.of_kind(kind))
        listed = [
            {"class": name, "type": kind, **({} if version == UNDEFINED_VERSION else {"version": version})}
            for name, kind, version in dict.fromkeys(rows)
        ]
        if not unusable:
            return listed
        others = [(kind, self._unusable[name]) for kind in kinds for name in sorted(self._unusable)]
        return listed + [
            {"class": each.java_name, "type": kind.value, "problem": each.problem}
            for kind, each in others
            if kind in each.kinds
        ]


def _rank(found: PluginClass) -> tuple[tuple[tuple[int, int, str], ...], bool, str]:
    """Return the sort key of classes of the same name: by version; of equal ones the worker's own comes last."""
    return version_key(found.version), found.location == "classpath", found.location


def _aliases(classes: Iterable[PluginClass]) -> dict[str, str]:
    """Return the simple names, with and without the kind at their end, that mean only one class.

    A name that means one class where there are no native ones, as in Java Connect, means the same class here.
    """
    meanings: dict[str, dict[str, PluginClass]] = {}
    for each in classes:
        simple = each.simple_name
        meanings.setdefault(simple, {})[each.java_name] = each
        for kind in each.kinds:
            suffix = "Connector" if kind in CONNECTORS else kind.interface
            at = simple.rfind(suffix)
            meanings.setdefault(simple[:at] if at > 0 else simple, {})[each.java_name] = each
    found: dict[str, str] = {}
    for alias, named in meanings.items():
        for names in ([*named], [name for name, each in named.items() if not each.native]):
            if len(names) == 1:
                found[alias] = names[0]
    return found


@dataclass(frozen=True, slots=True)
class Classes:
    """Recommender of all classes of a kind (Java: ``PluginsRecommenders``, as for the next two)."""

    catalog: Catalog
    kind: Kind

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self.catalog.of_kind(self.kind))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Versions:
    """Recommender of the versions of the class that another setting names; invisible if it names none."""

    catalog: Catalog
    class_key: str
    kinds: tuple[Kind, ...]

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        found = parsed.get(self.class_key)
        return [*self.catalog.versions(getattr(found, "java_name", found), *self.kinds)]

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return parsed.get(self.class_key) is not None


@dataclass(frozen=True, slots=True)
class Fixed:
    """Recommender of fixed values."""

    values: tuple[Any, ...]

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return list(self.values)

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return True


@contextmanager
def asking() -> Iterator[None]:
    """Turn an exception of a plugin's own code into PluginFailed, with the status that Java has for such an exception.

    TimeoutError passes unchanged.
    """
    try:
        yield
    except TimeoutError:
        raise
    except Exception as error:
        raise PluginFailed(400 if is_bad_request(error) else 500, str(error) or repr(error)) from error


def is_bad_request(error: Exception) -> bool:
    return getattr(error, "java_name", None) == BAD_REQUEST
