"""A Java plugin's definitions of settings, as discovery has kept them.

Documentation and forms need no JVM; a configuration is validated in the worker's JVM, which has the code in the
definitions: their validators and recommenders.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigKey, ConfigType, ConfigValue, Importance, Width, parse_type
from penstock.api.errors import ConnectError
from penstock.api.validators import Described
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.messages.base import JavaFailure
from penstock.hosts.jvm.messages.worker import ValidateByDefinition, ValidatedSetting
from penstock.hosts.jvm.plugins.catalogue import JavaPlugin
from penstock.hosts.jvm.plugins.control import CALL_SECONDS, ControlJvm, close_later
from penstock.hosts.jvm.session import JvmSession


def config_def(plugin: JavaPlugin, jvm: ControlJvm | None) -> ConfigDef:
    """Return the definitions of a plugin of the catalogue. Without a JVM only types are checked.

    Raises the plugin's error if it could not say what its settings are.
    """
    document = plugin.document
    if (error := document.get("config_error")) is not None:
        raise java_error(msgspec.convert(error, JavaFailure))
    defined = ConfigDef()
    defined.groups = list(document.get("groups", ()))
    for each in document.get("config", ()):
        defined.add(_key(each))
    if jvm is not None:
        defined.validated_elsewhere("", _Validation(plugin, jvm))
    return defined


def _key(kept: Mapping[str, Any]) -> ConfigKey:
    name, type = kept["name"], ConfigType[kept["type"]]
    return ConfigKey(
        name,
        type,
        NO_DEFAULT if kept["required"] else parse_type(name, kept["default"], type),
        None if kept["validator"] is None else Described(_in_the_jvm, kept["validator"]),
        Importance[kept["importance"]],
        kept["documentation"],
        kept["group"],
        kept["order"],
        Width[kept["width"]],
        kept["display"],
        tuple(kept["dependents"]),
        None,
        kept["internal"],
    )


def _in_the_jvm(name: str, value: Any) -> None:
    """Check nothing: the code of a validator is in the JVM."""


class _Validation:
    """Validation by one plugin's definitions, in one session as long as this object lives."""

    def __init__(self, plugin: JavaPlugin, jvm: ControlJvm) -> None:
        self._plugin, self._jvm = plugin.reference, jvm
        self._types = types_of(plugin.document)
        self._session: JvmSession | None = None

    def __call__(self, prefix: str, config: Mapping[str, Any]) -> Iterable[ConfigValue]:
        if self._session is None:
            name = self._plugin.java_class
            self._session = self._jvm.open(name, f"config-{name.rpartition('.')[2]}")
            weakref.finalize(self, close_later, self._session)
        request = ValidateByDefinition(self._plugin, prefix, dict(config))
        try:
            found = self._session.call(request, timeout=CALL_SECONDS).result
        except HostLost as lost:
            raise ConnectError(f"{self._plugin.java_class} has ended its JVM: {lost}") from lost
        return validated_values(found, {prefix + name: type for name, type in self._types.items()})


def types_of(plugin: Mapping[str, Any]) -> dict[str, str]:
    """Return the types of a plugin's settings, by name."""
    return {key["name"]: key["type"] for key in plugin.get("config", ())}


def validated_values(found: list[ValidatedSetting], types: Mapping[str, str]) -> list[ConfigValue]:
    """Return the outcome of a validation in the JVM, whose values are text already."""
    return [
        ConfigValue(
            each.name,
            [each.value] if types.get(each.name) == "LIST" and each.value is not None else each.value,
            each.recommended,
            each.errors,
            each.visible,
        )
        for each in found
    ]
