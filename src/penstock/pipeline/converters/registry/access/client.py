"""The registry as converters use it: Confluent's own client, made from Java's settings, its failures as our errors.

What may succeed later is a RetriableError, so that ``errors.retry.timeout`` governs; what will not is a
SerializationError caused by a RestClientError with the registry's own words. Java: ``CachedSchemaRegistryClient``,
``AbstractKafkaSchemaSerDe.toKafkaException``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from penstock.api.errors import ConnectError, KafkaError, RetriableError, SerializationError

_RETRIABLE = frozenset((408, 429))
_LONGEST = 10_000
"""Characters of a registry's words; a proxy in between may answer with a page of any length."""


class RestClientError(KafkaError):
    """Error response of a registry."""

    java_name = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException"


@dataclass(frozen=True, slots=True)
class SchemaReference:
    """A schema that another one refers to by ``name``."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class SchemaText:
    """A schema as a registry keeps it. ``type`` is AVRO, PROTOBUF or JSON."""

    type: str
    text: str
    references: tuple[SchemaReference, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Registered:
    """A schema that a registry has."""

    id: int | None
    guid: str | None
    version: int | None
    schema: SchemaText


class Registry:
    """One registry. Every method raises RetriableError or SerializationError, whose message begins with ``what``."""

    def __init__(
        self, client: Any, pause: float, context: str = "", clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``pause``: for so many seconds after a request failed whose retries were used up no other one is made.
        ``context``: what subjects begin with in answers, if the address names a context.
        """
        self._client, self._pause, self._context, self._clock = client, pause, context, clock
        self._failed_until = 0.0
        self._failure = ""
        self.patient = False
        """Whether a request waits until the pause is over, instead of failing."""

    def register(self, what: str, subject: str, schema: SchemaText, normalize: bool) -> Registered:
        """The schema under this subject, which it is registered under if it was not yet."""
        return self._ask(
            what, lambda: self._client.register_schema_full_response(subject, _theirs(schema), normalize), schema
        )

    def lookup(
        self, what: str, subject: str, schema: SchemaText, normalize: bool = False, deleted: bool = False
    ) -> Registered:
        """The schema under this subject; ``deleted``: also if it has been deleted there."""
        return self._ask(
            what, lambda: self._client.lookup_schema(subject, _theirs(schema), normalize, deleted=deleted), schema
        )

    def latest(self, what: str, subject: str) -> Registered:
        """The latest version of this subject; the client keeps it as ``latest.cache.ttl.sec`` says."""
        return self._ask(what, lambda: self._client.get_latest_version(subject))

    def version(self, what: str, subject: str, version: int) -> Registered:
        return self._ask(what, lambda: self._client.get_version(subject, version, deleted=True))

    def by_id(self, what: str, id: int, subject: str | None = None) -> SchemaText:
        return _ours(self._call(what, lambda: self._client.get_schema(id, subject)))

    def by_guid(self, what: str, guid: str) -> SchemaText:
        return _ours(self._call(what, lambda: self._client.get_schema_by_guid(guid)))

    def versions(self, what: str, id: int) -> dict[str, int]:
        """Under which subjects a schema is registered, deleted ones among them, and as which version."""
        found = self._call(what, lambda: self._client.get_schema_versions(id, deleted=True))
        return {str(entry.subject).removeprefix(self._context): int(entry.version) for entry in found}

    def subjects(self, what: str) -> list[str]:
        """The names of all subjects."""
        return [str(name).removeprefix(self._context) for name in self._call(what, self._client.get_subjects)]

    def close(self) -> None:
        self._client.close()

    def _ask(self, what: str, ask: Callable[[], Any], sent: SchemaText | None = None) -> Registered:
        found = self._call(what, ask)
        schema = _ours(found.schema) if found.schema is not None and found.schema.schema_str is not None else sent
        if schema is None:
            raise SerializationError(f"{what}: the registry's answer has no schema")
        return Registered(found.schema_id, found.guid, found.version, schema)

    def _call(self, what: str, ask: Callable[[], Any]) -> Any:
        if (left := self._failed_until - self._clock()) > 0:
            if not self.patient:
                raise RetriableError(f"{what}: {self._failure}")
            time.sleep(left)
        try:
            return ask()
        except Exception as error:
            failure = _failure(what, error)
            if isinstance(failure, RetriableError):
                self._failure = _words(error)
                self._failed_until = self._clock() + self._pause
            raise failure from _cause(error)


def _failure(what: str, error: Exception) -> KafkaError:
    if isinstance(error, ConnectError):
        return error
    status = getattr(error, "http_status_code", getattr(error, "status_code", None))
    if _is_transport(error) or (isinstance(status, int) and (status in _RETRIABLE or status >= 500)):
        return RetriableError(f"{what}: {_words(error)}")
    return SerializationError(f"{what}: {_words(error)}")


def _is_transport(error: Exception) -> bool:
    """Whether no answer came: connections refused or broken, time-outs. The client uses httpx or its successor."""
    return any(kind.__name__ == "TransportError" for kind in type(error).__mro__)


def _words(error: Any) -> str:
    if hasattr(error, "error_message"):
        said = str(error.error_message)
        if len(said) > _LONGEST:
            said = f"{said[:_LONGEST]}... ({len(said)} characters)"
        return f"{said}; error code: {error.error_code} (HTTP status {error.http_status_code})"
    if isinstance(error, ValueError) and not str(error).startswith("Missing"):
        return f"the registry's answer is no JSON ({error})"
    return f"{type(error).__name__}: {error}"


def _cause(error: Exception) -> Exception:
    return RestClientError(_words(error)) if hasattr(error, "error_message") else error


def _ours(schema: Any) -> SchemaText:
    references = tuple(SchemaReference(r.name, r.subject, r.version) for r in schema.references or ())
    return SchemaText(schema.schema_type or "AVRO", schema.schema_str or "", references)


def _theirs(schema: SchemaText) -> Any:
    from confluent_kafka.schema_registry import Schema, SchemaReference

    references = [SchemaReference(r.name, r.subject, r.version) for r in schema.references]
    return Schema(schema.text, schema.type, references)
