"""Names of Connect's schemas as formats allow them: ``scrub.invalid.names``, and the parts of a dotted name.

Java: ``AvroData.doScrubName``, ``splitName``.
"""

from __future__ import annotations

import re
from urllib.parse import quote_plus

_VALID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OTHERS = re.compile(r"[^A-Za-z0-9_]")


def scrubbed(name: str, scrub: bool = True) -> str:
    """A name without a character that Avro does not allow, if ``scrub`` says so."""
    if not scrub or not name or _VALID.fullmatch(name):
        return name
    encoded = quote_plus(name, safe="*-._").replace("~", "%7E")
    if encoded[0].isdecimal():
        encoded = "x" + encoded
    return _OTHERS.sub("_", encoded)


def split(name: str, scrub: bool) -> tuple[str | None, str]:
    """Namespace and simple name."""
    parts = [scrubbed(part, scrub) for part in name.split(".")]
    while len(parts) > 1 and not parts[-1]:  # as String.split
        parts.pop()
    return ".".join(parts[:-1]) or None, parts[-1]


def full_name(name: str, scrub: bool) -> str:
    if not scrub:
        return name
    space, simple = split(name, scrub)
    return f"{space}.{simple}" if space else simple


def simple_name(name: str, scrub: bool) -> str:
    return split(name, scrub)[1]
