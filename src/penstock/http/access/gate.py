"""The gate that every request to the worker passes: authorization, audit, and masking of the reply.

``DEMANDS`` says which action a request needs; a request that is not in it needs ``admin``. A reply is masked unless
``masking.UNMASKED`` declares its request. Without ``penstock.authorization.file`` everything is allowed and shown, as
in Java; changes are recorded nevertheless.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from penstock.core.config.secrets import restored
from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.http.access import audit
from penstock.http.access.authentication.basic_auth import BasicAuth
from penstock.http.access.authentication.forwarded import Forwarded
from penstock.http.access.authentication.guard import Authentication, Tokens
from penstock.http.access.authentication.htpasswd import Htpasswd
from penstock.http.access.authentication.principals import Principal, client_of, forwarded_to, principal_of
from penstock.http.access.files import ReloadedFile
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.masking import Passwords, ReplyMask
from penstock.http.access.roles import ACTIONS, Roles
from penstock.http.access.shares import Shares
from penstock.threads import in_thread

Ask = Callable[[m.Request], Awaitable[m.Reply | Response]]

VIEW, OPERATE, CONFIGURE, OFFSETS, ADMIN = "view", "operate", "configure", "offsets", "admin"
DEAD_LETTERS, RECORDS, SKIP, CHECK = "dead-letters", "records", "skip", "check"
DEMANDS: Mapping[type[m.Request], str] = {
    **dict.fromkeys(
        (m.GetConnector, m.GetConfig, m.GetTasks, m.GetStatus, m.GetTaskStatus, m.GetTopics, m.ListSkips), VIEW
    ),
    **dict.fromkeys(
        (
            m.GetOffsets,
            local.ListVersions,
            local.GetVersion,
            local.CompareVersions,
            local.ListEvents,
            local.GetLogs,
        ),
        VIEW,
    ),
    **dict.fromkeys((m.RollBack, local.Preview, local.CheckConfig), CONFIGURE),
    **dict.fromkeys((m.SetTargetState, m.StopConnector, m.RestartConnector, m.RestartTask, m.ResetTopics), OPERATE),
    **dict.fromkeys(
        (m.CreateConnector, m.PutConfig, m.PatchConfig, m.DeleteConnector, local.ValidateConfig), CONFIGURE
    ),
    **dict.fromkeys((m.AlterOffsets, m.ResetOffsets, local.PlanOffsets), OFFSETS),
    **dict.fromkeys((local.ListDeadLetters, local.GetDeadLetter, local.ReplayDeadLetters), DEAD_LETTERS),
    local.ListRecords: RECORDS,
    local.CheckConnector: CHECK,
    **dict.fromkeys((m.SkipRecords, m.CancelSkips), SKIP),
    **dict.fromkeys((local.ListLoggers, local.GetLogger, local.SetLogger, m.SetClusterLogger), ADMIN),
}
OF_ALL = (
    local.GetRoot,
    m.GetHealth,
    local.ListPlugins,
    local.GetPluginConfig,
    m.ListConnectors,
)
"""Allowed to everybody who has any role; lists are filtered."""
OF_WORKERS = (m.PutTaskConfigs, m.FenceTasks, m.CheckSignature)
"""Signed by another worker; the worker checks the signature."""
OF_HISTORY = (
    local.ListVersions,
    local.GetVersion,
    local.CompareVersions,
    local.ListEvents,
    local.GetLogs,
)
BULK = "bulk"
"""Query parameter of the requests of a bulk action, with its ID."""
BULK_ID = re.compile("[0-9a-f]{12}")
READS = (
    *(
        *OF_ALL,
        *OF_HISTORY,
        m.ReadRequest,
        m.GetOffsets,
        local.ListLoggers,
        local.GetLogger,
        local.ValidateConfig,
    ),
    *(m.CheckSignature, local.ListDeadLetters, local.PlanOffsets),
)
"""Requests that the audit log does not record. All others are changes, or show the contents of records."""
OF_LEVELS = (local.SetLogger, m.SetClusterLogger)
WITH_CONFIG = (m.CreateConnector, m.PutConfig, m.PatchConfig, m.RollBack, m.DeleteConnector)

AUTHORIZATION = "penstock.authorization.file"
HTPASSWD = "penstock.authentication.htpasswd"
CERTIFICATES = "penstock.authentication.certificates"
JWKS = "penstock.authentication.oidc.jwks"


@dataclass(frozen=True, slots=True)
class RequestGate:
    roles: ReloadedFile[Roles] | None = None
    passwords: Passwords = lambda config: ()
    shares: Shares = field(default_factory=Shares)

    async def __call__(self, http: Request, request: m.Request, ask: Ask) -> m.Reply | Response:
        """Return the reply to a request, masked for its principal. Raises Refused (403) for one that is not allowed."""
        principal = principal_of(http)
        action, connector = demand(request)
        asked = f"{http.method} {http.url.path}"
        bulk = bulk_of(http)
        write = partial(
            audit.write, principal, asked, action=action, connector=connector, records=_records(request), bulk=bulk
        )
        if not self.allows(principal, request):
            write(403)
            raise m.Refused(403, refusal(principal, action, connector))
        request = replace(request, principal=principal.name, bulk=bulk)
        recorded = not isinstance(request, READS)
        if recorded and isinstance(request, OF_LEVELS) and request.name == audit.LOGGER:
            write(None)
        before = await self._config(request, ask) if recorded else {}
        try:
            async with self.shares.room(client_of(http), request):
                answer = await ask(request)
        except m.Refused as refused:
            if recorded or isinstance(request, m.CheckSignature):
                write(refused.status)
            raise
        status = answer.status if isinstance(answer, m.Reply) else answer.status_code
        if recorded or (isinstance(request, m.CheckSignature) and status >= 400):
            done = isinstance(request, WITH_CONFIG) and status < 400
            difference = await self._difference(request, before, answer) if done else None
            write(status, difference=difference, forwarded_to=forwarded_to(http))
        if self.roles is None:
            return answer
        mask = ReplyMask(self.roles.content(), principal, self.passwords)
        return await _masked(mask, request, connector, answer, ask)

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
        """Return the actions that this principal may take on a connector, or for None on all of them."""
        if self.roles is None:
            return list(ACTIONS)
        roles = self.roles.content()
        return [action for action in ACTIONS if roles.allow(principal, action, connector)]

    def actions_on_some(self, principal: Principal) -> list[str]:
        """Return the actions that this principal may take on at least one connector name."""
        granted = frozenset(ACTIONS) if self.roles is None else self.roles.content().granted(principal)
        return [action for action in ACTIONS if action in granted]

    def lister(self, http: Request) -> Callable[[str, str], bool]:
        """Authorize a path that makes no request of the worker and lists connectors. Return a function that says which
        actions the principal may take on which of them. Raises Refused (403) for a principal without any role.
        """
        principal = principal_of(http)
        if self.roles is None:
            return lambda action, connector: True
        roles = self.roles.content()
        if not roles.has_any(principal):
            audit.write(principal, f"{http.method} {http.url.path}", 403, action=VIEW)
            raise m.Refused(403, refusal(principal, VIEW, None))
        return lambda action, connector: roles.allow(principal, action, connector)

    def check(self, http: Request, action: str) -> None:
        """Authorize a path that makes no request of the worker. Raises Refused (403) unless the principal may take the
        action on all connectors.
        """
        principal = principal_of(http)
        if self.roles is not None and not self.roles.content().allow(principal, action, None):
            audit.write(principal, f"{http.method} {http.url.path}", 403, action=action)
            raise m.Refused(403, refusal(principal, action, None))

    async def _difference(
        self, request: m.Request, before: Mapping[str, str], answer: m.Reply | Response
    ) -> dict[str, Any]:
        # On a thread: it may call plugins, and searches for secrets.
        return await in_thread(lambda: audit.difference(before, _after(request, before, answer), self.passwords))

    @staticmethod
    async def _config(request: m.Request, ask: Ask) -> dict[str, str]:
        if not isinstance(request, WITH_CONFIG):
            return {}
        found = await _body(m.GetConfig(request.name), ask)
        return dict(found) if isinstance(found, dict) else {}


def _records(request: m.Request) -> dict[str, Any] | None:
    """Return the records that a request names, for the audit log."""
    match request:
        case m.SkipRecords():
            names: tuple[str, ...] = ("topic", "partition", "spans", "to", "restart")
        case local.ListRecords():
            names = ("topic", "partition", "start", "offsets", "search")
        case _:
            return None
    return {name: getattr(request, name) for name in names}


async def _masked(
    mask: ReplyMask, request: m.Request, connector: str | None, answer: m.Reply | Response, ask: Ask
) -> m.Reply | Response:
    """Mask a reply, also one of another worker: that may be Java's, which masks nothing."""
    body = answer.body if isinstance(answer, m.Reply) else json.loads(bytes(answer.body) or b"null")
    if body is None or not mask.applies_to(request, connector):
        return answer
    found = None
    if (lookup := mask.lookup(request, connector)) is not None:
        found = await _body(lookup, ask)
    shown = await in_thread(lambda: mask.reply(request, connector, body, found))
    if isinstance(answer, m.Reply):
        return replace(answer, body=shown)
    headers = {name: value for name, value in answer.headers.items() if name != "content-length"}
    return Response(json.dumps(shown), answer.status_code, headers)


async def _body(request: m.Request, ask: Ask) -> Any:
    """Return the body of the reply to a request of the gate's own; None if there is no such connector."""
    try:
        reply = await ask(request)
    except m.Refused:
        return None
    return reply.body if isinstance(reply, m.Reply) and reply.status == 200 else None


def demand(request: m.Request) -> tuple[str, str | None]:
    """Return the action that a request needs, and its connector; None if it does not concern one connector."""
    action = VIEW if isinstance(request, OF_ALL) else DEMANDS.get(type(request), ADMIN)
    if isinstance(request, local.ValidateConfig):
        return action, request.config.get("name")
    return action, None if action == ADMIN or isinstance(request, local.GetPluginConfig) else getattr(
        request, "name", None
    )


def bulk_of(http: Request) -> str | None:
    """Return the ID of the bulk action that a request is a part of; None if it is none's."""
    given = http.query_params.get(BULK, "")
    return given if BULK_ID.fullmatch(given) else None


def refusal(principal: Principal, action: str, connector: str | None) -> str:
    what = "" if connector is None else f" connector {connector}"
    return f"{principal.name or 'An unknown user'} may not {action}{what}"


def _after(request: m.Request, before: Mapping[str, str], answer: m.Reply | Response) -> dict[str, str | None]:
    """Return the configuration after a change. A mask that was sent back keeps the old value, as in the worker."""
    config: dict[str, str | None] = {}
    match request:
        case m.CreateConnector(config=given) | m.PutConfig(config=given):
            config = given
        case m.PatchConfig(patch=patch):
            config = {**before, **patch}
        case m.RollBack():  # the answer has the configuration
            shown = answer.body if isinstance(answer, m.Reply) else json.loads(bytes(answer.body))
            config = dict(shown["config"])
    return {name: value for name, value in restored(config, before).items() if value is not None}


def authentication(
    config: Mapping[str, str], environment: Mapping[str, str], forwarded: Forwarded | None = None
) -> Authentication:
    """Return the authentication that the settings define. Raises RestSettingError.

    ``forwarded`` knows the requests of other workers of the cluster; without it there are none.
    """
    passwords = config.get(HTPASSWD, "").strip()
    return Authentication(
        BasicAuth.of(config, environment),
        Htpasswd(passwords) if passwords else None,
        _tokens(config) if config.get(JWKS, "").strip() else None,
        config.get(CERTIFICATES, "false").strip().lower() == "true",
        forwarded or Forwarded(),
    )


def _tokens(config: Mapping[str, str]) -> Tokens:
    from penstock.http.access.authentication.tokens import OidcTokens  # loads much, and most workers need none of it

    return OidcTokens(config)


def gate(config: Mapping[str, str], guard: Authentication, passwords: Passwords = lambda config: ()) -> RequestGate:
    """Return the gate that the settings define. Raises RestSettingError."""
    path = config.get(AUTHORIZATION, "").strip()
    if not path:
        return RequestGate(passwords=passwords)
    if not guard.is_required:
        raise RestSettingError(
            f"`{AUTHORIZATION}={path}` needs a way to know who asks: `rest.extension.classes`, `{HTPASSWD}`, "
            f"`{CERTIFICATES}` or `{JWKS}`"
        )
    return RequestGate(ReloadedFile(AUTHORIZATION, path, Roles.parse), passwords)
