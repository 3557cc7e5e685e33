"""Settings of the transforms and predicates that a connector names, added to its definitions under their aliases.

Each alias gets ``transforms.<alias>.type``, ``.plugin.version``, ``.predicate`` and ``.negate`` (KIP-585), and all
settings of the class itself, in a group of its own. Java: ``ConnectorConfig.enrich`` and ``EnrichablePlugin``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance, Width, parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import Described
from penstock.core.config.catalog import Catalog, Classes, Fixed, Kind, asking
from penstock.core.config.connector import MAX_ALIASES
from penstock.core.config.converter import require_kind
from penstock.core.config.setting import PREDICATES, TRANSFORMS
from penstock.core.model.messages import PluginFailed

Props = Mapping[str, str | None]


def enrich(config: ConfigDef, catalog: Catalog, props: Props, near: str | None = None) -> ConfigDef:
    """Return these definitions with those of all aliases.

    A class that cannot be used adds only its ``type`` and ``plugin.version``. ``near`` is the place of the connector's
    class.
    """
    enriched = ConfigDef(config)
    _Aliases("transforms", TRANSFORMS, Kind.TRANSFORMATION, catalog, props, near).define_all(enriched)
    _Aliases("predicates", PREDICATES, Kind.PREDICATE, catalog, props, near).define_all(enriched)
    return enriched


@dataclass(frozen=True, slots=True)
class _Aliases:
    """Aliases of one kind of plugin, listed in the setting ``key``."""

    key: str
    group: str
    kind: Kind
    catalog: Catalog
    props: Props
    near: str | None

    def define_all(self, config: ConfigDef) -> None:
        aliases = dict.fromkeys(parse_type(self.key, self.props.get(self.key), ConfigType.LIST) or [])
        if len(aliases) > MAX_ALIASES:
            raise ConfigError(f"'{self.key}' names {len(aliases)} aliases; {MAX_ALIASES} are accepted")
        for alias in aliases:
            self._define(config, alias)

    def _define(self, config: ConfigDef, alias: str) -> None:
        prefix, group = f"{self.key}.{alias}.", f"{self.group}: {alias}"
        type_key, version_key = f"{prefix}type", f"{prefix}plugin.version"
        what = self.kind.name.lower()
        named = self.props.get(type_key)
        found = None if named is None else self.catalog.load(named.strip())
        name = None if named is None else named.strip()
        version = self.catalog.default_version(name, self.kind, self.near)
        own: ConfigDef | None = None
        refused: ConfigError | None = None
        try:
            own = None if found is None else self._own(found.java_name, self.props.get(version_key))
        except ConfigError as error:
            refused = error

        def check_type(name: str, value: Any) -> None:
            self._check_negate(prefix)
            if value is not None:
                require_kind(value, self.kind)
                self.catalog.choose(value.java_name, self.props.get(version_key), self.near)
            if refused is not None:
                raise refused

        def check_version(name: str, value: Any) -> None:
            if value is not None and found is not None and self.kind in found.kinds:
                self.catalog.choose(found.java_name, value, self.near)

        config.define(
            type_key,
            ConfigType.CLASS,
            validator=Described(check_type, f"valid configs for {alias} {what}"),
            importance=Importance.HIGH,
            documentation=f"Class for the '{alias}' {what}.",
            group=group,
            order_in_group=0,
            width=Width.LONG,
            display_name=f"{self.kind.interface} type for {alias}",
            recommender=Classes(self.catalog, self.kind),
        )
        config.define(
            version_key,
            ConfigType.STRING,
            version,
            validator=Described(check_version, f"valid version for {alias} {what}"),
            importance=Importance.HIGH,
            documentation=f"Version of the '{alias}' {what}.",
            group=group,
            order_in_group=1,
            width=Width.LONG,
            display_name=f"{self.kind.interface} version for {alias}",
            recommender=Fixed(tuple(self.catalog.versions(name, self.kind))),
        )
        if own is not None:
            config.embed(prefix, group, 2, own)

    def _own(self, name: str, version: str | None) -> ConfigDef | None:
        """Return the settings of the class and the implicit ones, which hide settings of the class of the same name.

        Raises ConfigError, also the class's own, and PluginFailed for anything else that the class raises.
        """
        found = self.catalog.choose(name, version, self.near)
        if found is None or self.kind not in found.kinds:
            return None
        own = implicit() if self.kind is Kind.TRANSFORMATION else ConfigDef()
        try:
            with asking():
                return own.add_missing(found.config_def())
        except PluginFailed as failed:
            if isinstance(failed.__cause__, ConfigError):
                raise failed.__cause__ from None
            raise

    def _check_negate(self, prefix: str) -> None:
        negate, predicate = f"{prefix}negate", f"{prefix}predicate"
        if self.kind is Kind.TRANSFORMATION and negate in self.props and predicate not in self.props:
            problem = f"but there is no config '{predicate}' defining a predicate to be negated."
            raise ConfigError(f"Config '{negate}' was provided {problem}")


def implicit() -> ConfigDef:
    """Return the settings that every transform has besides its own."""
    return (
        ConfigDef()
        .define(
            "predicate",
            ConfigType.STRING,
            None,
            importance=Importance.MEDIUM,
            documentation="The alias of a predicate used to determine whether to apply this transformation.",
        )
        .define(
            "negate",
            ConfigType.BOOLEAN,
            False,
            importance=Importance.MEDIUM,
            documentation="Whether the configured predicate should be negated.",
        )
    )
