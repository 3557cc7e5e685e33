"""The settings by which a connector chooses its converters instead of its worker's, and their versions.

Java: the converter settings of ``ConnectorConfig`` with ``ConverterDefaults``; the versions are KIP-891.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance, Width
from penstock.api.errors import ConfigError
from penstock.api.validators import Described
from penstock.core.config.catalog import Catalog, Classes, Kind, PluginClass, Versions
from penstock.core.config.versions import VersionRange

COMMON = "Common"
CONVERTERS = {
    "key.converter": Kind.CONVERTER,
    "value.converter": Kind.CONVERTER,
    "header.converter": Kind.HEADER_CONVERTER,
}


@dataclass(frozen=True, slots=True)
class ConverterDefault:
    """The converter that a connector has from its worker, and the version of whichever it uses."""

    plugin: PluginClass | None = None
    version: str | None = None


NO_CONVERTERS: Mapping[str, ConverterDefault] = {name: ConverterDefault() for name in CONVERTERS}


def converter_defaults(
    catalog: Catalog, props: Mapping[str, str | None], worker: Mapping[str, str | None], near: str | None = None
) -> dict[str, ConverterDefault]:
    """What converters the connector gets where it names none; ``worker`` has the worker's own converter settings.

    ``near`` is the place of the connector's class.
    """

    def default(name: str, kind: Kind) -> ConverterDefault:
        inherited, own = worker.get(name), props.get(name)
        if own is not None:
            version = catalog.default_version(own, kind, near)
        else:
            version = worker.get(f"{name}.plugin.version") or catalog.default_version(inherited, kind)
        return ConverterDefault(None if inherited is None else catalog.load(inherited), version)

    return {name: default(name, kind) for name, kind in CONVERTERS.items()}


def define_converter(
    config: ConfigDef, name: str, kind: Kind, order: int, default: ConverterDefault, catalog: Catalog | None
) -> None:
    what = name.removesuffix(".converter")
    config.define(
        name,
        ConfigType.CLASS,
        default.plugin,
        validator=Described(_of_kind(kind), f"a class that is a {kind.interface}"),
        importance=Importance.LOW,
        documentation=f"The class that turns {what}s of records into bytes of Kafka's messages and back; any connector "
        f"works with any. By default the worker's own `{name}`.",
        group=COMMON,
        order_in_group=order,
        width=Width.SHORT,
        display_name=f"{what.capitalize()} converter class",
        recommender=Classes(catalog, kind) if catalog else None,
    )
    config.define(
        f"{name}.plugin.version",
        ConfigType.STRING,
        default.version,
        validator=VERSION,
        importance=Importance.LOW,
        documentation=f"Version of the {what} converter.",
        group=COMMON,
        order_in_group=order + 1,
        width=Width.SHORT,
        display_name=f"{what.capitalize()} converter version",
        recommender=Versions(catalog, name, (kind,)) if catalog else None,
    )


def require_kind(found: PluginClass, kind: Kind) -> None:
    """Raises ConfigError if the class is not of this kind, or only holds others."""
    if kind not in found.kinds:
        raise ConfigError(f"Class {found} does not implement the {kind.interface} interface")
    if found.meant:
        raise ConfigError(f"This class is abstract and cannot be created. Did you mean {', '.join(found.meant)}?")


def _of_kind(kind: Kind) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value is not None:
            require_kind(value, kind)

    return check


def _check_version(name: str, value: Any) -> None:
    VersionRange.parse(value)


VERSION = Described(_check_version, "a version, or a range of versions such as [1.0,2.0)")
