"""Settings by which a connector chooses its converters instead of its worker's, and their versions.

Java: the converter settings of ``ConnectorConfig`` with ``ConverterDefaults``; the versions are KIP-891.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.config import ConfigType, Importance, Width
from penstock.api.errors import ConfigError
from penstock.api.validators import Described
from penstock.core.config.catalog import Catalog, Classes, Kind, PluginClass, Versions
from penstock.core.config.setting import COMMON, ConverterDefault, InContext, RuntimeSetting, SettingContext
from penstock.core.config.versions import VERSION

CONVERTERS = {
    "key.converter": Kind.CONVERTER,
    "value.converter": Kind.CONVERTER,
    "header.converter": Kind.HEADER_CONVERTER,
}


def converter_defaults(
    catalog: Catalog, props: Mapping[str, str | None], worker: Mapping[str, str | None], near: str | None = None
) -> dict[str, ConverterDefault]:
    """Return the converters of a connector that names none; ``worker`` has the worker's own converter settings.

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


def require_kind(found: PluginClass, kind: Kind) -> None:
    """Raise ConfigError if the class is not of this kind, or only holds others."""
    if kind not in found.kinds:
        raise ConfigError(f"Class {found} does not implement the {kind.interface} interface")
    if found.meant:
        raise ConfigError(f"This class is abstract and cannot be created. Did you mean {', '.join(found.meant)}?")


def _of_kind(kind: Kind) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value is not None:
            require_kind(value, kind)

    return check


def _converter(name: str, kind: Kind, order: int) -> tuple[RuntimeSetting, RuntimeSetting]:
    what = name.removesuffix(".converter")

    def default(context: SettingContext) -> ConverterDefault:
        return context.converters.get(name, ConverterDefault())

    chosen = RuntimeSetting(
        name=name,
        type=ConfigType.CLASS,
        default=InContext(lambda context: default(context).plugin),
        validator=Described(_of_kind(kind), f"a class that is a {kind.interface}"),
        importance=Importance.LOW,
        documentation=f"The class that turns {what}s of records into bytes of Kafka's messages and back; any connector "
        f"works with any. By default the worker's own `{name}`.",
        group=COMMON,
        order=order,
        width=Width.SHORT,
        display_name=f"{what.capitalize()} converter class",
        recommender=InContext(lambda context: Classes(context.catalog, kind) if context.catalog else None),
    )
    version = RuntimeSetting(
        name=f"{name}.plugin.version",
        type=ConfigType.STRING,
        default=InContext(lambda context: default(context).version),
        validator=VERSION,
        importance=Importance.LOW,
        documentation=f"Version of the {what} converter.",
        group=COMMON,
        order=order + 1,
        width=Width.SHORT,
        display_name=f"{what.capitalize()} converter version",
        recommender=InContext(lambda context: Versions(context.catalog, name, (kind,)) if context.catalog else None),
    )
    return chosen, version


CONVERTER_SETTINGS = tuple(
    setting
    for number, (name, kind) in enumerate(CONVERTERS.items())
    for setting in _converter(name, kind, order=6 + 2 * number)
)
