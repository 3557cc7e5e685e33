"""Converters: between Connect's data and the bytes of a topic.

The runtime makes one object for each use (key, value, header) in a task, calls ``configure`` once, and then only the
``*_batch`` methods, from one thread. A converter that only defines the single-record methods works: the batch methods
call them. Java: ``org.apache.kafka.connect.storage.Converter`` and ``HeaderConverter``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from penstock.api.columns import Table
from penstock.api.config import ConfigDef
from penstock.api.record import Header
from penstock.api.schema import Schema

SchemaAndValue = tuple[Schema | None, Any]


class _Plugin:
    """Base of all converters."""

    java_name: ClassVar[str] = ""

    @classmethod
    def version(cls) -> str:
        return "unknown"

    @classmethod
    def config_def(cls) -> ConfigDef:
        """The settings of this class, without prefix. The runtime validates and documents them."""
        return ConfigDef()

    def close(self) -> None:
        """Release what the object holds; called once, after the last use."""


class Converter(_Plugin):
    """Base of all key and value converters."""

    takes_tables: ClassVar[bool] = False
    """Whether ``from_connect_batch`` takes a ``Table`` of values too; otherwise it gets the list of its rows."""

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        """Configure the converter; called once, before any other method.

        ``config`` holds the settings whose names began with ``key.converter.`` or ``value.converter.``.
        """

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes for one value; None for a null. Raises DataError for a value that it can't serialize."""
        raise NotImplementedError

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        """Return schema and value of these bytes. Raises DataError for bytes that it can't read."""
        raise NotImplementedError

    def from_connect_batch(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        """Call ``from_connect`` for columns of equal length.

        ``headers`` are as they will be written, and the list is the converter's own: it may replace a row, to say in a
        header what the bytes alone do not. Raises as ``from_connect`` does; the runtime then converts record by record
        to find the one that fails.
        """
        return [self.from_connect(t, h, s, v) for t, h, s, v in zip(topics, headers, schemas, values, strict=True)]

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any] | Table]:
        """Call ``to_connect`` for columns of equal length; returns the column of schemas and the column of values.

        Maps or structs with the same keys may be given as a ``Table`` in place of a list.
        """
        pairs = [self.to_connect(t, h, d) for t, h, d in zip(topics, headers, data, strict=True)]
        return [s for s, _ in pairs], [v for _, v in pairs]


class HeaderConverter(_Plugin):
    """Base of all header converters. Most converters are both: Java's ``StringConverter`` is."""

    def configure_header(self, config: Mapping[str, str]) -> None:
        """Configure the converter; called once, before any other method.

        ``config`` holds the settings whose names began with ``header.converter.``.
        """

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of one header; None for a null. Raises DataError for a value that it can't serialize."""
        raise NotImplementedError

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        """Return schema and value of a header's bytes. Raises DataError for bytes that it can't read."""
        raise NotImplementedError
