"""Headers of messages, also of those with a name that is not UTF-8.

For such a message the client returns pairs that have no name, with an exception pending: reading the name would end the
process. It keeps the pairs, and returns them without an exception when it is asked again, unless it is given others.
"""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import Any

from confluent_kafka import Message

HeaderPairs = list[tuple[str, bytes | None]]
UNKNOWN = "\ufffd"
"""Name of a header whose bytes the client does not tell: of one that is not UTF-8 after another one of its record."""


def headers_of(messages: Sequence[Message]) -> list[HeaderPairs | None]:
    """Return the headers of each message as the client returns them; names that are not UTF-8 are read with
    replacement characters, as Java reads them.
    """
    found: list[Any] = []
    rest = map(Message.headers, messages)  # an ordinary call of the method would not notice the exception
    while True:
        try:
            found.extend(rest)  # adds what comes before an exception; the next call goes on behind it
            return found
        except (SystemError, UnicodeDecodeError) as error:
            message = messages[len(found)]
            pairs: Any = message.headers()
            named = _named(pairs, error)
            message.set_headers(named)
            found.append(named)


def _named(pairs: list[Any], error: BaseException) -> list[Any]:
    """Return pairs of which each has a name. ``error`` has the bytes of the first one that is no text."""
    first: BaseException | None = error
    while first is not None and not isinstance(first, UnicodeDecodeError):
        first = first.__cause__
    names = [] if first is None else [first.object.decode(errors="replace")]
    named: list[Any] = []
    for pair in pairs:
        if len(gc.get_referents(pair)) == 2:
            named.append(pair)
        else:
            named.append((names.pop() if names else UNKNOWN, pair[1]))
    return named
