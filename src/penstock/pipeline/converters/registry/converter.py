"""The converters of the Schema Registry: ``Writing`` and ``MessageReading`` with the mapping of one format.

Java: ``AvroConverter`` and its siblings.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.columns import Table
from penstock.api.converter import Converter, SchemaAndValue
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.pipeline.converters.registry.access.connecting import connect
from penstock.pipeline.converters.registry.extras import load
from penstock.pipeline.converters.registry.format import Format
from penstock.pipeline.converters.registry.reading import MessageReading
from penstock.pipeline.converters.registry.settings import REQUEST_HEADER, in_effect
from penstock.pipeline.converters.registry.subjects import TOPIC, TOPIC_RECORD, subject
from penstock.pipeline.converters.registry.writing import Writing

log = logging.getLogger(__name__)

VERSION = "8.5.0"
"""Version of the Confluent converters whose behaviour is kept."""


class RegistryConverter(Format, Converter):
    """A converter for keys and values. A subclass is the mapping of one format."""

    takes_tables = True
    waits = True
    """Whether a record by itself waits until the registry may be asked again, as it may be skipped otherwise."""

    @classmethod
    def version(cls) -> str:
        return VERSION

    @classmethod
    def check_libraries(cls) -> None:
        """Raise ConfigError, with the command that installs it, if a library that the converter needs is missing."""
        for module in cls.libraries:
            load(module, cls.extra)

    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        definition = self.config_def()
        settings = in_effect(definition.parse(config))
        for name in config.keys() - definition.keys.keys():
            if name != "plugin.version" and not name.startswith(REQUEST_HEADER):
                log.warning("%s has no setting %s; it has no effect", type(self).__name__, name)
        self.settings, self.is_key = settings, is_key
        self.registry = connect(settings, config, self.extra)
        self.cache_size = max(settings["schemas.cache.config"], 1)
        self._strategy: str = settings[f"{'key' if is_key else 'value'}.subject.name.strategy"]
        self._fresh_until = float("inf")
        self.set_up(settings)
        self._writing, self._reading = Writing(self, self._strategy), MessageReading(self, self._strategy)

    def close(self) -> None:
        self.registry.close()

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

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_batch([topic], [tuple(headers)], [schema], [value])[0]

    def from_connect_batch(
        self,
        topics: list[str],
        headers: list[tuple[Header, ...]],
        schemas: list[Schema | None],
        values: list[Any] | Table,
    ) -> list[bytes | None]:
        """With the id in headers, rows of ``headers`` are replaced by rows that have it."""
        if not values:
            return []
        self._begin(len(values))
        return self._writing.messages(topics, headers, schemas, values)

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        schemas, values = self.to_connect_batch([topic], [headers], [data])
        return schemas[0], values[0]

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any] | Table]:
        if not data:
            return [], []
        self._begin(len(data))
        return self._reading.values(topics, headers, data)

    def _begin(self, records: int) -> None:
        """Several records that fail will come again one by one.

        What was made of a latest version lasts as long as that is kept.
        """
        self.registry.patient = self.waits and records == 1
        ttl = self.settings["latest.cache.ttl.sec"]
        if ttl < 0 or not self.settings["use.latest.version"]:
            return
        if (now := time.monotonic()) >= self._fresh_until:
            self._writing.expire()
            self._reading.expire()
        elif self._fresh_until < float("inf"):
            return
        self._fresh_until = now + ttl
