"""Interface of a format's mapping: its schema for a Connect schema and the reverse, and the writers and readers of
values, which are made once per schema.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from penstock.api.columns import Table
from penstock.api.errors import DataError, SerializationError
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.access.client import Registry, SchemaText
from penstock.pipeline.converters.registry.wire import SchemaId


class FormatWriter(Protocol):
    """Writes values of one Connect schema, none of which is null; ``head`` goes before each.

    Raises DataError for a value that does not fit.
    """

    def one(self, head: bytes, value: Any) -> bytes: ...

    def all(self, head: bytes, values: list[Any] | Table) -> list[bytes]: ...


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema of the format for a Connect schema: what is registered, and what the writer is made with."""

    text: SchemaText
    name: str | None
    """Name of the record, for subject names derived from it."""
    parsed: Any
    head: bytes = b""
    """Bytes between the schema id and the payload."""


@dataclass(frozen=True, slots=True)
class WriterSchema:
    """A schema that messages were written with. ``what`` begins the sentence of an error."""

    what: str
    id: SchemaId
    text: SchemaText
    version: Callable[[str | None], int | None]
    """Asks the registry for the schema's version in the subject, given the name of the record."""
    latest: Callable[[str | None], tuple[SchemaText, int | None]] | None = None
    """With ``use.latest.version``: asks for the schema that the messages are to be read as, and for its version."""


def endless(what: str) -> SerializationError:
    """Return the error for a schema that contains itself without end."""
    return SerializationError(f"{what} is nested too deeply, or refers to itself without end")


Read = Callable[[bytes, int], Any]
"""The value that begins at this place of a message. Raises an exception for bytes that are none."""
ReadAll = Callable[[Sequence[bytes], int], "list[Any] | Table | None"]
"""The values of these messages, one at least; None, or any exception, if they must be read one by one."""


@dataclass(frozen=True, slots=True)
class FormatReader:
    """Reader of the messages of one schema."""

    schema: Schema | None
    one: Read
    all: ReadAll = lambda messages, start: None


class Format(ABC):
    """The mapping of one format with its settings."""

    format: ClassVar[str]
    """Name of the format in messages."""
    schema_type: ClassVar[str]
    """Name of the format in the registry's API."""
    extra: ClassVar[str]
    """Name of the extra of Penstock that installs the libraries of the format."""
    libraries: ClassVar[tuple[str, ...]] = ()
    """Modules that every converter of the format needs."""

    settings: dict[str, Any]
    is_key: bool
    registry: Registry
    cache_size: int

    @abstractmethod
    def set_up(self, settings: dict[str, Any]) -> None:
        """Called once by ``configure``, with the typed value of every setting."""

    @abstractmethod
    def target(self, schema: Schema | None) -> RegisteredSchema:
        """The format's schema for a Connect schema. Raises DataError if there is none."""

    @abstractmethod
    def parsed_target(self, text: SchemaText, schema: Schema | None) -> RegisteredSchema:
        """A schema that the registry has, as what values of this Connect schema are written with."""

    @abstractmethod
    def writer(self, schema: Schema | None, target: RegisteredSchema) -> FormatWriter: ...

    def is_tombstone(self, schema: Schema | None) -> bool:
        """Whether a null of this schema is a message without a payload. Raises DataError if it can't be written."""
        if schema is None or schema.optional:
            return True
        raise DataError("Found null value for non-optional schema")

    @abstractmethod
    def conflicts(self, reader: RegisteredSchema, writer: RegisteredSchema) -> list[str]:
        """Why what is written with one schema can't be read with another one; empty if it can."""

    @abstractmethod
    def reader(self, source: WriterSchema) -> FormatReader: ...

    def head_size(self, data: bytes, start: int) -> int:
        """The place at which the payload begins, after an id that ends at ``start``."""
        return start

    def with_indexes(self, id: SchemaId, head: bytes, start: int) -> SchemaId:
        """The id with what stands behind it in the head of a message."""
        return id

    def with_references(self, subject: str, text: SchemaText) -> SchemaText:
        """The schema with what it refers to registered, if the format needs that."""
        return text

    def resolved(self, what: str, text: SchemaText, within: tuple[tuple[str, int], ...] = ()) -> dict[str, SchemaText]:
        """The schemas that a schema refers to, and those they refer to, by the names used; those needed come first.

        ``within``: subjects and versions whose references these are. Raises SerializationError if one is among them.
        """
        found: dict[str, SchemaText] = {}
        for reference in text.references:
            if reference.name not in found:
                where = f"{what}: reference {reference.name}, version {reference.version} of {reference.subject}"
                place = reference.subject, reference.version
                if place in within:
                    raise SerializationError(f"{where}: it refers to itself")
                inner = self.registry.version(where, *place).schema
                others = self.resolved(what, inner, (*within, place))
                found.update({name: other for name, other in others.items() if name not in found})
                found[reference.name] = inner
        return found

    def texts(self, what: str, text: SchemaText) -> dict[str, str]:
        """``resolved``, but the texts alone."""
        return {name: inner.text for name, inner in self.resolved(what, text).items()}

    def require_type(self, what: str, text: SchemaText) -> None:
        """Raises SerializationError for a schema of another format."""
        if text.type != self.schema_type:
            raise SerializationError(f"{what}: it is of type {text.type}, not {self.schema_type}")
