"""Which settings are secrets, and how they are masked in what people read.

Secrets are settings of type PASSWORD, those whose names look like it, and references to config providers in a value
(the reference is no secret itself, but says where one is). Values that are JSON objects have settings, too; URLs have
passwords.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

MASK = "[hidden]"
"""As Java prints a value of type PASSWORD."""
LOOKS_SECRET = (
    r"(?i)password|passwd|passphrase|secret|token(?!\.endpoint|izer|\.url)|credential|jaas|access[._-]?key|api[._-]?key"
    r"|account[._-]?key|private[._-]?key|keystore\.key$|auth\.user\.info|basic\.auth\.user|connection\.string|sas[._-]"
    r"|^singer\.config$|^dlt\.(config|arguments)$|^query\.masked$"
)
"""Names of settings that look like secrets, as a regular expression that Python and Java read alike."""
_LOOKS_SECRET = re.compile(LOOKS_SECRET)
_IN_URLS = tuple(
    map(
        re.compile,
        (
            # user:password@, where the password may have @, or / that should have been %2F; but no host:port
            r"(?P<kept>://)[^/:;?\[\s]*:(?!\d+(?:[/?;,]|$))(?P<secret>[^/?\s]*|[^@\s]{1,200})(?=@)",
            r"(?i)(?P<kept>\boracle:\w+:)[^/@\s]{1,200}/(?P<secret>\S{1,200}?)(?=@(?://|\(|[^@\s]*(?:\s|$)))",
            # Parameters: ``jdbc:postgresql://host/db?user=me&password=…``
            r"(?i)(?P<kept>[?&;:,(/][\w.-]*(?:password|passwd|passphrase|pwd|secret|token"
            r"|(?:api|access|account|secret|private)[._-]?key)=)(?P<secret>\{[^}]{0,200}\}|[^&;\s]+)",
        ),
    )
)
_Value = TypeVar("_Value", str, str | None)


def is_secret(name: str, passwords: Collection[str] = ()) -> bool:
    """Whether a setting of this name is a secret; ``passwords`` are the settings of type PASSWORD that are known."""
    return name in passwords or _LOOKS_SECRET.search(name) is not None


def masked(config: Mapping[str, _Value], passwords: Collection[str] = ()) -> dict[str, _Value]:
    """A configuration for people who may not read its secrets."""
    return {name: _masked(name, value, passwords) for name, value in config.items()}


def _masked(name: str, value: _Value, passwords: Collection[str]) -> _Value:
    if not value:
        return value
    if "${" in value or is_secret(name, passwords) or any(is_secret(inner) for inner, _ in inside(value)):
        return MASK
    return without_passwords(value)


def inside(value: str) -> Iterator[tuple[str, str]]:
    """The names and texts in a value that is a JSON object, of those in it too; none in other values."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, each = waiting.pop()
        match each:
            case dict():
                waiting += each.items()
            case list():
                waiting += [(name, one) for one in each]
            case str():
                if each is not value:
                    yield name, each
                if each.lstrip().startswith("{"):
                    with suppress(ValueError, RecursionError):
                        waiting.append((name, json.loads(each)))


def without_passwords(url: str) -> str:
    """Users with passwords, and parameters that are secrets, are masked; in a text without any nothing is."""
    for each in _IN_URLS:
        url = each.sub(rf"\g<kept>{MASK}", url)
    return url


def passwords_of(url: str) -> set[str]:
    return {found["secret"] for each in _IN_URLS for found in each.finditer(url)}


def restored(config: Mapping[str, _Value], known: Mapping[str, str]) -> dict[str, _Value]:
    """A configuration that somebody sends back with the masks that they have been shown: old values in their place."""
    before: dict[str, str] = masked(known) if any(value and MASK in value for value in config.values()) else {}
    return {
        name: known[name]
        if value is not None and MASK in value and name in known and value in (MASK, before[name])
        else value
        for name, value in config.items()
    }
