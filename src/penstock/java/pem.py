"""Keys and certificates in PEM as Kafka's clients read them: blanks may stand where lines should end.

A value of a properties file whose lines end with backslashes is a single line. Java:
``DefaultSslEngineFactory.PemParser``.
"""

from __future__ import annotations

import re
from textwrap import wrap

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----\s*")


def in_lines(text: str) -> str:
    """The text with its keys and certificates in lines, as OpenSSL wants them."""
    return _BLOCK.sub(_in_lines, text)


def _in_lines(block: re.Match[str]) -> str:
    kind, content = block.groups()
    return "\n".join([f"-----BEGIN {kind}-----", *wrap("".join(content.split()), 64), f"-----END {kind}-----\n"])
