"""Converters of jars, for keys, values and headers. The classes of plugins are subclasses that discovery makes.

The pipeline applies them to whole batches (``step``), so that batches may stay in the JVM; the methods of ``Converter``
work as well, where somebody has columns and no batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.api.batch import NO_HEADERS, Batch
from penstock.api.columns import Table
from penstock.api.converter import Converter, HeaderConverter, SchemaAndValue
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.hosts.jvm.tasks.steps import JavaStep, OfJava
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm


class JavaConverter(OfJava, Converter):
    def configure(self, config: Mapping[str, str], is_key: bool) -> None:
        self._part = "key" if is_key else "value"
        location = self.java_location
        self.step = JavaStep(TaskJvm.current(), "converter", self.java_name, config, location, is_key)

    def from_connect_batch(
        self, topics: list[str], headers: list[tuple[Header, ...]], schemas: list[Schema | None], values: list[Any]
    ) -> list[bytes | None]:
        batch = self._batch(topics, headers, schemas, values)
        converted = self.step.from_connect(batch, self._part)
        headers[:] = converted.headers
        return converted.keys if self._part == "key" else converted.values

    def from_connect(self, topic: str, headers: Sequence[Header], schema: Schema | None, value: Any) -> bytes | None:
        return self.from_connect_batch([topic], [tuple(headers)], [schema], [value])[0]

    def to_connect_batch(
        self, topics: list[str], headers: list[Sequence[tuple[str, bytes | None]]], data: list[bytes | None]
    ) -> tuple[list[Schema | None], list[Any] | Table]:
        raw: list[Any] = headers
        found = self.step.to_connect(self._batch(topics, raw, [None] * len(data), data), self._part)
        if self._part == "key":
            return found.key_schemas, found.key_column
        return found.value_schemas, found.value_column

    def to_connect(self, topic: str, headers: Sequence[tuple[str, bytes | None]], data: bytes | None) -> SchemaAndValue:
        schemas, values = self.to_connect_batch([topic], [headers], [data])
        return schemas[0], values[0]

    def close(self) -> None:
        self.step.close()

    def _batch(self, topics: list[str], headers: list[Any], schemas: list[Schema | None], values: list[Any]) -> Batch:
        rows = [tuple(row) if row else NO_HEADERS for row in headers]
        if self._part == "key":
            return Batch.of(topics, [None] * len(values), keys=values, key_schema=schemas, headers=rows)
        return Batch.of(topics, values, value_schema=schemas, headers=rows)


class JavaHeaderConverter(OfJava, HeaderConverter):
    def configure_header(self, config: Mapping[str, str]) -> None:
        self.step = JavaStep(TaskJvm.current(), "header_converter", self.java_name, config, self.java_location)

    def from_connect_header(self, topic: str, key: str, schema: Schema | None, value: Any) -> bytes | None:
        batch = Batch.of(topic, [None], headers=[(Header(key, schema, value),)])
        data: bytes | None = self.step.from_connect(batch, "headers").headers[0][0].value
        return data

    def to_connect_header(self, topic: str, key: str, data: bytes | None) -> SchemaAndValue:
        batch = Batch.of(topic, [None], headers=[(Header(key, None, data),)])
        header = self.step.to_connect(batch, "headers").headers[0][0]
        return header.schema, header.value

    def close(self) -> None:
        self.step.close()
