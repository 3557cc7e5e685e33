"""The converters of a connector as steps of the pipeline: bytes to Connect data for sinks, the other way for sources.

A converter that the connector names takes its settings from the connector alone; otherwise the worker's converter is
used, with the worker's settings. Java: ``Worker.startTask``, ``Plugins.newConverter``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

from penstock.api.batch import NO_HEADERS, Batch
from penstock.api.config import with_prefix
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.errors import ConfigError
from penstock.api.record import Header
from penstock.hosts.jvm.tasks.steps import (
    JavaStep,
    JavaStepOf,
    as_bytes,
    in_bytes,
    in_jvm,
    java_step,
    only_java,
    without_headers,
    without_keys,
)
from penstock.java.text import java_class_name
from penstock.pipeline.chain import Chain, Resolve
from penstock.pipeline.errors import PipelineStage, Step
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.values.repeated import distinct

log = logging.getLogger(__name__)

SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
_READ_ONCE = (SIMPLE_HEADER_CONVERTER, "org.apache.kafka.connect.storage.StringConverter")


@dataclass(frozen=True, slots=True)
class JavaSteps:
    """The converters in the JVM, where they exist in Java."""

    key: JavaStepOf | None
    value: JavaStepOf | None
    header: JavaStepOf | None


@dataclass(frozen=True, slots=True)
class Conversion:
    """The three converters of one task."""

    key: Converter
    value: Converter
    header: HeaderConverter
    java: JavaSteps

    @classmethod
    def build(
        cls,
        connector: Mapping[str, str],
        worker: Mapping[str, str],
        resolve: Resolve,
        metrics: MetricsOfPlugins | None = None,
    ) -> Conversion:
        """Raises what a plugin raises that can't be configured; those before it are closed."""
        key, key_config = _chosen("key.converter", "converter", connector, worker, resolve)
        value, value_config = _chosen("value.converter", "converter", connector, worker, resolve)
        header, header_config = _chosen("header.converter", "header_converter", connector, worker, resolve)
        configured: list[Converter | HeaderConverter] = []
        try:
            key.configure(key_config, True)
            configured.append(key)
            value.configure(value_config, False)
            configured.append(value)
            header.configure_header(header_config)
            configured.append(header)
            for use, plugin in (("key", key), ("value", value), ("header", header)):
                (metrics or MetricsOfPlugins({})).tell(plugin, converter=use)
            java = JavaSteps(
                java_step(key, "converter", key_config, is_key=True),
                java_step(value, "converter", value_config),
                java_step(header, "header_converter", header_config),
            )
        except Exception:
            _close(configured)
            raise
        return cls(key, value, header, java)

    def to_connect(self, for_java: bool = False) -> list[Step]:
        """Return the steps for a batch whose keys, values and headers are bytes as they were read.

        ``for_java``: the batch is for a task in the JVM, so that it is converted there where that can be done.
        """

        def java(step: JavaStepOf | None, batch: Batch) -> JavaStep | None:
            return step() if step is not None and (for_java or in_jvm(batch)) else None

        def keys(batch: Batch) -> Batch:
            if (step := java(self.java.key, batch)) is not None:
                return step.to_connect(batch, "key")
            schemas, keys = self.key.to_connect_batch(batch.topics, batch.headers, batch.keys)  # type: ignore[arg-type]
            return batch.with_(key_schemas=schemas, keys=keys)

        def values(batch: Batch) -> Batch:
            if (step := java(self.java.value, batch)) is not None:
                return step.to_connect(batch, "value")
            schemas, values = self.value.to_connect_batch(batch.topics, batch.headers, batch.values)  # type: ignore[arg-type]
            return batch.with_(value_schemas=schemas, values=values)

        def headers(batch: Batch) -> Batch:
            if not any(batch.headers):
                return batch
            if (step := java(self.java.header, batch)) is not None:
                return step.to_connect(batch, "headers")
            read = {topic: _header_reader(self.header, topic) for topic in distinct(batch.topics)}
            raw: list[Any] = batch.headers
            return batch.with_(
                headers=[
                    tuple(map(read[topic], row)) if row else NO_HEADERS
                    for topic, row in zip(batch.topics, raw, strict=True)
                ]
            )

        return [
            Step(PipelineStage.KEY_CONVERTER, java_class_name(type(self.key)), keys),
            Step(PipelineStage.VALUE_CONVERTER, java_class_name(type(self.value)), values),
            Step(PipelineStage.HEADER_CONVERTER, java_class_name(type(self.header)), headers),
        ]

    def in_java(self) -> dict[str, JavaStepOf] | None:
        """Return all three in the JVM, if they are Kafka's own, which make the same of the same bytes each time."""
        steps = {"key": self.java.key, "value": self.java.value, "header": self.java.header}
        found = {part: step for part, step in steps.items() if step is not None}
        if len(found) < len(steps) or any(map(only_java, (self.key, self.value, self.header))):
            return None
        return found

    def from_java(self) -> list[Step]:
        """``from_connect``, and before it a step that does all of it in one go for batches in the JVM, if it can."""
        if (steps := self.in_java()) is None:
            return self.from_connect()
        at_once = Step(
            PipelineStage.VALUE_CONVERTER, java_class_name(type(self.value)), lambda batch: as_bytes(batch, steps)
        )
        return [at_once, *self.from_connect()]

    def from_connect(self) -> list[Step]:
        """Return the steps after which keys and values are bytes, and so are the values of headers (whose schema is
        None then).
        """

        def headers(batch: Batch) -> Batch:
            if in_bytes(batch) or without_headers(batch):
                return batch
            if self.java.header is not None and in_jvm(batch):
                return self.java.header().from_connect(batch, "headers")
            write = self.header.from_connect_header
            return batch.with_(
                headers=[
                    tuple([Header(key, None, write(topic, key, schema, value)) for key, schema, value in row])
                    if row
                    else NO_HEADERS
                    for topic, row in zip(batch.topics, batch.headers, strict=True)
                ]
            )

        def keys(batch: Batch) -> Batch:
            if in_bytes(batch):
                return batch
            if self.java.key is not None and in_jvm(batch):
                if not only_java(self.key) and without_keys(batch):
                    return batch.with_(keys=[None] * len(batch))  # what each of Kafka's converters makes of it
                return self.java.key().from_connect(batch, "key")
            headers = list(batch.headers)
            column: Any = batch.key_column if self.key.takes_tables else batch.keys
            keys = self.key.from_connect_batch(batch.topics, headers, batch.key_schemas, column)
            return batch.with_(keys=keys, headers=headers)

        def values(batch: Batch) -> Batch:
            if in_bytes(batch):
                return batch
            if self.java.value is not None and in_jvm(batch):
                return self.java.value().from_connect(batch, "value")
            headers = list(batch.headers)
            column: Any = batch.value_column if self.value.takes_tables else batch.values
            values = self.value.from_connect_batch(batch.topics, headers, batch.value_schemas, column)
            return batch.with_(values=values, headers=headers)

        return [
            Step(PipelineStage.HEADER_CONVERTER, java_class_name(type(self.header)), headers),
            Step(PipelineStage.KEY_CONVERTER, java_class_name(type(self.key)), keys),
            Step(PipelineStage.VALUE_CONVERTER, java_class_name(type(self.value)), values),
        ]

    def close(self) -> None:
        _close((self.key, self.value, self.header))


@contextmanager
def conversion_and_chain(
    connector: Mapping[str, str],
    worker: Mapping[str, str],
    resolve: Resolve,
    metrics: MetricsOfPlugins | None = None,
) -> Iterator[tuple[Conversion, Chain]]:
    """Make the converters and the transforms of a connector, and close them at the end: transforms first.

    Raises what a converter raises that can't be configured, and ConnectError for a transform.
    """
    with ExitStack() as stack:
        conversion = Conversion.build(connector, worker, resolve, metrics)
        stack.callback(conversion.close)
        chain = Chain.build(connector, resolve, metrics)
        stack.callback(chain.close)
        yield conversion, chain


def _close(plugins: Iterable[Converter | HeaderConverter]) -> None:
    for plugin in plugins:
        try:
            plugin.close()
        except Exception:
            log.warning("%s could not be closed", java_class_name(type(plugin)), exc_info=True)


def _header_reader(converter: HeaderConverter, topic: str) -> Callable[[Any], Header]:
    """Reads the headers of a topic's records in a batch; those that repeat once, where equal bytes are always read as
    the same value.
    """
    convert = converter.to_connect_header

    def read(raw: Any) -> Header:
        return Header(raw[0], *convert(topic, raw[0], raw[-1]))

    return cache(read) if java_class_name(type(converter)) in _READ_ONCE else read


def _chosen(
    name: str, kind: str, connector: Mapping[str, str], worker: Mapping[str, str], resolve: Resolve
) -> tuple[Any, dict[str, str]]:
    config = connector if name in connector else worker
    class_name = config.get(name, SIMPLE_HEADER_CONVERTER if kind == "header_converter" else None)
    if class_name is None:
        raise ConfigError(f'Missing required configuration "{name}" which has no default value.')
    version = config.get(f"{name}.plugin.version")
    cls = resolve(kind, class_name) if version is None else resolve(kind, class_name, version)
    return cls(), with_prefix(config, f"{name}.")
