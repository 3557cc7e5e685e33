"""Where the REST interface listens, how others reach it, and which headers it sends.

Java: ``RestServerConfig`` and ``RestServer.advertisedUrl``.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlsplit

from penstock.api.errors import ConfigError

_RULE = re.compile(r"\s*,(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)\s*")
_ACTIONS = ("set", "add", "setDate", "addDate")


@dataclass(frozen=True, slots=True)
class Listener:
    """One address; an empty host is every interface."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Self:
        try:
            parts = urlsplit(url.strip())
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ConfigError("listeners", url, f"{error}; right is `http://host:8083`") from error
        if parts.scheme.lower() not in ("http", "https") or parts.path not in ("", "/"):
            raise ConfigError(
                "listeners", url, "Listener must be http:// or https:// with host and port, `http://:8083`"
            )
        return cls(parts.scheme.lower(), host, 8083 if port is None else port)


@dataclass(frozen=True, slots=True)
class HeaderRule:
    """A header of every answer (KIP-577); ``setDate`` and ``addDate`` have a number of milliseconds as value."""

    action: str
    name: str
    value: str

    @classmethod
    def parse(cls, rule: str) -> Self:
        rule = rule.strip()
        if rule.startswith('"'):
            rule = rule.strip('"').strip()
        action, _, header = rule.partition(" ")
        if not header.strip():
            expected = "Expected: '[action] [header name]:[header value]'"
            raise ConfigError(f"Invalid format of header config '{rule}'. {expected}")
        if action.lower() not in [known.lower() for known in _ACTIONS]:
            known = f"[{', '.join(_ACTIONS)}]"
            raise ConfigError(f"Invalid header config action: '{action}'. Expected one of {known}")
        name, colon, value = (part.strip() for part in header.partition(":"))
        if not colon or not value:
            expected = "Expected: '[header name]:[header value]'"
            raise ConfigError(f"Invalid format of header name and header value pair '{header.strip()}'. {expected}")
        if not name or re.search(r"\s", name):
            problem = "The '[header name]' cannot contain whitespace"
            raise ConfigError(f"Invalid header name '{name}'. {problem}")
        return cls(action, name, value)


@dataclass(frozen=True, slots=True)
class RestSettings:
    """``tls`` is for listeners of scheme https: ``listeners.https.ssl.*`` from ``ssl.`` on, or else ``ssl.*``."""

    listeners: tuple[Listener, ...]
    advertised_host: str | None
    advertised_port: int | None
    advertised_scheme: str
    admin_listeners: tuple[Listener, ...] | None
    """None: the admin resources are where the others are; empty: they are nowhere."""
    allow_origin: str
    allow_methods: str
    header_rules: tuple[HeaderRule, ...]
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, config: Mapping[str, str], values: Mapping[str, Any]) -> Self:
        """From a worker's settings as texts and as typed values. Raises ConfigError."""
        listeners = tuple(map(Listener.parse, values["listeners"]))
        admin = values["admin.listeners"]
        rules = values["response.http.headers.config"] or ""
        return cls(
            listeners,
            values["rest.advertised.host.name"] or None,
            values["rest.advertised.port"],
            _advertised_scheme(values["rest.advertised.listener"], listeners),
            None if admin is None else tuple(map(Listener.parse, admin)),
            values["access.control.allow.origin"] or "",
            values["access.control.allow.methods"] or "",
            tuple(HeaderRule.parse(rule) for rule in _RULE.split(rules.strip()) if rule.strip()),
            _tls(config),
        )

    def advertised_url(self, bound_ports: Mapping[Listener, int] | None = None) -> str:
        """How other workers reach this one; ``bound_ports`` has the ports of listeners with port 0."""
        listener = next((each for each in self.listeners if each.scheme == self.advertised_scheme), self.listeners[0])
        host = self.advertised_host or _reachable(listener.host)
        port = self.advertised_port or (bound_ports or {}).get(listener, listener.port)
        shown = f"[{host}]" if ":" in host else host
        return f"{self.advertised_scheme}://{shown}:{port}/"


def _advertised_scheme(wanted: str | None, listeners: tuple[Listener, ...]) -> str:
    if not wanted:
        return listeners[0].scheme
    scheme = wanted.strip().lower()
    if scheme not in ("http", "https"):
        raise ConfigError("rest.advertised.listener", wanted, "Invalid value, must be either 'http' or 'https'")
    if scheme not in [each.scheme for each in listeners]:
        raise ConfigError(f"`rest.advertised.listener={wanted}`, but `listeners` has none of that scheme")
    return scheme


def _reachable(host: str) -> str:
    if host and host not in ("0.0.0.0", "::"):
        return host
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "localhost"


def _tls(config: Mapping[str, str]) -> dict[str, str]:
    prefix = "listeners.https."
    specific = {k.removeprefix(prefix): v for k, v in config.items() if k.startswith(f"{prefix}ssl.")}
    return specific or {k: v for k, v in config.items() if k.startswith("ssl.")}
