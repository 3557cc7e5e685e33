"""The converters of a connector as steps of the pipeline: bytes to Connect data for sinks, the other way for sources.

A converter that the connector names takes its settings from the connector alone; otherwise the worker's converter is
used, with the worker's settings. Java: ``Worker.startTask``, ``Plugins.newConverter``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.api.batch import NO_HEADERS, Batch
from penstock.api.converter import Converter, HeaderConverter
from penstock.api.errors import ConfigError
from penstock.api.record import Header
from penstock.java.text import java_class_name
from penstock.pipeline.chain import Resolve, prefixed
from penstock.pipeline.errors import Stage, Step

log = logging.getLogger(__name__)

SIMPLE_HEADER_CONVERTER = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


@dataclass(frozen=True, slots=True)
class Conversion:
    """The three converters of one task."""

    key: Converter
    value: Converter
    header: HeaderConverter

    @classmethod
    def build(cls, connector: Mapping[str, str], worker: Mapping[str, str], resolve: Resolve) -> Conversion:
        key, key_config = _chosen("key.converter", "converter", connector, worker, resolve)
        value, value_config = _chosen("value.converter", "converter", connector, worker, resolve)
        header, header_config = _chosen("header.converter", "header_converter", connector, worker, resolve)
        key.configure(key_config, True)
        value.configure(value_config, False)
        header.configure_header(header_config)
        return cls(key, value, header)

    def to_connect(self) -> list[Step]:
        """Steps for a batch whose keys, values and headers are bytes as they were read."""

        def keys(batch: Batch) -> Batch:
            schemas, keys = self.key.to_connect_batch(batch.topics, batch.headers, batch.keys)  # type: ignore[arg-type]
            return batch.with_(key_schemas=schemas, keys=keys)

        def values(batch: Batch) -> Batch:
            schemas, values = self.value.to_connect_batch(batch.topics, batch.headers, batch.values)  # type: ignore[arg-type]
            return batch.with_(value_schemas=schemas, values=values)

        def headers(batch: Batch) -> Batch:
            if not any(batch.headers):
                return batch
            read = self.header.to_connect_header
            raw: list[Any] = batch.headers
            return batch.with_(
                headers=[
                    tuple([Header(name, *read(topic, name, data)) for name, data in row]) if row else NO_HEADERS
                    for topic, row in zip(batch.topics, raw, strict=True)
                ]
            )

        return [
            Step(Stage.KEY_CONVERTER, java_class_name(type(self.key)), keys),
            Step(Stage.VALUE_CONVERTER, java_class_name(type(self.value)), values),
            Step(Stage.HEADER_CONVERTER, java_class_name(type(self.header)), headers),
        ]

    def from_connect(self) -> list[Step]:
        """Steps after which keys and values are bytes, and so are the values of headers (whose schema is None then)."""

        def headers(batch: Batch) -> Batch:
            if not any(batch.headers):
                return batch
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
            headers = list(batch.headers)
            keys = self.key.from_connect_batch(batch.topics, headers, batch.key_schemas, batch.keys)
            return batch.with_(keys=keys, headers=headers)

        def values(batch: Batch) -> Batch:
            headers = list(batch.headers)
            values = self.value.from_connect_batch(batch.topics, headers, batch.value_schemas, batch.values)
            return batch.with_(values=values, headers=headers)

        return [
            Step(Stage.HEADER_CONVERTER, java_class_name(type(self.header)), headers),
            Step(Stage.KEY_CONVERTER, java_class_name(type(self.key)), keys),
            Step(Stage.VALUE_CONVERTER, java_class_name(type(self.value)), values),
        ]

    def close(self) -> None:
        for plugin in (self.key, self.value, self.header):
            try:
                plugin.close()
            except Exception:
                log.warning("%s could not be closed", java_class_name(type(plugin)), exc_info=True)


def _chosen(
    name: str, kind: str, connector: Mapping[str, str], worker: Mapping[str, str], resolve: Resolve
) -> tuple[Any, dict[str, str]]:
    config = connector if name in connector else worker
    class_name = config.get(name, SIMPLE_HEADER_CONVERTER if kind == "header_converter" else None)
    if class_name is None:
        raise ConfigError(f'Missing required configuration "{name}" which has no default value.')
    return resolve(kind, class_name)(), prefixed(config, f"{name}.")
