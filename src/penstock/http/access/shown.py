"""Answers as a principal may see them: lists filtered, secrets of configurations masked without ``view-config``.

Secrets are settings whose names or values look like it, and those that a plugin defines as passwords. Of a history the
versions tell which plugins there have been.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.config.secrets import masked
from penstock.core.model import messages as m
from penstock.http.access.authentication.principals import Principal
from penstock.http.access.roles import Roles

Passwords = Callable[[Mapping[str, Any]], Collection[str]]
"""The names of settings of a configuration that its plugins define as passwords; may block."""
VIEW, VIEW_CONFIG = "view", "view-config"
WITH_CONFIG = (
    *(m.ListConnectors, m.GetConnector, m.GetConfig, m.GetTasks, m.ValidateConfig),
    *(m.CreateConnector, m.PutConfig, m.PatchConfig, m.RollBack, m.GetVersion, m.ListVersions, m.CompareVersions),
)
"""Requests whose answers may have configurations."""


@dataclass(frozen=True, slots=True)
class Shown:
    roles: Roles
    principal: Principal
    passwords: Passwords

    def needs(self, request: m.Request) -> m.Request | None:
        """What is to be asked first, to know the plugins of what ``answer`` is to mask."""
        match request:
            case m.GetTasks(name) if not self._sees(name):
                return m.GetConfig(name)
            case m.CompareVersions(name) if not self._sees(name):
                return m.ListVersions(name)
        return None

    def answer(self, request: m.Request, body: Any, needed: Any = None) -> Any:
        """``needed``: the answer to what ``needs`` says, None if there is none."""
        match request:
            case m.ListConnectors():
                seen = [name for name in body if self.roles.allow(self.principal, VIEW, name)]
                return seen if isinstance(body, list) else {name: self._listed(name, body[name]) for name in seen}
            case m.GetConfig(name):
                return self._config(name, body)
            case (
                m.GetConnector(name)
                | m.CreateConnector(name)
                | m.PutConfig(name)
                | m.PatchConfig(name)
                | m.RollBack(name)
            ):
                return {**body, "config": self._config(name, body["config"])}
            case m.GetVersion(name):
                return {**body, "config": body["config"] and self._config(name, body["config"])}
            case m.ListVersions(name) if not self._sees(name):
                known = self._of_history(body)
                return {**body, "versions": [without_secrets(each, known) for each in body["versions"]]}
            case m.CompareVersions(name) if not self._sees(name):
                return without_secrets(body, self._of_history(needed or {"versions": []}))
            case m.GetTasks(name):
                more = self.passwords(needed or {})
                return [{**task, "config": self._config(name, task["config"], more)} for task in body]
            case m.ValidateConfig(_, given) if not self._sees(given.get("name")):
                return {**body, "configs": _validated(body["configs"])}
        return body

    def _sees(self, name: str | None) -> bool:
        return self.roles.allow(self.principal, VIEW_CONFIG, name)

    def _config(self, name: str, given: dict[str, Any], known: Collection[str] = ()) -> dict[str, Any]:
        return given if self._sees(name) else masked(given, {*known, *self.passwords(given)})

    def _listed(self, name: str, entry: dict[str, Any]) -> dict[str, Any]:
        info = entry.get("info")
        return entry if info is None else {**entry, "info": {**info, "config": self._config(name, info["config"])}}

    def _of_history(self, body: dict[str, Any]) -> set[str]:
        """Of all versions; each has the difference to the one before it, the newest is first."""
        return {name for config in _configs(body["versions"]) for name in self.passwords(config)}


def _configs(versions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    config: dict[str, Any] = {}
    for version in reversed(versions):
        changes = version["difference"]
        config = {**config, **changes["added"], **{name: new for name, (_, new) in changes["changed"].items()}}
        config = {name: value for name, value in config.items() if name not in changes["removed"]}
        yield config


def _validated(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    passwords = {info["value"]["name"] for info in infos if _has_text(info) and _is_password(info)}
    shown = masked({info["value"]["name"]: info["value"]["value"] for info in infos if _has_text(info)}, passwords)
    return [
        {**info, "value": {**info["value"], "value": shown[info["value"]["name"]]}} if _has_text(info) else info
        for info in infos
    ]


def _has_text(info: dict[str, Any]) -> bool:
    return isinstance((info.get("value") or {}).get("value"), str)


def _is_password(info: dict[str, Any]) -> bool:
    return (info.get("definition") or {}).get("type") == "PASSWORD"


def without_secrets(body: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """A version or a comparison, the secrets in its difference masked."""
    given = body["difference"]
    changed = {
        name: [masked({name: value}, known)[name] for value in values] for name, values in given["changed"].items()
    }
    shown = {"added": masked(given["added"], known), "changed": changed, "removed": masked(given["removed"], known)}
    return {**body, "difference": shown}
