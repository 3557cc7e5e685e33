"""Names of tables and streams as names of topics, which have letters of ASCII, digits, ``.``, ``_`` and ``-`` only.

Every other character becomes ``_x`` with its code in hexadecimal digits and ``_``, as names become names of XML in SQL
(ISO 9075-14): ``order items`` is ``order_x0020_items``. Names of topics are left as they are, but for those that look
so already: their ``_`` is ``_x005F_``. So no two names become one, and ``name_of_topic`` finds the name again.
Provisional.
"""

from __future__ import annotations

import hashlib
import re

MAX_LENGTH = 249
"""Characters of a topic's name, by Kafka."""
_OTHERS = re.compile(r"[^A-Za-z0-9._-]|_(?=x[0-9A-F]{4,6}_)")
_ESCAPED = re.compile(r"_x([0-9A-F]{4,6})_")
_DIGITS = 16


def topic_name(name: str) -> str:
    """Return the name of the topic for a table or stream, which may have a prefix.

    One that would be longer than Kafka allows ends in a checksum of the whole name, and can't be turned back.
    """
    topic = _OTHERS.sub(lambda found: _escaped(found[0]), name)
    if topic in (".", ".."):
        topic = "".join(map(_escaped, topic))
    if len(topic) > MAX_LENGTH:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        topic = f"{topic[: MAX_LENGTH - _DIGITS - 1]}_{digest}"
    return topic


def name_of_topic(topic: str) -> str:
    """Return the name that ``topic_name`` has made this of, if it was not shortened."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), topic)


def _escaped(character: str) -> str:
    return f"_x{ord(character):04X}_"
