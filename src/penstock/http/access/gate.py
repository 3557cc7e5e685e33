"""The gate that every message to the worker passes: may this principal do that, what is it shown, what is recorded.

``DEMANDS`` says which action a message needs; a message that is not in it needs ``admin``. Without
``penstock.authorization.file`` everything is allowed and shown, as in Java, and recorded nevertheless.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from penstock.core.config.secrets import restored
from penstock.core.model import messages as m
from penstock.http.access import audit
from penstock.http.access import shown as shows
from penstock.http.access.authentication.principals import Principal, principal_of
from penstock.http.access.files import ReloadedFile
from penstock.http.access.roles import ACTIONS, Roles
from penstock.http.access.shown import Passwords, Shown
from penstock.threads import in_thread

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
OF_LEVELS = (m.SetLogger, m.SetClusterLogger)
WITH_CONFIG = (m.CreateConnector, m.PutConfig, m.PatchConfig, m.RollBack, m.DeleteConnector)


@dataclass(frozen=True, slots=True)
class Gate:
    roles: ReloadedFile[Roles] | None = None
    passwords: Passwords = lambda config: ()

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
        if recorded and isinstance(request, OF_LEVELS) and request.name == audit.LOGGER:
            write(None)
        before = await self._config(request, ask) if recorded else {}
        try:
            answer = await ask(request)
        except m.Refused as refused:
            if recorded:
                write(refused.status)
            raise
        if recorded:
            status = answer.status if isinstance(answer, m.Reply) else answer.status_code
            done = isinstance(request, WITH_CONFIG) and status < 400
            write(status, difference=await self._difference(request, before, answer) if done else None)
        if self.roles is None or not isinstance(answer, m.Reply) or answer.status >= 400:
            return answer
        return await self._shown(Shown(self.roles.content(), principal, self.passwords), request, answer, ask)

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

    async def _difference(
        self, request: m.Request, before: Mapping[str, str], answer: m.Reply | Response
    ) -> dict[str, Any]:
        # It may call plugins, and looks for secrets.
        return await in_thread(lambda: audit.difference(before, _after(request, before, answer), self.passwords))

    @staticmethod
    async def _shown(shown: Shown, request: m.Request, answer: m.Reply, ask: Ask) -> m.Reply:
        if not isinstance(request, shows.WITH_CONFIG):
            return answer
        needed = None
        if (first := shown.needs(request)) is not None:
            about = await ask(first)
            needed = about.body if isinstance(about, m.Reply) and about.status == 200 else None
        return replace(answer, body=await in_thread(lambda: shown.answer(request, answer.body, needed)))

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


def demand(request: m.Request) -> tuple[str, str | None]:
    """The action that a message needs, and the connector; None if it is no matter of one connector."""
    action = VIEW if isinstance(request, OF_ALL) else DEMANDS.get(type(request), ADMIN)
    if isinstance(request, m.ValidateConfig):
        return action, request.config.get("name")
    return action, None if action == ADMIN or isinstance(request, m.GetPluginConfig) else getattr(request, "name", None)


def _refusal(principal: Principal, action: str, connector: str | None) -> str:
    what = "" if connector is None else f" connector {connector}"
    return f"{principal.name or 'An unknown user'} may not {action}{what}"


def _after(request: m.Request, before: Mapping[str, str], answer: m.Reply | Response) -> dict[str, str | None]:
    """Old values in place of masks that were sent back, as the worker takes them."""
    config: dict[str, str | None] = {}
    match request:
        case m.CreateConnector(config=given) | m.PutConfig(config=given):
            config = given
        case m.PatchConfig(patch=patch):
            config = {**before, **patch}
        case m.RollBack():  # to what, the answer says
            shown = answer.body if isinstance(answer, m.Reply) else json.loads(bytes(answer.body))
            config = dict(shown["config"])
    return {name: value for name, value in restored(config, before).items() if value is not None}
