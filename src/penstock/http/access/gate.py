"""The gate that every message to the worker passes: may this principal do that, what is it shown, what is recorded.

``DEMANDS`` says which action a message needs; a message that is not in it needs ``admin``. Without
``penstock.authorization.file`` everything is allowed and shown, as in Java, and recorded nevertheless.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from penstock.core.config.secrets import masked
from penstock.core.model import messages as m
from penstock.http.access import audit
from penstock.http.access.files import ReloadedFile
from penstock.http.access.principals import Principal, principal_of
from penstock.http.access.roles import ACTIONS, Roles

Ask = Callable[[m.Request], Awaitable[m.Reply | Response]]

VIEW, OPERATE, CONFIGURE, OFFSETS, ADMIN = "view", "operate", "configure", "offsets", "admin"
DEAD_LETTERS = "dead-letters"
DEMANDS: Mapping[type[m.Request], str] = {
    **dict.fromkeys((m.GetConnector, m.GetConfig, m.GetTasks, m.GetStatus, m.GetTaskStatus, m.GetTopics), VIEW),
    **dict.fromkeys((m.GetOffsets, m.ListVersions, m.GetVersion, m.CompareVersions, m.ListEvents, m.GetLogs), VIEW),
    **dict.fromkeys((m.RollBack, m.Preview), CONFIGURE),
    **dict.fromkeys((m.SetTargetState, m.StopConnector, m.RestartConnector, m.RestartTask, m.ResetTopics), OPERATE),
    **dict.fromkeys((m.CreateConnector, m.PutConfig, m.PatchConfig, m.DeleteConnector, m.ValidateConfig), CONFIGURE),
    **dict.fromkeys((m.AlterOffsets, m.ResetOffsets), OFFSETS),
    **dict.fromkeys((m.ListDeadLetters, m.GetDeadLetter, m.ReplayDeadLetters), DEAD_LETTERS),
    **dict.fromkeys((m.ListLoggers, m.GetLogger, m.SetLogger, m.SetClusterLogger), ADMIN),
}
OF_ALL = (m.GetRoot, m.GetHealth, m.ListPlugins, m.GetPluginConfig, m.ListConnectors)
"""For everybody who has any role; lists are filtered."""
OF_WORKERS = (m.PutTaskConfigs, m.FenceTasks, m.CheckSignature)
"""Signed, and checked by the worker itself."""
OF_HISTORY = (m.ListVersions, m.GetVersion, m.CompareVersions, m.ListEvents, m.GetLogs)
READS = (
    *(*OF_ALL, *OF_HISTORY, m.ReadRequest, m.GetOffsets, m.ListLoggers, m.GetLogger, m.ValidateConfig),
    *(m.CheckSignature, m.ListDeadLetters),
)
"""All others are changes, or show what records hold: they are recorded."""
WITH_CONFIG = (m.CreateConnector, m.PutConfig, m.PatchConfig, m.DeleteConnector)


@dataclass(frozen=True, slots=True)
class Gate:
    roles: ReloadedFile[Roles] | None = None

    async def __call__(self, http: Request, request: m.Request, ask: Ask) -> m.Reply | Response:
        """The answer to a message. Raises Refused (403) for one that is not allowed."""
        principal = principal_of(http)
        action, connector = demand(request)
        write = partial(audit.write, principal, f"{http.method} {http.url.path}", action=action, connector=connector)
        if not self.allows(principal, request):
            write(403)
            raise m.Refused(403, _refusal(principal, action, connector))
        request = replace(request, principal=principal.name)
        recorded = not isinstance(request, READS) and not principal.forwarded
        before = await self._config(request, ask) if recorded else {}
        try:
            answer = await ask(request)
        except m.Refused as refused:
            if recorded:
                write(refused.status)
            raise
        if recorded:
            status = answer.status if isinstance(answer, m.Reply) else answer.status_code
            changed = audit.difference(before, _after(request, before)) if isinstance(request, WITH_CONFIG) else None
            write(status, difference=changed)
        if self.roles is None or not isinstance(answer, m.Reply) or answer.status >= 400:
            return answer
        return replace(answer, body=self._shown(principal, request, answer.body))

    def allows(self, principal: Principal, request: m.Request) -> bool:
        if self.roles is None or isinstance(request, (*OF_WORKERS, m.GetHealth)):
            return True
        roles = self.roles.content()
        if isinstance(request, OF_ALL):
            return roles.has_any(principal)
        action, connector = demand(request)
        if isinstance(request, m.CreateConnector) and request.initial_offsets is not None:
            return all(roles.allow(principal, each, connector) for each in (action, OFFSETS))
        return roles.allow(principal, action, connector)

    def actions(self, principal: Principal, connector: str | None) -> list[str]:
        """What this principal may do with a connector, or with None with all of them."""
        if self.roles is None:
            return list(ACTIONS)
        roles = self.roles.content()
        return [action for action in ACTIONS if roles.allow(principal, action, connector)]

    def actions_on_some(self, principal: Principal) -> list[str]:
        """What this principal may do with at least one name of a connector."""
        granted = frozenset(ACTIONS) if self.roles is None else self.roles.content().granted(principal)
        return [action for action in ACTIONS if action in granted]

    def check(self, http: Request, action: str) -> None:
        """For what no message asks. Raises Refused (403) for those who may not do it with all connectors."""
        principal = principal_of(http)
        if self.roles is not None and not self.roles.content().allow(principal, action, None):
            audit.write(principal, f"{http.method} {http.url.path}", 403, action=action)
            raise m.Refused(403, _refusal(principal, action, None))

    @staticmethod
    async def _config(request: m.Request, ask: Ask) -> dict[str, str]:
        if not isinstance(request, WITH_CONFIG):
            return {}
        try:
            known = await ask(m.GetConfig(request.name))
        except m.Refused:
            return {}
        found = known.body if isinstance(known, m.Reply) and known.status == 200 else None
        return dict(found) if isinstance(found, dict) else {}

    def _shown(self, principal: Principal, request: m.Request, body: Any) -> Any:
        """An answer as this principal may see it."""
        assert self.roles is not None
        roles = self.roles.content()

        def config(name: str, given: dict[str, Any]) -> dict[str, Any]:
            return given if roles.allow(principal, "view-config", name) else masked(given)

        match request:
            case m.ListConnectors():
                seen = [name for name in body if roles.allow(principal, VIEW, name)]
                if isinstance(body, list):
                    return seen
                return {name: _with_info(body[name], partial(config, name)) for name in seen}
            case m.GetConfig(name):
                return config(name, body)
            case (
                m.GetConnector(name)
                | m.CreateConnector(name)
                | m.PutConfig(name)
                | m.PatchConfig(name)
                | m.RollBack(name)
            ):
                return {**body, "config": config(name, body["config"])}
            case m.GetVersion(name):
                return {**body, "config": body["config"] and config(name, body["config"])}
            case m.ListVersions(name) | m.CompareVersions(name) if not roles.allow(principal, "view-config", name):
                return without_secrets(body)
            case m.GetTasks(name):
                return [{**task, "config": config(name, task["config"])} for task in body]
            case m.ValidateConfig(_, given):
                return body if roles.allow(principal, "view-config", given.get("name")) else _validation(body)
        return body


def demand(request: m.Request) -> tuple[str, str | None]:
    """The action that a message needs, and the connector; None if it is no matter of one connector."""
    action = VIEW if isinstance(request, OF_ALL) else DEMANDS.get(type(request), ADMIN)
    if isinstance(request, m.ValidateConfig):
        return action, request.config.get("name")
    return action, None if action == ADMIN or isinstance(request, m.GetPluginConfig) else getattr(request, "name", None)


def _refusal(principal: Principal, action: str, connector: str | None) -> str:
    what = "" if connector is None else f" connector {connector}"
    return f"{principal.name or 'An unknown user'} may not {action}{what}"


def _after(request: m.Request, before: Mapping[str, str | None]) -> dict[str, str | None]:
    match request:
        case m.CreateConnector(config=config) | m.PutConfig(config=config):
            return {name: value for name, value in config.items() if value is not None}
        case m.PatchConfig(patch=patch):
            return {name: value for name, value in {**before, **patch}.items() if value is not None}
    return {}


def _with_info(entry: dict[str, Any], config: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    info = entry.get("info")
    return entry if info is None else {**entry, "info": {**info, "config": config(info["config"])}}


def _validation(body: dict[str, Any]) -> dict[str, Any]:
    def shown(info: dict[str, Any]) -> dict[str, Any]:
        value = info.get("value")
        return info if value is None else {**info, "value": {**value, **masked_value(value)}}

    return {**body, "configs": [shown(info) for info in body["configs"]]}


def masked_value(value: dict[str, Any]) -> dict[str, Any]:
    given = value.get("value")
    return {} if not isinstance(given, str) else {"value": masked({value["name"]: given})[value["name"]]}


def without_secrets(body: dict[str, Any]) -> dict[str, Any]:
    """A version or a comparison, or a list of versions, the secrets in its differences masked."""
    if "versions" in body:
        return {**body, "versions": [without_secrets(each) for each in body["versions"]]}
    given = body["difference"]
    changed = {name: [masked({name: value})[name] for value in values] for name, values in given["changed"].items()}
    shown = {"added": masked(given["added"]), "changed": changed, "removed": masked(given["removed"])}
    return {**body, "difference": shown}
