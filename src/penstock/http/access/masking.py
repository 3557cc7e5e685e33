"""Replies as a principal may see them: masked, unless the principal has ``view-config`` for the connector.

Every reply passes ``ReplyMask.reply``, and what is not declared in ``UNMASKED`` is masked, so the reply to a new
request is masked until somebody has decided otherwise. Secrets are settings whose names or values look like it, and
those that plugins define as passwords. Lists of connectors have only those that the principal may ``view``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.core.config.secrets import MASK, is_secret, masked
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http.access.authentication.principals import Principal
from penstock.http.access.roles import Roles

Passwords = Callable[[Mapping[str, Any]], Collection[str]]
"""Returns the names of settings of a configuration that its plugins define as passwords; may block."""
VIEW, VIEW_CONFIG = "view", "view-config"
UNMASKED: Mapping[type[m.Request], str] = {
    local.GetPluginConfig: "definitions of settings, which are the same for every connector",
    m.GetStatus: "states and traces; the worker removes secrets from traces before it stores them",
    m.GetTaskStatus: "as GetStatus",
    m.RestartConnector: "the status, as GetStatus",
    local.ListEvents: "states and traces, as GetStatus",
    local.GetLogs: "lines of the log, from which the worker removes secrets when it writes them",
    m.GetOffsets: "positions, which are sent back unchanged to alter them",
    local.PlanOffsets: "as GetOffsets",
    m.SkipRecords: "positions of records",
    m.ListSkips: "as SkipRecords",
    local.Preview: "records; the worker removes secrets from errors",
    local.ListDeadLetters: "records and errors that connectors have met",
    local.GetDeadLetter: "as ListDeadLetters",
    local.ReplayDeadLetters: "positions of records",
    local.ListRecords: "records, in which fields that the connector masks are masked; as Preview",
}
"""The requests whose replies are shown unmasked to those who may make them, and what their replies consist of."""
WHOLE = (
    *(
        m.ListConnectors,
        m.GetConnector,
        m.GetConfig,
        local.GetVersion,
        local.ListVersions,
        local.ValidateConfig,
    ),
    *(m.CreateConnector, m.PutConfig, m.PatchConfig, m.RollBack),
)
"""Requests whose replies have configurations with their classes, by which passwords are known without a look-up."""
ERROR = {"error_code", "message"}
"""Members of an error; the router removes secrets from its message."""
NAMES = ("name", "connector")
"""Members that may have the name of the connector, which is shown whatever it looks like."""


@dataclass(frozen=True, slots=True)
class ReplyMask:
    roles: Roles
    principal: Principal
    passwords: Passwords

    def applies_to(self, request: m.Request, connector: str | None) -> bool:
        """Return whether ``reply`` may change the reply to this request, which concerns this connector."""
        if isinstance(request, m.ListConnectors):
            return True
        return type(request) not in UNMASKED and not self._sees(connector)

    def lookup(self, request: m.Request, connector: str | None) -> m.Request | None:
        """Return the request whose reply ``reply`` needs to know the connector's plugins; None if it needs none."""
        if connector is None or isinstance(request, WHOLE):
            return None
        return local.ListVersions(connector) if isinstance(request, local.CompareVersions) else m.GetConfig(connector)

    def reply(self, request: m.Request, connector: str | None, body: Any, found: Any = None) -> Any:
        """Return a reply's body as the principal may see it. ``found`` is the body of the reply to ``lookup``.

        Called where ``applies_to`` says so, on a thread: plugins may be asked.
        """
        if isinstance(body, dict) and body.keys() <= ERROR:
            return body
        match request:
            case m.ListConnectors():
                seen = [name for name in body if self.roles.allow(self.principal, VIEW, name)]
                return seen if isinstance(body, list) else {name: self._listed(name, body[name]) for name in seen}
            case local.ValidateConfig() if isinstance(body, dict):
                others = {name: value for name, value in body.items() if name != "configs"}
                return {**self._masked(others, connector), "configs": _validated(body.get("configs", []))}
            case local.ListVersions():
                return self._masked(body, connector, self._of_history(body))
            case local.CompareVersions():
                return self._masked(body, connector, self._of_history(found))
        return self._masked(body, connector, self.passwords(found) if found else ())

    def _sees(self, connector: str | None) -> bool:
        return self.roles.allow(self.principal, VIEW_CONFIG, connector)

    def _masked(self, body: Any, connector: str | None, known: Collection[str] = ()) -> Any:
        return mask_json(body, self.passwords, known, connector)

    def _listed(self, name: str, entry: Any) -> Any:
        if self._sees(name) or not isinstance(entry, dict):
            return entry if self._sees(name) else self._masked(entry, name)
        shown = self._masked({member: value for member, value in entry.items() if member != "status"}, name)
        return {member: shown.get(member, value) for member, value in entry.items()}

    def _of_history(self, body: Any) -> set[str]:
        """Return the passwords of all versions: a setting may have been the password of a former class."""
        versions = body.get("versions", []) if isinstance(body, dict) else []
        return {name for config in _configs(versions) for name in self.passwords(config)}


def mask_json(body: Any, passwords: Passwords, known: Collection[str] = (), connector: str | None = None) -> Any:
    """Return a JSON document with its secrets masked, wherever in it they are.

    Each object is masked as a configuration is (``core.config.secrets.masked``). Elements of a list have the name of
    the list, and a ``value`` has the ``name`` beside it as well. ``known`` has names of settings that are passwords;
    ``passwords`` adds those of objects that are whole configurations.
    """

    def shown(name: str, value: Any, known: Collection[str]) -> Any:
        match value:
            case str() if value == connector and name in NAMES:
                return value
            case str():
                return masked({name: value}, known)[name]
            case bool() | None:
                return value
            case dict():
                if name == "config" or "connector.class" in value:
                    known = {*known, *passwords(value)}
                texts = masked({key: each for key, each in value.items() if _is_text(key, each, connector)}, known)
                if isinstance(setting := value.get("name"), str) and "value" in texts:
                    texts["value"] = masked({setting: texts["value"]}, known)[setting]
                return {key: texts[key] if key in texts else shown(key, each, known) for key, each in value.items()}
            case list():
                return [shown(name, each, known) for each in value]
        return MASK if is_secret(name, known) else value

    return shown("", body, known)


def _is_text(name: str, value: Any, connector: str | None) -> bool:
    return isinstance(value, str) and not (value == connector and name in NAMES)


def _configs(versions: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the configurations of versions, which have the difference to the version before and come newest first."""
    config: dict[str, Any] = {}
    for version in reversed(versions):
        changes = version["difference"]
        config = {**config, **changes["added"], **{name: new for name, (_, new) in changes["changed"].items()}}
        config = {name: value for name, value in config.items() if name not in changes["removed"]}
        yield config


def _validated(infos: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Mask the values of a validation's results; definitions and errors have nothing that was not sent."""
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
