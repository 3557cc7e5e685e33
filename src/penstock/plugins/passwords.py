"""Settings of a configuration that its plugins define as type PASSWORD, whatever their names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping

from penstock.api.config import ConfigType
from penstock.core.config.catalog import Catalog, PluginClass
from penstock.core.config.connector import CONNECTOR_CLASS
from penstock.core.config.converter import CONVERTERS

KEPT = 1024


def password_settings(
    catalog: Catalog, config: Mapping[str, str | None], allowed: Callable[[str], bool] = lambda name: True
) -> frozenset[str]:
    """Their names. Asks each plugin that is ``allowed`` for its settings once, which may block."""
    return frozenset(
        prefix + name
        for prefix, plugin in _named(config)
        if allowed(plugin) and (found := catalog.load(plugin)) is not None
        for name in _passwords(found)
        if prefix + name in config
    )


def _named(config: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """The plugins that a configuration names, each with what its settings begin with."""
    keys = {CONNECTOR_CLASS: "", **{use: f"{use}." for use in CONVERTERS}}
    for kind in ("transforms", "predicates"):
        for alias in (config.get(kind) or "").split(","):
            keys[f"{kind}.{alias.strip()}.type"] = f"{kind}.{alias.strip()}."
    for key, prefix in keys.items():
        if name := (config.get(key) or "").strip():
            yield prefix, name


@functools.lru_cache(KEPT)
def _passwords(plugin: PluginClass) -> frozenset[str]:
    try:
        keys = plugin.config_def().keys.values()
    except Exception:  # validation reports it
        return frozenset()
    return frozenset(key.name for key in keys if key.type is ConfigType.PASSWORD)
