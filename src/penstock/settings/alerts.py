"""Settings of the webhook that gets messages about what needs attention."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import urlsplit

from penstock.api.config import ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError
from penstock.api.validators import at_least

URL, HEADER, CA, SETTLE = (
    f"penstock.alert.{each}" for each in ("webhook.url", "webhook.header", "webhook.ca", "settle.ms")
)
HISTORY = "penstock.history.topic"
MIN_SECRET_PATH = 20
"""Length from which on a path is taken for a secret of its own; a short one is found in other texts."""
OWN_HEADERS = ("connection", "content-length", "content-type", "host", "transfer-encoding", "user-agent")
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)[ \t]*")


def define_alerts(config: ConfigDef) -> None:
    for name, type, meaning in (
        (
            URL,
            ConfigType.PASSWORD,
            "The URL, `https://…` or `http://…`, to which the group's leader posts a message when something begins to "
            "need attention and one when that ends. All workers of a group need the same. Without it nothing is sent.",
        ),
        (
            HEADER,
            ConfigType.PASSWORD,
            "A header of these requests, such as `Authorization: Bearer ${file:/etc/secrets.properties:token}`.",
        ),
        (
            CA,
            ConfigType.STRING,
            f"A file of certificates in PEM that are trusted beside the machine's when `{URL}` is called.",
        ),
    ):
        config.define(name, type, None, importance=Importance.LOW, documentation=meaning)
    config.define(
        SETTLE,
        ConfigType.LONG,
        60_000,
        at_least(0),
        Importance.LOW,
        "For how long something must need attention before a message says so, and be over before another one does. "
        "Failures are told at once.",
    )


def check_alerts(values: Mapping[str, Any], given: Collection[str] = ()) -> None:
    """Raise ConfigError for a URL or header that can't be used, without their values, which are secrets.

    ``given``: names of the settings that were given.
    """
    url, header = _text(values[URL]), _text(values[HEADER])
    if not url:
        for name in (HEADER, CA, SETTLE):
            if name in given:
                raise ConfigError(f"`{name}` has no effect without `{URL}`; set both, or none of them")
        return
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        raise ConfigError(f"`{URL}` is no URL of a webhook; expected https://host/path or http://host:port/path")
    if parts.username is not None or parts.password is not None:
        raise ConfigError(f"`{URL}` has a login before its host; put it into `{HEADER}`, as in Authorization: Basic …")
    if any(not 0 < len(label) < 64 for label in str(parts.hostname).removesuffix(".").split(".")):
        raise ConfigError(f"`{URL}` has a host that can't be looked up; expected https://host/path")
    if parts.scheme == "http" and CA in given:
        raise ConfigError(f"`{CA}` has no effect where `{URL}` is not https; remove it, or call the receiver by https")
    if parts.fragment:
        raise ConfigError(f"`{URL}` has a fragment (#…), which is never sent; remove it")
    if header is not None and not _HEADER.fullmatch(header):
        raise ConfigError(f"`{HEADER}` is not of the form Name: value, in one line of ASCII characters")
    if header is not None and (name := header.partition(":")[0]).lower() in OWN_HEADERS:
        raise ConfigError(
            f"`{HEADER}` can't be {name}, which the worker sets itself; expected Authorization, for example"
        )
    if values[HISTORY] is not None and not values[HISTORY].strip():
        raise ConfigError(
            f"`{URL}` needs the history, which remembers what has been sent, but `{HISTORY}` is empty; "
            f"remove `{HISTORY}`, or name a topic"
        )


def header_of(text: str | None) -> dict[str, str]:
    """Return the header of a value that ``check_alerts`` has accepted."""
    found = _HEADER.fullmatch(text or "")
    return {} if found is None else {found[1]: found[2]}


def secrets_of(config: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets of these settings by names of their own: the URL, which often is the receiver's password, its
    path, and the header with its value and the last word of that.
    """
    url, header = config.get(URL, "").strip(), config.get(HEADER, "").strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return {URL: url}
    value = header.partition(":")[2].strip()
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    found = {URL: url, HEADER: header, f"{HEADER}.value": value, f"{HEADER}.token": value.rpartition(" ")[2]}
    if len(path) >= MIN_SECRET_PATH:
        found[f"{URL}.path"] = path
    return {name: text for name, text in found.items() if text}


def _text(value: Any) -> str | None:
    return None if value is None else value.value.strip()
