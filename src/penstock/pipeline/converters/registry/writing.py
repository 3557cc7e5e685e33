"""From Connect's data to messages: for each pair of topic and schema a plan, made when its first record comes, that
says how messages begin and which function writes the rest. A batch is then one pass.

Java: ``AbstractKafkaAvroSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.api.columns import Table
from penstock.api.errors import DataError, KafkaError, RetriableError, SerializationError
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.access.client import Registered
from penstock.pipeline.converters.registry.format import Format, FormatWriter, RegisteredSchema, endless
from penstock.pipeline.converters.registry.subjects import subject
from penstock.pipeline.converters.registry.wire import (
    HEADER_SERIALIZER,
    KEY_HEADER,
    VALUE_HEADER,
    guid_header,
    id_prefix,
)
from penstock.pipeline.trace import causes

NONE = type(None)


@dataclass(frozen=True, slots=True)
class _Plan:
    head: bytes
    header: Header | None
    writer: FormatWriter


def _written(write: Callable[[bytes, Any], Any], head: bytes, values: Any) -> Any:
    try:
        return write(head, values)
    except Exception as error:
        if not is_about_surrogates(error):
            raise
    return write(head, without_surrogates(values))


class Writing:
    """The plans of one converter."""

    def __init__(self, format: Format, strategy: str) -> None:
        self._format, self._strategy = format, strategy
        which = "key" if format.is_key else "value"
        self._in_header = format.settings[f"{which}.schema.id.serializer"] == HEADER_SERIALIZER
        self._header_name = KEY_HEADER if format.is_key else VALUE_HEADER
        self._most_of_a_topic: int = format.settings["max.schemas.per.subject"]
        self._plans: dict[tuple[str, Schema | None], _Plan] = {}
        self._targets: dict[Schema | None, RegisteredSchema] = {}

    def expire(self) -> None:
        """The plans are to be made again, as the latest version of a subject may have changed."""
        self._plans.clear()

    def messages(
        self,
        topics: list[str],
        headers: list[tuple[Header, ...]],
        schemas: list[Schema | None],
        values: list[Any] | Table,
    ) -> list[bytes | None]:
        """Columns of equal length, with one row at least. With the id in headers, rows of ``headers`` are replaced by
        rows that have it.
        """
        topic, schema = topics[0], schemas[0]
        one_plan = topics.count(topic) == len(topics) and schemas.count(schema) == len(schemas)
        if not one_plan or (not isinstance(values, Table) and NONE in set(map(type, values))):
            return self._one_by_one(topics, headers, schemas, list(values))
        plan = self._plan(topic, schema)
        try:
            messages: list[bytes | None] = list(_written(plan.writer.all, plan.head, values))
        except DataError:
            raise  # A value that does not fit its schema is the mapping's own error, as in Java.
        except Exception as error:
            raise self._unwritable(topic, error) from error
        if plan.header is not None:
            headers[:] = [(*row, plan.header) for row in headers]
        return messages

    def _one_by_one(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        messages: list[bytes | None] = []
        for i, (topic, schema, value) in enumerate(zip(topics, schemas, values, strict=True)):
            if value is None and self._format.is_tombstone(schema):
                messages.append(None)
                continue
            plan = self._plan(topic, schema)
            try:
                messages.append(_written(plan.writer.one, plan.head, value))
            except DataError:
                raise
            except Exception as error:
                raise self._unwritable(topic, error) from error
            if plan.header is not None:
                headers[i] = (*headers[i], plan.header)
        return messages

    def _unwritable(self, topic: str, error: Exception) -> KafkaError:
        message = f"Failed to serialize {self._format.format} data from topic {topic} :"
        if isinstance(error, RetriableError):
            return RetriableError(f"{message} {error}")
        return DataError(f"{message} {error}")

    def _plan(self, topic: str, schema: Schema | None) -> _Plan:
        plan = self._plans.get((topic, schema))
        if plan is None:
            try:
                target = self._target(schema)
                plan = self._make_plan(topic, schema, target)
            except (SerializationError, RetriableError) as error:
                raise self._unwritable(topic, error) from error
            except RecursionError as error:
                raise self._unwritable(topic, endless("The schema")) from error
            if len(self._plans) >= self._format.cache_size:
                self._plans.clear()
            elif len(self._plans) >= self._most_of_a_topic:
                self._make_room(topic)
            self._plans[topic, schema] = plan
        return plan

    def _make_room(self, topic: str) -> None:
        """Forget the plans of a topic that has as many as it may have."""
        own = [place for place in self._plans if place[0] == topic]
        if len(own) >= self._most_of_a_topic:
            for place in own:
                del self._plans[place]

    def _target(self, schema: Schema | None) -> RegisteredSchema:
        found = self._targets.get(schema)
        if found is None:
            if len(self._targets) >= self._format.cache_size:
                self._targets.clear()
            found = self._targets[schema] = self._format.target(schema)
        return found

    def _make_plan(self, topic: str, schema: Schema | None, target: RegisteredSchema) -> _Plan:
        name = subject(self._strategy, topic, self._format.is_key, target.name)
        registered, target = self._registered(name, schema, target)
        writer = self._format.writer(schema, target)
        if not self._in_header:
            if registered.id is None:
                raise SerializationError(f"The registry gave no id for the schema of subject {name}")
            return _Plan(id_prefix(registered.id) + target.head, None, writer)
        if registered.guid is None:
            raise SerializationError(f"The registry gave no GUID for the schema of subject {name}, which headers need")
        return _Plan(b"", Header(self._header_name, None, guid_header(registered.guid) + target.head), writer)

    def _registered(
        self, name: str, schema: Schema | None, target: RegisteredSchema
    ) -> tuple[Registered, RegisteredSchema]:
        """The schema to write with: ours, or the one that the settings prescribe."""
        format, text = self._format, target.text
        settings, kind, registry = format.settings, format.format, format.registry
        normalize = settings["normalize.schemas"]
        if settings["auto.register.schemas"]:
            what = f"Error registering {kind} schema of subject {name}: {text.text}"
            return registry.register(what, name, format.with_references(name, text), normalize), target
        if settings["use.schema.id"] >= 0:
            id = settings["use.schema.id"]
            given = registry.by_id(f"Error retrieving schema ID {id} of subject {name}", id, name)
            found, strict = Registered(id, None, None, given), "id.compatibility.strict"
        elif settings["use.schema.guid"]:
            guid = settings["use.schema.guid"]
            given = registry.by_guid(f"Error retrieving schema GUID {guid}", guid)
            id_of = registry.lookup(f"Error retrieving schema GUID {guid} of subject {name}", name, given)
            found, strict = Registered(id_of.id, guid, None, given), "id.compatibility.strict"
        elif settings["use.latest.version"]:
            found = registry.latest(f"Error retrieving latest version of {kind} schema of subject {name}", name)
            strict = "latest.compatibility.strict"
        else:
            what = f"Error retrieving {kind} schema of subject {name}: {text.text}"
            return registry.lookup(what, name, format.with_references(name, text), normalize), target
        format.require_type(f"Error retrieving {kind} schema of subject {name}", found.schema)
        chosen = format.parsed_target(found.schema, schema)
        if settings[strict] and (conflicts := format.conflicts(chosen, target)):
            raise SerializationError(
                f"Incompatible schema of type '{format.schema_type}' of subject {name}. Set {strict}=false to disable "
                f"this check. {'; '.join(conflicts)}"
            )
        return found, chosen


def is_about_surrogates(error: BaseException | None) -> bool:
    """Whether a text that UTF-8 does not have is behind this error."""
    return error is not None and any(isinstance(each, UnicodeEncodeError) for each in causes(error))


def without_surrogates(value: Any) -> Any:
    """The value with its texts as Java encodes them: pairs are the characters that they stand for."""
    match value:
        case str():
            pairs = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
            return pairs.encode("utf-8", "replace").decode()
        case Table():
            return Table(value.names, [without_surrogates(list(column)) for column in value.columns])
        case dict():
            return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
        case list() | tuple():
            return [without_surrogates(item) for item in value]
    return value
