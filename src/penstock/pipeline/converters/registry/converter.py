"""What the three converters have in common: which schema a message has, and what is done once per schema.

For each pair of topic and schema there is a plan, made when its first record comes: how messages begin, and the
function that writes or reads the rest. A batch is then one pass. Java: ``AvroConverter`` and its siblings,
``AbstractKafkaSchemaSerDe``.
"""

from __future__ import annotations

import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from penstock.api.converter import Converter, SchemaAndValue
from penstock.api.errors import DataError, KafkaError, RetriableError, SerializationError
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.client import Registered, Registry, SchemaText
from penstock.pipeline.converters.registry.connecting import connect
from penstock.pipeline.converters.registry.settings import REQUEST_HEADER
from penstock.pipeline.converters.registry.subjects import TOPIC, TOPIC_RECORD, subject
from penstock.pipeline.converters.registry.wire import (
    DUAL_DESERIALIZER,
    GUID_SIZE,
    HEADER_SERIALIZER,
    ID_SIZE,
    KEY_HEADER,
    VALUE_HEADER,
    SchemaId,
    guid_header,
    header_of,
    id_prefix,
    read_id,
)

log = logging.getLogger(__name__)

VERSION = "8.5.0"
"""Of the converters whose behaviour these have."""


class Writer(Protocol):
    """Writes values of one Connect schema, none of which is null; ``head`` goes before each.

    Raises DataError for a value that does not fit.
    """

    def one(self, head: bytes, value: Any) -> bytes: ...

    def all(self, head: bytes, values: list[Any]) -> list[bytes]: ...


@dataclass(frozen=True, slots=True)
class Target:
    """A schema of the format for a Connect schema: what is registered, and what the writer is made with."""

    text: SchemaText
    name: str | None
    """Of the record, for subjects that are named by it."""
    parsed: Any
    head: bytes = b""
    """What stands between the id and the payload."""


@dataclass(frozen=True, slots=True)
class _Plan:
    head: bytes
    header: Header | None
    writer: Writer


Read = Callable[[bytes, int], Any]
"""The value that begins at this place of a message. Raises an exception for bytes that are none."""


@dataclass(frozen=True, slots=True)
class _Reader:
    id: SchemaId
    schema: Schema | None
    read: Read


class RegistryConverter(Converter):
    """A converter for keys and values. A subclass is the mapping of one format."""

    format: ClassVar[str]
    """As messages name it."""
    schema_type: ClassVar[str]
    """As registries name it."""
    extra: ClassVar[str]

    @classmethod
    def version(cls) -> str:
        return VERSION

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        definition = self.config_def()
        settings = definition.parse(config)
        for name in config.keys() - definition.keys.keys():
            if not name.startswith(REQUEST_HEADER):
                log.warning("%s has no setting %s; it has no effect", type(self).__name__, name)
        which = "key" if is_key else "value"
        self.settings, self.is_key = settings, is_key
        self.registry: Registry = connect(settings, config, self.extra)
        self.cache_size: int = max(settings["schemas.cache.config"], 1)
        self._strategy: str = settings[f"{which}.subject.name.strategy"]
        self._in_header = settings[f"{which}.schema.id.serializer"] == HEADER_SERIALIZER
        self._header_read = settings[f"{which}.schema.id.deserializer"] == DUAL_DESERIALIZER
        self._header_name = KEY_HEADER if is_key else VALUE_HEADER
        self._plans: dict[tuple[str, Schema | None], _Plan] = {}
        self._readers: dict[tuple[str, bytes], _Reader] = {}
        self._targets: dict[Schema | None, Target] = {}
        self._fresh_until = float("inf")
        self.set_up(settings)

    def close(self) -> None:
        self.registry.close()

    @abstractmethod
    def set_up(self, settings: dict[str, Any]) -> None:
        """Called once by ``configure``, with the typed value of every setting."""

    @abstractmethod
    def target(self, schema: Schema | None) -> Target:
        """The format's schema for a Connect schema. Raises DataError if there is none."""

    @abstractmethod
    def parsed_target(self, text: SchemaText, schema: Schema | None) -> Target:
        """A schema that the registry has, as what values of this Connect schema are written with."""

    @abstractmethod
    def writer(self, schema: Schema | None, target: Target) -> Writer: ...

    @abstractmethod
    def conflicts(self, reader: Target, writer: Target) -> list[str]:
        """Why what is written with one schema can't be read with another one; empty if it can."""

    @abstractmethod
    def reader(
        self, what: str, text: SchemaText, id: SchemaId, version: Callable[[str | None], int | None]
    ) -> tuple[Schema | None, Read]:
        """How messages of a schema are read; ``version`` asks the registry, given the name of the record."""

    def head_size(self, data: bytes, start: int) -> int:
        """The place at which the payload begins, after an id that ends at ``start``."""
        return start

    def registered(self, topic: str) -> list[dict[str, Any]]:
        """The subjects of a topic that the registry has: the latest version of each, its id and its type.

        With subjects that are named by records alone these are all subjects that are such a name.
        Raises RetriableError or SerializationError.
        """
        names = self.registry.subjects("Error retrieving subjects")
        if self._strategy == TOPIC:
            names = [name for name in names if name == subject(TOPIC, topic, self.is_key, None)]
        elif self._strategy == TOPIC_RECORD:
            names = [name for name in names if name.startswith(f"{topic}-")]
        else:
            names = [name for name in names if not name.endswith(("-key", "-value"))]
        found = []
        for name in sorted(names):
            latest = self.registry.latest(f"Error retrieving latest version of subject {name}", name)
            found.append({"subject": name, "version": latest.version, "id": latest.id, "type": latest.schema.type})
        return found

    # -- to messages

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_batch([topic], [tuple(headers)], [schema], [value])[0]

    def from_connect_batch(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        """With the id in headers, rows of ``headers`` are replaced by rows that have it."""
        if not values:
            return []
        self._expire()
        topic, schema = topics[0], schemas[0]
        if (
            topics.count(topic) == len(topics)
            and schemas.count(schema) == len(schemas)
            and not any(value is None for value in values)
        ):
            plan = self._plan(topic, schema)
            try:
                messages: list[bytes | None] = list(plan.writer.all(plan.head, values))
            except Exception as error:
                raise self._unwritable(topic, error) from error
            if plan.header is not None:
                headers[:] = [(*row, plan.header) for row in headers]
            return messages
        messages = []
        for i, (topic, schema, value) in enumerate(zip(topics, schemas, values, strict=True)):
            if value is None and (schema is None or schema.optional):
                messages.append(None)
                continue
            plan = self._plan(topic, schema)
            try:
                if value is None:
                    raise DataError("Found null value for non-optional schema")
                messages.append(plan.writer.one(plan.head, value))
            except Exception as error:
                raise self._unwritable(topic, error) from error
            if plan.header is not None:
                headers[i] = (*headers[i], plan.header)
        return messages

    def _unwritable(self, topic: str, error: Exception) -> KafkaError:
        message = f"Failed to serialize {self.format} data from topic {topic} :"
        if isinstance(error, RetriableError):
            return RetriableError(f"{message} {error}")
        # A value that does not fit its schema is the mapping's own DataError, as in Java.
        return error if isinstance(error, DataError) else DataError(f"{message} {error}")

    def _plan(self, topic: str, schema: Schema | None) -> _Plan:
        plan = self._plans.get((topic, schema))
        if plan is None:
            target = self._target(schema)
            try:
                plan = self._make_plan(topic, schema, target)
            except (SerializationError, RetriableError) as error:
                raise self._unwritable(topic, error) from error
            if len(self._plans) >= self.cache_size:
                self._plans.clear()
            self._plans[topic, schema] = plan
        return plan

    def _target(self, schema: Schema | None) -> Target:
        found = self._targets.get(schema)
        if found is None:
            if len(self._targets) >= self.cache_size:
                self._targets.clear()
            found = self._targets[schema] = self.target(schema)
        return found

    def _make_plan(self, topic: str, schema: Schema | None, target: Target) -> _Plan:
        name = subject(self._strategy, topic, self.is_key, target.name)
        registered, target = self._registered(name, schema, target)
        writer = self.writer(schema, target)
        if not self._in_header:
            if registered.id is None:
                raise SerializationError(f"The registry gave no id for the schema of subject {name}")
            return _Plan(id_prefix(registered.id) + target.head, None, writer)
        if registered.guid is None:
            raise SerializationError(f"The registry gave no GUID for the schema of subject {name}, which headers need")
        return _Plan(b"", Header(self._header_name, None, guid_header(registered.guid) + target.head), writer)

    def _registered(self, name: str, schema: Schema | None, target: Target) -> tuple[Registered, Target]:
        """The schema to write with: ours, or the one that the settings prescribe."""
        settings, kind, text = self.settings, self.format, target.text
        normalize = settings["normalize.schemas"]
        if settings["auto.register.schemas"]:
            what = f"Error registering {kind} schema of subject {name}: {text.text}"
            return self.registry.register(what, name, self.with_references(name, text), normalize), target
        if settings["use.schema.id"] >= 0:
            id = settings["use.schema.id"]
            given = self.registry.by_id(f"Error retrieving schema ID {id} of subject {name}", id, name)
            found, strict = Registered(id, None, None, given), "id.compatibility.strict"
        elif settings["use.schema.guid"]:
            guid = settings["use.schema.guid"]
            given = self.registry.by_guid(f"Error retrieving schema GUID {guid}", guid)
            id_of = self.registry.lookup(f"Error retrieving schema GUID {guid} of subject {name}", name, given)
            found, strict = Registered(id_of.id, guid, None, given), "id.compatibility.strict"
        elif settings["use.latest.version"]:
            found = self.registry.latest(f"Error retrieving latest version of {kind} schema of subject {name}", name)
            strict = "latest.compatibility.strict"
        else:
            what = f"Error retrieving {kind} schema of subject {name}: {text.text}"
            return self.registry.lookup(what, name, self.with_references(name, text), normalize), target
        chosen = self.parsed_target(found.schema, schema)
        if settings[strict] and (conflicts := self.conflicts(chosen, target)):
            raise SerializationError(
                f"Incompatible schema of type '{self.schema_type}' of subject {name}. Set {strict}=false to disable "
                f"this check. {'; '.join(conflicts)}"
            )
        return found, chosen

    def with_references(self, subject: str, text: SchemaText) -> SchemaText:
        """The schema with what it refers to registered, if the format needs that."""
        return text

    def _expire(self) -> None:
        """Plans that were made of a latest version last as long as that is kept."""
        ttl = self.settings["latest.cache.ttl.sec"]
        if ttl < 0 or not self.settings["use.latest.version"]:
            return
        if (now := time.monotonic()) >= self._fresh_until:
            self._plans.clear()
            self._readers.clear()
        elif self._fresh_until < float("inf"):
            return
        self._fresh_until = now + ttl

    # -- from messages

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        schemas, values = self.to_connect_batch([topic], [headers], [data])
        return schemas[0], values[0]

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any]]:
        self._expire()
        schemas: list[Schema | None] = []
        values: list[Any] = []
        reader: _Reader | None = None
        last_topic, last_head = "", b""
        head_size = self.head_size
        for topic, row, item in zip(topics, headers, data, strict=True):
            if item is None:
                schemas.append(None)
                values.append(None)
                continue
            if row and self._header_read and (head := header_of(row, self._header_name)) is not None:
                start = 0
            else:
                try:
                    start = head_size(item, ID_SIZE if item[:1] != b"\1" else GUID_SIZE)
                except SerializationError as error:
                    raise self._unreadable(topic, None, error) from error
                head = item[:start]
            if reader is None or head != last_head or topic != last_topic:
                reader = self._reader(topic, head)
                last_topic, last_head = topic, head
            try:
                values.append(reader.read(item, start))
            except Exception as error:
                raise self._unreadable(topic, reader.id, error) from error
            schemas.append(reader.schema)
        return schemas, values

    def _unreadable(self, topic: str, id: SchemaId | None, error: Exception) -> KafkaError:
        message = f"Failed to deserialize data for topic {topic} to {self.format}:"
        if isinstance(error, RetriableError):
            return RetriableError(f"{message} {error}")
        if isinstance(error, DataError):
            return error
        if isinstance(error, SerializationError):
            return DataError(f"{message} {error}")
        return DataError(f"{message} Error deserializing {self.format} message for id {id}: {_said(error)}")

    def _reader(self, topic: str, head: bytes) -> _Reader:
        found = self._readers.get((topic, head))
        if found is None:
            id = None
            try:
                id, size = read_id(head)
                found = self._make_reader(topic, self.with_indexes(id, head, size))
            except (SerializationError, RetriableError) as error:
                raise self._unreadable(topic, id, error) from error
            if len(self._readers) >= self.cache_size:
                self._readers.clear()
            self._readers[topic, head] = found
        return found

    def with_indexes(self, id: SchemaId, head: bytes, start: int) -> SchemaId:
        """The id with what stands behind it in the head of a message."""
        return id

    def _make_reader(self, topic: str, id: SchemaId) -> _Reader:
        name = subject(self._strategy, topic, self.is_key, None) if self._strategy == TOPIC else None
        what = f"Error retrieving {self.format} {'key' if self.is_key else 'value'} schema for id {id}"
        what += "" if name is None else f" of subject {name}"
        if id.id is not None:
            text = self.registry.by_id(what, id.id, name)
        else:
            assert id.guid is not None
            text = self.registry.by_guid(what, id.guid)

        def version(record: str | None) -> int | None:
            own = subject(self._strategy, topic, self.is_key, record)
            if id.id is None:
                return self.registry.lookup(what, own, text).version
            found = self.registry.versions(what, id.id)
            if own not in found:
                under = ", ".join(found) or "no subject"
                raise SerializationError(f"{what}: subject {own} does not have this schema, which is under {under}")
            return found[own]

        if text.type != self.schema_type:
            raise SerializationError(f"{what}: it is of type {text.type}, not {self.schema_type}")
        schema, read = self.reader(what, text, id, version)
        return _Reader(id, schema, read)

    def resolved(self, what: str, text: SchemaText) -> dict[str, SchemaText]:
        """The schemas that a schema refers to, and those they refer to, by the names used; those needed come first."""
        found: dict[str, SchemaText] = {}
        for reference in text.references:
            if reference.name not in found:
                where = f"{what}: reference {reference.name}, version {reference.version} of {reference.subject}"
                inner = self.registry.version(where, reference.subject, reference.version).schema
                found.update({name: t for name, t in self.resolved(what, inner).items() if name not in found})
                found[reference.name] = inner
        return found


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
