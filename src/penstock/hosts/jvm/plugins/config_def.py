"""A Java plugin's definitions of settings, as discovery has kept them.

All that documentation and forms show is here, without a JVM; what is code, the validators and recommenders of single
settings, is called in the worker's JVM when a configuration is validated.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigKey, ConfigType, Importance, Width, parse_type
from penstock.api.errors import ConfigError, ConnectError
from penstock.hosts.errors import HostLost
from penstock.hosts.jvm.errors import java_error
from penstock.hosts.jvm.plugins.control import CALL_SECONDS, ControlJvm, close_later
from penstock.hosts.jvm.session import Session


def config_def(plugin: Mapping[str, Any], jvm: ControlJvm | None) -> ConfigDef:
    """The definitions of a plugin of the catalogue. Without a JVM nothing is checked beyond the types.

    Raises the plugin's error if it could not say what its settings are.
    """
    if (error := plugin.get("config_error")) is not None:
        raise java_error(error)
    code = None if jvm is None else _Code(plugin, jvm)
    defined = ConfigDef()
    defined.groups = list(plugin.get("groups", ()))
    for each in plugin.get("config", ()):
        defined.add(_key(each, code))
    return defined


def _key(kept: Mapping[str, Any], code: _Code | None) -> ConfigKey:
    name, type = kept["name"], ConfigType[kept["type"]]
    return ConfigKey(
        name,
        type,
        NO_DEFAULT if kept["required"] else parse_type(name, kept["default"], type),
        _Check(code, name, kept["validator"]) if code is not None and kept["validator"] is not None else None,
        Importance[kept["importance"]],
        kept["documentation"],
        kept["group"],
        kept["order"],
        Width[kept["width"]],
        kept["display"],
        tuple(kept["dependents"]),
        _Recommend(code, name) if code is not None and kept["recommender"] else None,
        kept["internal"],
    )


class _Code:
    """Calls of one ConfigDef's code, in one session as long as this object lives."""

    def __init__(self, plugin: Mapping[str, Any], jvm: ControlJvm) -> None:
        self._plugin, self._jvm = {name: plugin[name] for name in ("class", "version")}, jvm
        self._session: Session | None = None

    def call(self, method: str, args: dict[str, Any]) -> Any:
        if self._session is None:
            name = self._plugin["class"]
            self._session = self._jvm.open(name, f"config-{name.rpartition('.')[2]}")
            weakref.finalize(self, close_later, self._session)
        try:
            return self._session.call(method, {"plugin": self._plugin, **args}, timeout=CALL_SECONDS).result
        except HostLost as lost:
            raise ConnectError(f"{self._plugin['class']} has ended its JVM: {lost}") from lost


class _Check:
    """A validator."""

    def __init__(self, code: _Code, name: str, described: str) -> None:
        self._code, self._name, self._described = code, name, described

    def __call__(self, name: str, value: Any) -> None:
        problem = self._code.call("definition.check", {"name": self._name, "value": _sent(value)})
        if problem is not None:
            raise ConfigError(problem)

    def __str__(self) -> str:
        return self._described


class _Recommend:
    """A recommender; the two questions are one call."""

    def __init__(self, code: _Code, name: str) -> None:
        self._code, self._name = code, name

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        values: list[Any] = self._ask(parsed)["values"]
        return values

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return bool(self._ask(parsed)["visible"])

    def _ask(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        sent = {name: _sent(value) for name, value in parsed.items()}
        answer: dict[str, Any] = self._code.call("definition.recommend", {"name": self._name, "parsed": sent})
        if (problem := answer.get("error")) is not None:
            raise ConfigError(problem)
        return answer


def _sent(value: Any) -> Any:
    """A parsed value as JSON: a class by its name, a password as it is."""
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return str.__str__(value)[:]
    if isinstance(value, list):
        return [_sent(each) for each in value]
    return value.java_name
