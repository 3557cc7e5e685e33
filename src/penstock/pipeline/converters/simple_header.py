"""SimpleHeaderConverter: headers as texts, whose types are inferred when they are read.

A text that merely begins like a value, such as ``12:30``, stays a text; Java's converter returns 12.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.config import ConfigDef
from penstock.api.converter import HeaderConverter, SchemaAndValue
from penstock.api.schema import BYTES, Schema
from penstock.java.text import decoded_utf8
from penstock.values import parse_whole_string, to_text

log = logging.getLogger(__name__)

_MAX_CACHED_BYTES = 1024
"""Maximum size of a header whose value is cached."""


@lru_cache(1024)
def _parsed(data: bytes) -> SchemaAndValue:
    """Return the value of a header, cached: headers tend to have few values, and values are never changed in place."""
    return parse_whole_string(decoded_utf8(data))


class SimpleHeaderConverter(HeaderConverter):
    """Headers as text; types are inferred when they are read."""

    java_name = "org.apache.kafka.connect.storage.SimpleHeaderConverter"

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef()

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        text = to_text(schema, value)
        return None if text is None else text.encode("utf-8", "replace")

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        if data is None:
            return None, None
        try:
            return _parsed(data) if len(data) <= _MAX_CACHED_BYTES else parse_whole_string(decoded_utf8(data))
        except Exception:
            log.warning("Can't parse header %r on topic %r, so its bytes are used", key, topic, exc_info=True)
            return BYTES, data
