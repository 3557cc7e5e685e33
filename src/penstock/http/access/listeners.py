"""Listeners of the REST interface, and the address that it advertises to other workers.

Java: ``RestServerConfig`` and ``RestServer``; what is wrong with a listener is said in its words.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

Config = Mapping[str, str]

DEFAULT = "http://:8083"
_FORM = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")


class RestSettingError(ValueError):
    """A setting of the REST interface is wrong; the message is a sentence."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Address to listen at: an empty host is every address of the machine, port 0 any free port."""

    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse ``http://host:port``. Raises RestSettingError."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise RestSettingError("Listener doesn't have the right format (protocol://hostname:port).")
        scheme, host, port = found[1].lower(), found[2], int(found[3])
        if scheme not in ("http", "https"):
            raise RestSettingError('Listener protocol must be either "http" or "https".')
        if not 0 <= port < 65536:
            raise RestSettingError(f"port out of range:{port}")
        return cls(scheme, host, port)

    def __str__(self) -> str:
        return f"{self.scheme}://{bracketed(self.host)}:{self.port}"


def listeners(config: Config) -> tuple[Listener, ...]:
    """Return the addresses of ``listeners``. Raises RestSettingError."""
    texts = _list(config.get("listeners", DEFAULT))
    if not texts:
        example = "at least one URL is expected, ex: http://localhost:8080,https://localhost:8443."
        raise RestSettingError(f"Invalid value for listeners, {example}")
    if "" in texts:
        raise RestSettingError("Empty URL found when parsing listeners list.")
    return tuple(_parsed("listeners", text) for text in texts)


def admin_listeners(config: Config) -> tuple[Listener, ...] | None:
    """Return the addresses of ``admin.listeners``: None if /admin is served with all other paths, empty if it is not
    served.
    """
    if "admin.listeners" not in config:
        return None
    texts = _list(config["admin.listeners"])
    if "" in texts:
        raise RestSettingError("Empty URL found when parsing admin.listeners list.")
    return tuple(_parsed("admin.listeners", text) for text in texts)


def _parsed(setting: str, text: str) -> Listener:
    """Parse addresses. Raises RestSettingError, which names the setting and what is wrong in it."""
    try:
        return Listener.parse(text)
    except RestSettingError as error:
        raise RestSettingError(f"{str(error).rstrip('.')}; `{setting}` has {text.strip()}") from error


def advertised_url(config: Config, bound: Sequence[Listener]) -> str:
    """Return the URL for other workers; ``bound`` are the ``listeners`` with the ports that were bound."""
    wanted = config.get("rest.advertised.listener", "").strip().lower()
    schemes = [each.scheme for each in bound]
    scheme = wanted or ("http" if "http" in schemes else "https")
    if scheme not in ("http", "https"):
        raise RestSettingError(
            f"`rest.advertised.listener={config['rest.advertised.listener']}` must be either http or https"
        )
    listener = next((each for each in bound if each.scheme == scheme), bound[0])
    host = config.get("rest.advertised.host.name", "").strip() or _reachable(listener.host)
    port = config.get("rest.advertised.port", "").strip() or str(listener.port)
    if not port.isdigit():
        raise RestSettingError(f"`rest.advertised.port={port}` must be a number")
    return f"{scheme}://{bracketed(host)}:{port}/"


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _reachable(host: str) -> str:
    """Return a host that others can reach. Java would advertise 0.0.0.0, which no other host can reach."""
    if host and host not in ("0.0.0.0", "::"):
        return host
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"


def _list(text: str) -> list[str]:
    """Return a setting of type list; a blank one is empty."""
    return [each.strip() for each in text.split(",")] if text.strip() else []
