"""Table of all settings that the runtime defines for connectors, and what is derived from it.

Add a setting by adding a ``RuntimeSetting`` to the tuple of its subject. Validation, the answers of the REST interface,
masks, warnings, the reference and ``penstock help`` then know it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from penstock.api.config import ConfigDef, ConfigKey, ConfigValue, to_text
from penstock.api.connector import Connector
from penstock.core.config.attention import ATTENTION_SETTINGS
from penstock.core.config.catalog import CONNECTORS, Kind
from penstock.core.config.connector import CHAIN_SETTINGS, CONNECTOR_SETTINGS, ERROR_SETTINGS, LABEL_SETTINGS
from penstock.core.config.converter import CONVERTER_SETTINGS
from penstock.core.config.processes import PROCESS_SETTINGS
from penstock.core.config.restarts import RESTART_SETTINGS
from penstock.core.config.setting import Props, RuntimeSetting, SettingContext
from penstock.core.config.sink import SINK_SETTINGS
from penstock.core.config.source import SOURCE_SETTINGS

RUNTIME_SETTINGS: tuple[RuntimeSetting, ...] = (
    *CONNECTOR_SETTINGS,
    *CONVERTER_SETTINGS,
    *CHAIN_SETTINGS,
    *ERROR_SETTINGS,
    *RESTART_SETTINGS,
    *PROCESS_SETTINGS,
    *ATTENTION_SETTINGS,
    *LABEL_SETTINGS,
    *SOURCE_SETTINGS,
    *SINK_SETTINGS,
)
"""All settings, in the order in which the REST interface shows them: those of every connector come first."""


def settings_of(*kinds: Kind) -> Iterator[RuntimeSetting]:
    """Yield the settings that connectors of all of these kinds have."""
    return (setting for setting in RUNTIME_SETTINGS if set(kinds) <= set(setting.kinds))


def value_of(config: Mapping[str, str], name: str) -> str:
    """Return the value of a setting in a connector's configuration, or its default, as text.

    For a setting whose default depends on no context and is not null.
    """
    if name in config:
        return config[name]
    setting = next(each for each in RUNTIME_SETTINGS if each.name == name)
    return to_text(setting.default, setting.type) or ""


def runtime_config(*kinds: Kind, context: SettingContext | None = None, given: Collection[str] = ()) -> ConfigDef:
    """Return the definitions that connectors of all of these kinds have in a configuration with the ``given`` names."""
    config = ConfigDef()
    for setting in settings_of(*kinds):
        if setting.is_defined(given):
            setting.define(config, context or SettingContext())
    return config


def common_config() -> ConfigDef:
    """Return the definitions that every connector has."""
    return runtime_config(*CONNECTORS)


def optional_settings(kind: Kind) -> list[str]:
    """Return the names of settings that are defined only where they are given."""
    return [setting.name for setting in settings_of(kind) if setting.optional]


def described_settings(*kinds: Kind) -> dict[str, ConfigKey]:
    """Return the definitions of all settings of these kinds, families and optional ones included, for the reference."""
    config = ConfigDef()
    for setting in settings_of(*kinds):
        setting.define(config, SettingContext())
    return dict(config.keys)


def define_worker_settings(config: ConfigDef) -> None:
    """Define the worker's settings that connectors have under the same name."""
    for setting in RUNTIME_SETTINGS:
        if setting.worker_documentation:
            setting.define_for_worker(config)


def deprecated_settings() -> dict[str, str]:
    """Return why settings are deprecated, by name."""
    return {setting.name: setting.deprecated for setting in RUNTIME_SETTINGS if setting.deprecated}


def secret_settings() -> frozenset[str]:
    """Return the names of settings whose values are masked."""
    return _secrets(RUNTIME_SETTINGS)


@lru_cache(maxsize=1)
def _secrets(settings: tuple[RuntimeSetting, ...]) -> frozenset[str]:
    return frozenset(setting.name for setting in settings if setting.is_secret)


def without_effect(props: Props, kind: Kind, context: SettingContext) -> dict[str, str]:
    """Return a sentence for each given setting that another one leaves without effect, by name."""
    found = {each.name: each.without_effect(props, context) for each in settings_of(kind) if each.name in props}
    return {name: sentence for name, sentence in found.items() if sentence is not None}


def check_settings(
    props: Props, raw: Props | None, values: dict[str, ConfigValue], connector: Connector, kind: Kind
) -> None:
    """Add errors to the validated values of given settings.

    An error says that a setting cannot be a reference to a config provider (``raw`` has the values as the user gave
    them), or that this connector cannot have it.
    """
    for setting in settings_of(kind):
        if setting.name not in props or setting.name not in values:
            continue
        value, shown = values[setting.name], (raw or props).get(setting.name)
        if setting.literal is not None and shown is not None and "${" in shown:
            value.add_error(f"'{setting.name}' can't be a reference to a config provider ({shown}){setting.literal}")
        if refusal := setting.refused_on(setting.name, connector):
            value.add_error(refusal)
