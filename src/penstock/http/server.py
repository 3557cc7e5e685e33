"""The HTTP server: uvicorn for every listener, on one thread, so that REST answers while the worker is busy."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import httpx
import uvicorn
from starlette.types import ASGIApp

from penstock.http.access import tls
from penstock.http.access.authentication.forwarded import KEY, Forwarded, id_of, keys_of
from penstock.http.access.cross_origin import ChangesByOthers, CrossOrigin, Origins
from penstock.http.access.gate import authentication, gate
from penstock.http.access.hosts import AllowedHosts
from penstock.http.access.limits import RestLimits, protocol_of
from penstock.http.access.listeners import Listener, admin_listeners, advertised_url, listeners
from penstock.http.access.masking import Passwords
from penstock.http.access.response_headers import ResponseHeaders, header_rules
from penstock.http.app import Submit, Timeouts, make_router
from penstock.http.bulk import CandidateSource
from penstock.http.forwarding import FORWARD_TIMEOUT_S, Members, Peers
from penstock.http.routes.attention import AttentionSource
from penstock.http.routes.task_health import ConnectorHealth, Figures, Restarts
from penstock.http.routes.ui import ENABLED
from penstock.http.routes.worker import Metrics
from penstock.http.routes.workers import About, Workers

log = logging.getLogger(__name__)

KEEP_ALIVE_S = 75


class ListenError(Exception):
    """A port could not be bound; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class _Bound:
    listener: Listener
    """Listener with the port that was bound."""
    socket: socket.socket
    admin: bool
    context: ssl.SSLContext | None


class RestServer:
    """Binds its ports when it is created, so that ``advertised_url`` is known; serves from ``start`` to ``stop``."""

    def __init__(
        self,
        config: Mapping[str, str],
        submit: Submit,
        *,
        stores: tls.KeyStores | None = None,
        metrics: Metrics | None = None,
        about: About | None = None,
        figures: Callable[[str], Figures] | None = None,
        in_short: Callable[[], Mapping[str, Figures]] = dict,
        restarts: Restarts = lambda name, task: None,
        attention: Callable[[], AttentionSource] | None = None,
        candidates: Callable[[], CandidateSource] | None = None,
        timeouts: Timeouts | None = None,
        members: Members = tuple,
        passwords: Passwords = lambda config: (),
        clean: Callable[[str], str] = str,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """``config``: the worker's settings, as texts. ``members``: the URLs of the group's present members.
        ``clean`` removes secrets from the messages of errors. ``attention`` and ``candidates`` are
        called when the server has started.

        Raises RestSettingError, ListenError.
        """
        self._submit, self._metrics, self._timeouts, self._clean = submit, metrics, timeouts, clean
        self._figures, self._in_short, self._restarts, self._about = figures, in_short, restarts, about
        self._members, self._attention, self._candidates = members, attention, candidates
        self._limits = RestLimits.of(config)
        self._origins, self._rules = Origins.of(config), header_rules(config)
        self._client_context = tls.client_context(config, stores)
        admin = admin_listeners(config)
        self._separate_admin = admin is not None
        self._page = config.get(ENABLED, "true").strip().lower() == "true"
        self._bound: list[_Bound] = []
        try:
            self._bind(listeners(config), False, tls.tls_settings(config), stores)
            self._bind(admin or (), True, tls.tls_settings(config, tls.ADMIN), stores)
            self.advertised_url = advertised_url(config, [each.listener for each in self._bound if not each.admin])
            own = tls.own_certificate(config, stores)
            forwarded = Forwarded(
                keys_of(config), id_of(self.advertised_url), frozenset() if own is None else frozenset((own,))
            )
            self._guard = authentication(config, environment, forwarded)
            if self._guard.certificates and not forwarded.keys and "group.id" in config:
                log.warning(
                    "`%s` is not set: unless all workers have one certificate, requests with client certificates that "
                    "the leader must answer are refused by other workers",
                    KEY,
                )
            self._gate = gate(config, self._guard, passwords)
            self._hosts = AllowedHosts.of(
                config, self.listeners, self.advertised_url, authenticated=not self._guard.accepts_anybody
            )
        except BaseException:
            self._close_sockets()
            raise
        self._servers: list[uvicorn.Server] = []
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="http", daemon=True)

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """The listeners with the ports that were bound, admin listeners last."""
        return tuple(each.listener for each in self._bound)

    def start(self) -> None:
        """Start to serve; returns when requests are accepted."""
        self._thread.start()
        self._up.wait()
        where = ", ".join(map(str, self.listeners))
        log.info("REST server listening at %s, advertised as %s", where, self.advertised_url)

    def stop(self, timeout: float) -> None:
        """Accept no more requests, and wait ``timeout`` seconds for those in progress."""
        for server in self._servers:
            server.should_exit = True
        if self._thread.is_alive():
            self._thread.join(timeout)
        self._close_sockets()

    def _bind(
        self,
        wanted: tuple[Listener, ...],
        admin: bool,
        settings: Mapping[str, str],
        stores: tls.KeyStores | None,
    ) -> None:
        for listener in wanted:
            context = tls.server_context(settings, stores) if listener.scheme == "https" else None
            bound = _bind(listener)
            actual = replace(listener, port=bound.getsockname()[1])
            self._bound.append(_Bound(actual, bound, admin, context))

    def _close_sockets(self) -> None:
        for each in self._bound:
            each.socket.close()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self._up.set()

    async def _serve(self) -> None:
        limits = httpx.Limits(max_connections=50, keepalive_expiry=KEEP_ALIVE_S / 2)
        context = self._client_context
        # Other workers are asked directly, as by Java's client, whatever HTTP_PROXY says: requests hold passwords.
        async with httpx.AsyncClient(
            timeout=FORWARD_TIMEOUT_S, limits=limits, verify=context, trust_env=False
        ) as client:
            apps = {admin: self._app(client, admin) for admin in {each.admin for each in self._bound}}
            self._servers = [_server(apps[each.admin], each.context, self._limits) for each in self._bound]
            pairs = zip(self._servers, self._bound, strict=True)
            running = [asyncio.create_task(server.serve(sockets=[each.socket])) for server, each in pairs]
            while not all(server.started for server in self._servers) and not any(task.done() for task in running):
                await asyncio.sleep(0.002)
            self._up.set()
            await asyncio.gather(*running)

    def _app(self, client: httpx.AsyncClient, admin: bool) -> ASGIApp:
        """Return the application of a kind of listeners.

        Admin listeners have neither the headers nor the origins of the others, as in Java.
        """
        peers = Peers(self.advertised_url, client, self._members, self._guard.forwarded)
        app: ASGIApp = make_router(
            self._submit,
            client,
            admin=admin or not self._separate_admin,
            regular=not admin,
            page=self._page,
            guard=self._guard,
            gate=self._gate,
            forwarded=self._guard.forwarded,
            metrics=self._metrics,
            peers=peers,
            health=self._health(peers),
            workers=None if self._about is None else Workers(self._about, peers),
            attention=None if self._attention is None else self._attention(),
            candidates=None if self._candidates is None else self._candidates(),
            timeouts=self._timeouts,
            max_body=self._limits.max_body,
            clean=self._clean,
            hosts=self._hosts,
        )
        if self._rules and not admin:
            app = ResponseHeaders(app, self._rules)
        if self._origins and not admin:
            app = CrossOrigin(app, self._origins)
        return ChangesByOthers(app, None if admin else self._origins)

    def _health(self, peers: Peers) -> ConnectorHealth | None:
        if self._figures is None:
            return None
        return ConnectorHealth(self._figures, peers, self._restarts, self._in_short)


def _server(app: ASGIApp, context: ssl.SSLContext | None, limits: RestLimits) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        loop="asyncio",
        http=protocol_of(limits),  # of h11: always the one that is tested; httptools would save 0.3 ms a request
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=2,
    )
    config.load()
    config.ssl = context
    return uvicorn.Server(config)


def _bind(listener: Listener) -> socket.socket:
    """Bind a listener. An empty host means every address, of IPv6 too where it is available."""
    try:
        if not listener.host and socket.has_dualstack_ipv6():
            bound = socket.create_server(("", listener.port), family=socket.AF_INET6, backlog=1024, dualstack_ipv6=True)
        else:
            family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
            bound = socket.create_server((listener.host, listener.port), family=family, backlog=1024)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        hint = "; stop what listens there, or choose another port, or 0 for a free one" if taken else ""
        raise ListenError(f"Listener {listener} can't be used: {error.strerror or error}{hint}") from None
    # Accepted connections inherit it. asyncio sets it on sockets of its own making only, and without it the body of an
    # answer, written after its headers, waits 40 ms for their acknowledgement.
    bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return bound
