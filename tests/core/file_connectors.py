"""Connectors of files, and a catalog and a worker that have them, for tests of validation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance, Width
from penstock.api.connector import (
    ExactlyOnceSupport,
    SinkConnector,
    SourceConnector,
)
from penstock.core.config.catalog import Catalog, Kind, PluginClass
from penstock.core.config.infos import ConfigInfos
from penstock.core.config.validation import WorkerRules, connector_class, validate_connector

KAFKA = "org.apache.kafka.connect."
JSON = f"{KAFKA}json.JsonConverter"


class FileSource(SourceConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define("file", ConfigType.STRING, None, importance=Importance.HIGH)
            .define("topic", ConfigType.STRING, NO_DEFAULT, importance=Importance.HIGH)
            .define("batch.size", ConfigType.INT, 2000, importance=Importance.LOW)
        )

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport | None:
        return ExactlyOnceSupport.SUPPORTED if "file" in config else ExactlyOnceSupport.UNSUPPORTED


class FileSink(SinkConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define("file", ConfigType.STRING, None, importance=Importance.HIGH)


def json_settings() -> ConfigDef:
    return (
        ConfigDef()
        .define("converter.type", ConfigType.STRING, importance=Importance.LOW)
        .define("schemas.enable", ConfigType.BOOLEAN, True, group="Schemas", order_in_group=0, width=Width.MEDIUM)
        .define("schemas.cache.size", ConfigType.INT, 1000, group="Schemas", order_in_group=1)
        .define("schema.content", ConfigType.STRING, None, group="Schemas", order_in_group=2)
        .define("decimal.format", ConfigType.STRING, "BASE64", group="Serialization", order_in_group=0)
        .define("replace.null.with.default", ConfigType.BOOLEAN, True, group="Serialization", order_in_group=1)
    )


def plugin(name: str, kinds: list[Kind], config: Any = ConfigDef, type: Any = None) -> PluginClass:
    return PluginClass(KAFKA + name, tuple(kinds), "4.3.1", config, type)


CATALOG = Catalog(
    [
        plugin("file.FileStreamSourceConnector", [Kind.SOURCE], FileSource.config_def, FileSource),
        plugin("file.FileStreamSinkConnector", [Kind.SINK], FileSink.config_def, FileSink),
        plugin("json.JsonConverter", [Kind.CONVERTER, Kind.HEADER_CONVERTER], json_settings),
        plugin("storage.SimpleHeaderConverter", [Kind.HEADER_CONVERTER]),
        plugin(
            "transforms.HoistField$Value", [Kind.TRANSFORMATION], lambda: ConfigDef().define("field", ConfigType.STRING)
        ),
        plugin("transforms.predicates.RecordIsTombstone", [Kind.PREDICATE]),
        PluginClass("org.x.NewConverter", (Kind.CONVERTER,), "1", ConfigDef, problem="It is compiled for Java 99."),
    ]
)
WORKER = WorkerRules(
    group_id="java-connect",
    exactly_once=True,
    converters={
        "key.converter": JSON,
        "value.converter": JSON,
        "header.converter": f"{KAFKA}storage.SimpleHeaderConverter",
    },
)


def validate(config: dict[str, str | None], worker: WorkerRules = WORKER, raw: Any = None) -> ConfigInfos:
    return validate_connector(CATALOG, config, connector_class(CATALOG, config).type, worker, raw)


def errors(config: dict[str, str | None], worker: WorkerRules = WORKER) -> list[str]:
    return validate(config, worker).errors


SOURCE: dict[str, str | None] = {"connector.class": "FileStreamSource", "name": "n", "topic": "t"}
SINK: dict[str, str | None] = {"connector.class": "FileStreamSink", "name": "n", "topics": "t"}
