"""All settings there are, with what they belong to: of workers, of connectors, of every plugin, of Kafka's clients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.api.config import ConfigDef, ConfigKey, ConfigType
from penstock.commands import _families as families
from penstock.core.config.catalog import CONNECTORS, Catalog, Kind, PluginClass
from penstock.core.config.converter import CONVERTERS
from penstock.core.config.enrichment import implicit
from penstock.core.config.overrides import CLIENT_SETTINGS
from penstock.core.config.runtime_settings import described_settings, optional_settings
from penstock.core.config.unknown.similar_names import similar
from penstock.settings.definitions import distributed_config, standalone_config

_PLACE = "in a worker's properties or a mirror connector's configuration"
_NAMED = {
    Kind.TRANSFORMATION: "transforms.<alias>.",
    Kind.PREDICATE: "predicates.<alias>.",
    Kind.CONFIG_PROVIDER: "config.providers.<alias>.param.",
}
"""Plugins of which a configuration may have several, and the prefixes of their settings."""


@dataclass(frozen=True, slots=True)
class SettingOwner:
    """Something that has settings; ``prefix`` is what they begin with in a configuration, ``<alias>`` stands for any
    name.
    """

    name: str
    settings: Mapping[str, ConfigKey]
    prefix: str = ""
    plugin: PluginClass | None = None
    place: str = ""
    """Place of the settings, if it is not the owner's configuration."""

    def key(self, name: str) -> ConfigKey | None:
        """The definition of the setting of this name, as a configuration has it."""
        head, alias, tail = self.prefix.partition("<alias>")
        if not name.startswith(head):
            return None
        own = name.removeprefix(head)
        if alias:
            own = own.removeprefix(own.partition(".")[0])
        return families.matching(self.settings, own.removeprefix(tail)) if own.startswith(tail) else None


class SettingReference:
    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.owners = [*_runtime(), *(owner for found in catalog.of_kind(*Kind) for owner in _of_plugin(found))]

    def settings(self, name: str) -> list[tuple[SettingOwner, ConfigKey]]:
        """All definitions of the setting that a configuration calls so; those of families if it has none of its own."""
        found = [(owner, key) for owner in self.owners if (key := owner.key(name)) is not None]
        defined = [(owner, key) for owner, key in found if "<" not in key.name]
        own = [(owner, key) for owner in self.owners if (key := owner.settings.get(name)) is not None]
        return defined or found or own

    def plugins(self, name: str) -> list[SettingOwner]:
        """The plugins of this name, once for each way to use them. `HoistField` is both of its classes."""
        found = self.catalog.load(name)
        return [owner for owner in self.owners if owner.plugin is not None and _is(owner.plugin, found, name)]

    def close(self, name: str, others: Iterable[str] = ()) -> list[str]:
        """Names of settings and plugins, and ``others``, that are most like this one."""
        known = {key for owner in self.owners for key in owner.settings}
        known |= {each.java_name for each in self.catalog.of_kind(*Kind)}
        known |= {_short(each) for each in self.catalog.of_kind(*Kind)} | set(others)
        return similar(name, known)


def _is(plugin: PluginClass, found: PluginClass | None, name: str) -> bool:
    if found is not None:
        return plugin is found
    return any(each == name or each.startswith(f"{name}$") for each in (plugin.java_name, _short(plugin)))


def _short(plugin: PluginClass) -> str:
    return plugin.java_name.rpartition(".")[2]


def _runtime() -> Iterator[SettingOwner]:
    distributed, standalone = distributed_config().keys, standalone_config().keys
    yield SettingOwner("a worker", {**distributed, **families.OF_WORKERS, **families.OF_DISTRIBUTED_WORKERS})
    yield SettingOwner(
        "a standalone worker", {name: key for name, key in standalone.items() if name not in distributed}
    )
    common = described_settings(*CONNECTORS)
    said = {name for kind in CONNECTORS for name in optional_settings(kind)} & distributed.keys()  # of a worker
    yield SettingOwner("every connector", {name: key for name, key in common.items() if name not in said})
    for kind in (Kind.SOURCE, Kind.SINK):
        own = {name: key for name, key in described_settings(kind).items() if name not in common}
        yield SettingOwner(f"a {kind.value} connector", own)
    for prefix, client in CLIENT_SETTINGS.items():
        name = prefix.partition(".")[0]
        yield SettingOwner(f"the {name} of a connector", client.keys, prefix)
        yield SettingOwner(f"the {name} of a connector", client.keys, f"{name}.", place=_PLACE)
    groups = {**_topic_group().keys, **families.OF_TOPIC_GROUPS}
    yield SettingOwner("a topic creation group of a source connector", groups, "topic.creation.<alias>.")
    transforms = {**families.of_alias("transform", "transforms"), **implicit().keys}
    yield SettingOwner("every transform", transforms, "transforms.<alias>.")
    yield SettingOwner("every predicate", families.of_alias("predicate", "predicates"), "predicates.<alias>.")


def _topic_group() -> ConfigDef:
    """Return the settings of a group of ``topic.creation.groups`` and of the draft's ``topic.creation`` (KIP-158)."""
    config = ConfigDef()
    patterns = "regular expressions, separated by commas, that match names of topics as a whole"
    config.define("include", ConfigType.LIST, [], documentation=f"Topics that the group is for: {patterns}.")
    config.define("exclude", ConfigType.LIST, [], documentation=f"Topics that the group is not for: {patterns}.")
    config.define("partitions", ConfigType.INT, documentation="Number of partitions; -1 for the broker's default.")
    config.define("replication.factor", ConfigType.SHORT, documentation="Replicas; -1 for the broker's default.")
    draft = "Instead of `include`, for a rule that `topic.creation` names, the spelling of KIP-158's draft."
    return config.define("regex", ConfigType.STRING, None, documentation=draft)


def _of_plugin(found: PluginClass) -> Iterator[SettingOwner]:
    try:
        config = found.config_def()
    except Exception:
        config = ConfigDef()
    if any(kind in found.kinds for kind in CONNECTORS):
        yield SettingOwner(found.java_name, {**config.keys, **families.of_plugin(found.java_name)}, plugin=found)
    for kind, prefix in _NAMED.items():
        if kind in found.kinds:
            yield SettingOwner(found.java_name, config.keys, prefix, found)
    for use, kind in CONVERTERS.items():
        if kind in found.kinds:
            yield SettingOwner(found.java_name, config.keys, f"{use}.", found)
