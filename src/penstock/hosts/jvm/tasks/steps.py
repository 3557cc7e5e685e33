"""Transforms, predicates and converters in the JVM of a task, applied to batches there.

The classes of plugins from jars are subclasses that discovery makes, with their names. Kafka's own plugins exist in
Python and in Java: they run in Java if the batch is there already, because a neighbour was Java, so that its values
need not cross (``java_step``). The bytes are the same either way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import Any, ClassVar

from penstock.api.batch import NO_HEADERS, Batch
from penstock.api.columns import Table
from penstock.api.converter import Converter, HeaderConverter, SchemaAndValue
from penstock.api.plugin_metrics import Monitorable, PluginMetrics
from penstock.api.record import Header
from penstock.api.schema import Schema
from penstock.api.transform import Predicate, Transformation
from penstock.hosts.jvm.codec.decode import Decoder
from penstock.hosts.jvm.messages.base import Part, PluginReference
from penstock.hosts.jvm.messages.batches import (
    ApplyStep,
    AskPredicate,
    CloseStep,
    ConvertFromConnect,
    ConvertToBytes,
    ConvertToConnect,
    CreateStep,
    GiveStepMetrics,
)
from penstock.hosts.jvm.tasks.remote_batch import PARTS, BytesBatch, RemoteBatch, after, header_rows, input_of
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from penstock.java.text import java_class_name

KAFKAS_OWN = "org.apache.kafka.connect."
_SETTINGS_OF_NEWER_KAFKA = {f"{KAFKAS_OWN}transforms.ValueToKey": "field.syntax.version"}
"""Settings of Kafka's own classes, by class, that Kafka 4.4 has added and the class path of the JVM lacks."""
_NEEDED: dict[Part, tuple[str, ...]] = {
    "key": ("topics", "headers", "key"),
    "value": ("topics", "headers", "value"),
    "headers": ("topics", "headers"),
}


class JavaStep:
    """A plugin in the JVM. Making one makes and configures the plugin, and raises what it raises."""

    def __init__(
        self,
        jvm: TaskJvm,
        kind: str,
        java_class: str,
        config: Mapping[str, str],
        location: str | None = None,
        is_key: bool = False,
    ) -> None:
        self.jvm = jvm
        request = CreateStep(kind, PluginReference(java_class, location), dict(config), is_key)
        self.number: int = jvm.session.call(request).result

    def tell_metrics(self, tags: Mapping[str, str]) -> None:
        """Give the plugin the metrics it may want, with these tags."""
        self.jvm.session.call(GiveStepMetrics(self.number, dict(tags)))

    def apply(self, batch: Batch, predicate: JavaStep | None = None, negate: bool = False) -> RemoteBatch:
        """Transform the records, or those for which the predicate is true (or, negated, false)."""
        input, payload = input_of(self.jvm, batch)
        condition = None if predicate is None else predicate.number
        request = ApplyStep(self.number, input, self.jvm.take_free(), condition, negate)
        reply = self.jvm.session.call(request, payload, lane=self.jvm.lane)
        return after(self.jvm, batch, reply.result)

    def test(self, batch: Batch) -> list[bool]:
        """Return the answer of a predicate for each record."""
        input, payload = input_of(self.jvm, batch)
        request = AskPredicate(self.number, input, self.jvm.take_free())
        reply = self.jvm.session.call(request, payload, lane=self.jvm.lane)
        return list(map(bool, reply.payload))

    def to_connect(self, batch: Batch, part: Part) -> RemoteBatch:
        """Convert a part of the records from bytes."""
        input, payload = input_of(self.jvm, batch)
        request = ConvertToConnect(self.number, input, self.jvm.take_free(), part)
        reply = self.jvm.session.call(request, payload, lane=self.jvm.lane)
        return after(self.jvm, batch, reply.result)

    def from_connect(self, batch: Batch, part: Part) -> Batch:
        """Return the same batch with this part as bytes, and with the headers that the converter has set."""
        input, payload = input_of(self.jvm, batch, _NEEDED[part])
        request = ConvertFromConnect(self.number, input, self.jvm.take_free(), part)
        reply = self.jvm.session.call(request, payload, lane=self.jvm.lane)
        decoder = Decoder(reply.payload, self.jvm.schemas.get)
        columns: dict[str, Any] = {}
        if part != "headers":
            columns[f"{part}s"] = decoder.plain()
        if reply.result.headers:
            counts, names = decoder.plain(), decoder.plain()
            columns["headers"] = header_rows(counts, map(Header, names, repeat(None), decoder.plain()))
        return batch.with_(**columns)

    def close(self) -> None:
        """Close the plugin."""
        if not self.jvm.session.gone:
            self.jvm.session.call(CloseStep(self.number), lane="close", timeout=10.0)


JavaStepOf = Callable[[], JavaStep]
"""Makes the step in the JVM at the first call."""


def to_bytes(batch: RemoteBatch, steps: Mapping[str, JavaStep]) -> BytesBatch:
    """Return the same batch after Kafka's converters for ``key``, ``value`` and ``header``, by one request.

    Neighbours with the same headers, which sources mostly have, share theirs here.
    """
    jvm = steps["value"].jvm
    input, payload = input_of(jvm, batch, ("topics", *PARTS))
    request = ConvertToBytes({part: step.number for part, step in steps.items()}, input, jvm.take_free())
    reply = jvm.session.call(request, payload, lane=jvm.lane)
    decoder = Decoder(reply.payload, jvm.schemas.get)
    keys, values, runs = decoder.plain(), decoder.plain(), decoder.plain()
    counts, names = decoder.plain(), decoder.plain()
    rows = header_rows(counts, map(Header, names, repeat(None), decoder.plain()))
    headers = [row for length, row in zip(runs, rows, strict=True) for row in repeat(row, length)]
    return batch.as_bytes(keys, values, headers)


# -- classes of plugins from jars


class JavaStepPlugin(Monitorable):
    """Base of transforms, predicates and converters from jars: they may be ``Monitorable`` in Java."""

    java_location: ClassVar[str | None] = None
    """The location of the class; None for the newest."""
    step: JavaStep

    def with_plugin_metrics(self, metrics: PluginMetrics) -> None:
        self.step.tell_metrics(metrics.tags)


class JavaTransformation(JavaStepPlugin, Transformation):
    """Base of transforms from jars."""

    def configure(self, config: Mapping[str, str]) -> None:
        self.step = JavaStep(TaskJvm.current(), "transformation", self.java_name, config, self.java_location)

    def apply_batch(self, batch: Batch) -> Batch:
        return self.step.apply(batch)

    def close(self) -> None:
        self.step.close()


class JavaPredicate(JavaStepPlugin, Predicate):
    """Base of predicates from jars."""

    def configure(self, config: Mapping[str, str]) -> None:
        self.step = JavaStep(TaskJvm.current(), "predicate", self.java_name, config, self.java_location)

    def test_batch(self, batch: Batch) -> list[bool]:
        return self.step.test(batch)

    def close(self) -> None:
        self.step.close()


class JavaConverter(JavaStepPlugin, Converter):
    """Base of converters from jars.

    The pipeline applies ``step`` to whole batches, so that they may stay in the JVM; the methods of ``Converter`` work
    as well, for columns without a batch.
    """

    _part: Part

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


class JavaHeaderConverter(JavaStepPlugin, HeaderConverter):
    """Base of header converters from jars."""

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


# -- plugins of a chain


def java_step(plugin: Any, kind: str, config: Mapping[str, str], is_key: bool = False) -> JavaStepOf | None:
    """Return the step in the JVM of this plugin with this configuration, or None without one."""
    if only_java(plugin):
        return lambda: plugin.step
    name = java_class_name(type(plugin))
    jvm = TaskJvm.present()
    if jvm is None or not name.startswith(KAFKAS_OWN) or _needs_newer_kafka(name, config):
        return None
    return cache(lambda: JavaStep(jvm, kind, name, config, is_key=is_key))


def _needs_newer_kafka(name: str, config: Mapping[str, str]) -> bool:
    """Return whether this configuration has a setting that Kafka's class in the JVM would ignore."""
    setting = _SETTINGS_OF_NEWER_KAFKA.get(name)
    return setting is not None and config.get(setting, "V1").strip().upper() != "V1"


def only_java(plugin: Any) -> bool:
    """Return whether the plugin is from a jar."""
    return isinstance(plugin, JavaTransformation | JavaPredicate | JavaConverter | JavaHeaderConverter)


def in_jvm(batch: Batch) -> bool:
    """Return whether the records of a batch are in the JVM."""
    return isinstance(batch, RemoteBatch)


def as_bytes(batch: Batch, steps: Mapping[str, JavaStepOf]) -> Batch:
    """Return a batch in the JVM after Kafka's converters for key, value and header, applied at once.

    Returns the batch as it is if that fails: the converters one by one find the record and the converter that fail.
    """
    if not isinstance(batch, RemoteBatch):
        return batch
    try:
        return to_bytes(batch, {part: step() for part, step in steps.items()})
    except Exception:
        return batch


def in_bytes(batch: Batch) -> bool:
    """Return whether ``as_bytes`` has converted a batch."""
    return isinstance(batch, BytesBatch)


def without_headers(batch: Batch) -> bool:
    """Return whether no record has headers, without fetching those that are in the JVM."""
    return not (batch.has_headers if isinstance(batch, RemoteBatch) else any(batch.headers))


def without_keys(batch: Batch) -> bool:
    """Return whether no record of a batch in the JVM has a key, or a schema of one."""
    return isinstance(batch, RemoteBatch) and not batch.has_keys
