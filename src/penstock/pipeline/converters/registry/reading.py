"""From messages to Connect's data: for each pair of topic and schema a reader, made when its first message comes. The
messages of a batch that have one schema are read together. Java: ``AbstractKafkaAvroDeserializer``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError, KafkaError, RetriableError, SerializationError
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.access.client import SchemaText
from penstock.pipeline.converters.registry.format import Format, FormatReader, WriterSchema, endless
from penstock.pipeline.converters.registry.subjects import TOPIC, subject
from penstock.pipeline.converters.registry.wire import (
    CONFIG_DESERIALIZER,
    DUAL_DESERIALIZER,
    GUID_SIZE,
    ID_SIZE,
    KEY_HEADER,
    VALUE_HEADER,
    SchemaId,
    configured_id,
    header_of,
    read_id,
)

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(frozen=True, slots=True)
class _Run:
    """Consecutive messages of one topic that begin alike; ``head`` is None for tombstones."""

    topic: str
    head: bytes | None
    start: int
    """Position at which the payloads begin."""
    messages: list[bytes]


class MessageReading:
    """The readers of one converter."""

    def __init__(self, format: Format, strategy: str) -> None:
        self._format, self._strategy = format, strategy
        which = "key" if format.is_key else "value"
        deserializer = format.settings[f"{which}.schema.id.deserializer"]
        self._header_read = deserializer == DUAL_DESERIALIZER
        self._configured = configured_id(format.settings) if deserializer == CONFIG_DESERIALIZER else None
        self._header_name = KEY_HEADER if format.is_key else VALUE_HEADER
        self._readers: dict[tuple[str, bytes], tuple[SchemaId, FormatReader]] = {}

    def expire(self) -> None:
        """The readers are to be made again, as the latest version of a subject may have changed."""
        self._readers.clear()

    def values(
        self, topics: list[str], headers: Sequence[Headers], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any] | Table]:
        """Columns of equal length, with one row at least."""
        run = self._whole(topics, headers, data)
        if run is not None:
            return self._read(run)
        schemas: list[Schema | None] = []
        values: list[Any] = []
        for run in self._runs(topics, headers, data):
            if run.head is None:
                schemas += [None] * len(run.messages)
                values += [None] * len(run.messages)
            else:
                found, read = self._read(run)
                schemas += found
                values += read
        return schemas, values

    def _whole(self, topics: list[str], headers: Sequence[Headers], data: list[bytes | None]) -> _Run | None:
        """The batch as one run, if it can be seen at a glance that it is one."""
        first, topic = data[0], topics[0]
        if not first or topics.count(topic) < len(topics) or self._configured or (self._header_read and any(headers)):
            return None
        start = self._start(topic, first)
        head = first[:start]
        try:  # If the first and the last in order begin with it, all do.
            alike = min(data).startswith(head) and max(data).startswith(head)  # type: ignore[type-var, union-attr]
        except TypeError:  # a tombstone
            return None
        return _Run(topic, head, start, data) if alike else None  # type: ignore[arg-type]

    def _runs(self, topics: list[str], headers: Sequence[Headers], data: list[bytes | None]) -> Iterator[_Run]:
        """Raises, after the runs before it, for a message without an id."""
        run: _Run | None = None
        for topic, row, item in zip(topics, headers, data, strict=True):
            try:
                head, start = self._head(topic, row, item)
            except DataError:
                if run is not None:
                    yield run
                raise
            if run is None or (topic, head, start) != (run.topic, run.head, run.start):
                if run is not None:
                    yield run
                run = _Run(topic, head, start, [])
            run.messages.append(item or b"")
        if run is not None:
            yield run

    def _head(self, topic: str, headers: Headers, item: bytes | None) -> tuple[bytes | None, int]:
        """Return the bytes that identify a message's schema, and the offset of its payload."""
        if item is None:
            return None, 0
        if self._configured is not None:
            return self._configured, 0
        if headers and self._header_read and (head := header_of(headers, self._header_name)) is not None:
            return head, 0
        start = self._start(topic, item)
        return item[:start], start

    def _start(self, topic: str, item: bytes) -> int:
        try:
            return self._format.head_size(item, ID_SIZE if item[:1] != b"\1" else GUID_SIZE)
        except SerializationError as error:
            raise self._unreadable(topic, None, _of_frame(item) or error) from error

    def _read(self, run: _Run) -> tuple[list[Schema | None], list[Any] | Table]:
        assert run.head is not None
        id, reader = self._reader(run.topic, run.head)
        messages, start = run.messages, run.start
        values: list[Any] | Table | None
        try:
            values = reader.all(messages, start) if len(messages) > 1 else None
        except Exception:
            values = None
        if values is None:
            try:
                values = [reader.one(item, start) for item in messages]
            except DataError:
                raise
            except Exception as error:
                raise self._unreadable(run.topic, id, error) from error
        return [reader.schema] * len(messages), values

    def _unreadable(self, topic: str, id: SchemaId | None, error: Exception) -> KafkaError:
        kind = self._format.format
        message = f"Failed to deserialize data for topic {topic} to {kind}:"
        if isinstance(error, RetriableError):
            return RetriableError(f"{message} {error}")
        if isinstance(error, SerializationError):
            return DataError(f"{message} {error}")
        said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        return DataError(f"{message} Error deserializing {kind} message for id {id}: {said}")

    def _reader(self, topic: str, head: bytes) -> tuple[SchemaId, FormatReader]:
        found = self._readers.get((topic, head))
        if found is None:
            id = None
            try:
                id, size = read_id(head)
                id = self._format.with_indexes(id, head, size)
                found = id, self._format.reader(self._source(topic, id))
            except (SerializationError, RetriableError) as error:
                raise self._unreadable(topic, id, error) from error
            except RecursionError as error:
                raise self._unreadable(topic, id, endless(f"The schema for id {id}")) from error
            except KafkaError:
                raise
            except Exception as error:  # a schema that the registry should have refused
                said = SerializationError(f"The schema for id {id} can't be read: {type(error).__name__}: {error}")
                raise self._unreadable(topic, id, said) from error
            if len(self._readers) >= self._format.cache_size:
                self._readers.clear()
            self._readers[topic, head] = found
        return found

    def _source(self, topic: str, id: SchemaId) -> WriterSchema:
        format, registry = self._format, self._format.registry
        name = subject(self._strategy, topic, format.is_key, None) if self._strategy == TOPIC else None
        what = f"Error retrieving {format.format} {'key' if format.is_key else 'value'} schema for id {id}"
        what += "" if name is None else f" of subject {name}"
        if id.id is not None:
            text = registry.by_id(what, id.id, name)
        else:
            assert id.guid is not None
            text = registry.by_guid(what, id.guid)
        format.require_type(what, text)

        def version(record: str | None) -> int | None:
            own = subject(self._strategy, topic, format.is_key, record)
            if id.id is None:
                return registry.lookup(what, own, text, deleted=True).version
            found = registry.versions(what, id.id)
            if own not in found:
                under = ", ".join(found) or "no subject"
                raise SerializationError(f"{what}: subject {own} does not have this schema, which is under {under}")
            return found[own]

        def latest(record: str | None) -> tuple[SchemaText, int | None]:
            own = subject(self._strategy, topic, format.is_key, record)
            where = f"Error retrieving latest version of {format.format} schema of subject {own}"
            newest = registry.latest(where, own)
            format.require_type(where, newest.schema)
            return newest.schema, newest.version

        return WriterSchema(what, id, text, version, latest if format.settings["use.latest.version"] else None)


def _of_frame(item: bytes) -> SerializationError | None:
    """Return the error of an invalid id, which takes precedence over errors after it."""
    try:
        read_id(item)
    except SerializationError as error:
        return error
    return None
