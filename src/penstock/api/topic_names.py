"""Names of tables and streams as names of topics, which have letters of ASCII, digits, ``.``, ``_`` and ``-`` only.

A name that a topic can have stays as it is. In others every other character becomes ``_x`` with its code in hexadecimal
digits and ``_``, as names become names of XML in SQL (ISO 9075-14): ``order items`` is ``order_x0020_items``. Of such a
name ``_`` is ``_x005F_`` where it would begin a sequence like that, so that no two of them become one and
``name_of_topic`` finds the name again. One name can still look like the topic of another: ``TopicNames`` refuses it.
Provisional.
"""

from __future__ import annotations

import hashlib
import re

from penstock.api.errors import ConnectError

MAX_LENGTH = 249
"""Characters of a topic's name, by Kafka."""
_VALID = re.compile(rf"(?!\.{{1,2}}\Z)[A-Za-z0-9._-]{{1,{MAX_LENGTH}}}")
_OTHERS = re.compile(r"[^A-Za-z0-9._-]|_(?=x[0-9A-F]{4,6}_)")
_ESCAPED = re.compile(r"_x([0-9A-F]{4,6})_")
_DIGITS = 16


def topic_name(name: str) -> str:
    """Return the name of the topic for a table or stream, which may have a prefix.

    One that would be longer than Kafka allows ends in a checksum of the whole name, and can't be turned back.
    """
    if _VALID.fullmatch(name) is not None:
        return name
    topic = _OTHERS.sub(lambda found: _escaped(found[0]), name)
    if topic in (".", ".."):
        topic = "".join(map(_escaped, topic))
    if len(topic) > MAX_LENGTH:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        topic = f"{topic[: MAX_LENGTH - _DIGITS - 1]}_{digest}"
    return topic


def name_of_topic(topic: str) -> str:
    """Return the name, one that no topic can have, of which ``topic_name`` has made this, if it was not shortened."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), topic)


class TopicNames:
    """Topics of the tables or streams of one task."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def topic(self, name: str) -> str:
        """Return ``topic_name`` of a table or stream. Raises ConnectError if it is the topic of another one."""
        topic = topic_name(name)
        other = self._names.setdefault(topic, name)
        if other != name:
            raise ConnectError(
                f"`{other}` and `{name}` would both be sent to the topic {topic}: rename one of them, or leave one out"
            )
        return topic


def _escaped(character: str) -> str:
    return f"_x{ord(character):04X}_"
