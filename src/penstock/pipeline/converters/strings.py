"""StringConverter: whatever Java's ``toString`` makes of a value; and optional strings, the other way round."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance, Width
from penstock.api.converter import SchemaAndValue
from penstock.api.errors import SerializationError
from penstock.api.record import Header
from penstock.api.schema import OPTIONAL_STRING, Schema
from penstock.java.text import decoded_utf8
from penstock.pipeline.converters.base import AnyConverter, converter_settings
from penstock.values.column_printing import to_strings
from penstock.values.printing import to_string
from penstock.values.repeated import only_nulls

_JAVA_NAMES = {
    "utf8": "utf-8", "unicode-1-1-utf-8": "utf-8", "utf-16": "utf-16", "utf-16be": "utf-16-be", "utf-16le": "utf-16-le",
    "x-utf-16le-bom": "utf-16", "latin1": "iso-8859-1", "windows-1252": "cp1252", "us-ascii": "ascii",
    "ibm437": "cp437", "windows-31j": "cp932", "x-windows-950": "cp950", "x-windows-874": "cp874", "ibm-thai": "cp838",
}  # fmt: skip
_NOT_JAVAS = frozenset({"idna", "punycode", "undefined", "unicode-escape", "raw-unicode-escape"})
"""Encodings of Python that are no character sets."""


class StringConverter(AnyConverter):
    """Text: what Java's ``toString`` makes of a value, and optional strings when it is read.

    ``converter.encoding`` names a character set as Java does; characters it lacks become ``?``, bytes it can't read
    ``\\ufffd``, and so do halves of surrogate pairs in UTF-16 and UTF-32.
    """

    java_name = "org.apache.kafka.connect.storage.StringConverter"

    encoding = "utf-8"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return converter_settings().define(
            "converter.encoding",
            ConfigType.STRING,
            "UTF-8",
            importance=Importance.HIGH,
            documentation="The name of the Java character set to use for encoding strings as byte arrays.",
            width=Width.MEDIUM,
            display_name="Encoding",
        )

    def set_up(self, settings: dict[str, Any]) -> None:
        """Raises SerializationError for a character set that there is not."""
        charset = settings["converter.encoding"]
        encoding = python_encoding(charset)
        if encoding is None:
            raise SerializationError(f"Unsupported encoding {charset}")
        self.encoding = encoding

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        return None if value is None else self._encode(value if type(value) is str else to_string(schema, value))

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        return OPTIONAL_STRING, None if data is None else self._decode(data)

    def from_connect_batch(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        if only_nulls(values):
            return values
        if self.encoding == "utf-8":
            try:
                return list(map(str.encode, values))
            except (TypeError, UnicodeEncodeError):
                pass
        texts = to_strings(schemas, values)
        if None not in values:
            return [self._encode(text) for text in texts]
        return [None if value is None else self._encode(text) for value, text in zip(values, texts, strict=True)]

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any]]:
        schemas: list[Schema | None] = [OPTIONAL_STRING] * len(data)
        if only_nulls(data):
            return schemas, data
        if self.encoding == "utf-8":
            try:
                return schemas, list(map(bytes.decode, data))  # type: ignore[arg-type]
            except (TypeError, UnicodeDecodeError):
                pass
        return schemas, [None if item is None else self._decode(item) for item in data]

    def _encode(self, text: str) -> bytes:
        match self.encoding:
            case "utf-8":
                return _utf8(text)
            case "utf-16":
                return codecs.BOM_UTF16_BE + whole(text).encode("utf-16-be") if text else b""
            case "utf-16-be" | "utf-16-le" | "utf-32-be" | "utf-32-le":
                return whole(text).encode(self.encoding)
            case "utf-32":
                return whole(text).encode("utf-32-be")
            case encoding:
                return text.encode(encoding, "replace")

    def _decode(self, data: bytes) -> str:
        if self.encoding == "utf-8":
            return decoded_utf8(data)
        if self.encoding == "utf-16" and not data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)):
            return data.decode("utf-16-be", "replace")
        if self.encoding == "utf-32" and not data.startswith((codecs.BOM_UTF32_BE, codecs.BOM_UTF32_LE)):
            return data.decode("utf-32-be", "replace")
        return data.decode(self.encoding, "replace")


def python_encoding(charset: str) -> str | None:
    """Python's name for a Java character set, None if there is none."""
    name = charset.strip().lower()
    try:
        found = codecs.lookup(_JAVA_NAMES.get(name, name))
    except LookupError:
        return None
    return found.name if found._is_text_encoding and found.name not in _NOT_JAVAS else None


def _utf8(text: str) -> bytes:
    """Pairs of surrogates are one character, a single surrogate is ``?``, as in Java."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return whole(text).replace("\ufffd", "?").encode()


def whole(text: str) -> str:
    """Pairs of surrogates are one character, a single surrogate is U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
