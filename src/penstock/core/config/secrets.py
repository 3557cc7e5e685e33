"""Which settings are secrets, and how they are masked in what people read.

Secrets are settings of type PASSWORD, those whose names look like it, and references to config providers in a value
(the reference is no secret itself, but says where one is).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import TypeVar

MASK = "[hidden]"
"""As Java prints a value of type PASSWORD."""
LOOKS_SECRET = (
    r"(?i)password|passwd|passphrase|secret|token(?!\.endpoint|izer|\.url)|credential|jaas|access[._-]?key|api[._-]?key"
    r"|account[._-]?key|private[._-]?key|keystore\.key$|auth\.user\.info|basic\.auth\.user|connection\.string|sas[._-]"
)
"""Names of settings that look like secrets, as a regular expression that Python and Java read alike."""
_LOOKS_SECRET = re.compile(LOOKS_SECRET)
_USER_INFO = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*(?=@)")
_PARAMETER = re.compile(r"(?i)(?<=[?&;])([\w.-]*(?:password|passwd|pwd|secret|token|api[._-]?key)=)[^&;\s]+")
"""Of URLs: ``jdbc:postgresql://host/db?user=me&password=…``."""
_Value = TypeVar("_Value", str, str | None)


def is_secret(name: str, passwords: Collection[str] = ()) -> bool:
    """Whether a setting of this name is a secret; ``passwords`` are the settings of type PASSWORD that are known."""
    return name in passwords or _LOOKS_SECRET.search(name) is not None


def masked(config: Mapping[str, _Value], passwords: Collection[str] = ()) -> dict[str, _Value]:
    """A configuration for people who may not read its secrets."""
    return {name: _masked(name, value, passwords) for name, value in config.items()}


def _masked(name: str, value: _Value, passwords: Collection[str]) -> _Value:
    if not value or ("${" not in value and not is_secret(name, passwords)):
        return value and _PARAMETER.sub(rf"\g<1>{MASK}", _USER_INFO.sub(MASK, value))
    return MASK


def restored(config: Mapping[str, _Value], known: Mapping[str, str]) -> dict[str, _Value]:
    """A configuration that somebody sends back with the masks that they have been shown: old values in their place."""
    before: dict[str, str] = masked(known) if any(value and MASK in value for value in config.values()) else {}
    return {
        name: known[name]
        if value is not None and MASK in value and name in known and value in (MASK, before[name])
        else value
        for name, value in config.items()
    }
