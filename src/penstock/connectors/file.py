"""Lines of a text file to a topic, and records of topics to lines of a file.

Java: package ``org.apache.kafka.connect.file``, whose names, settings, offsets and messages these have. The tasks are
in ``file_source`` and ``file_sink``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from penstock import KAFKA_VERSION
from penstock.api.check import CheckStep, TargetCheck, readable_file, writable_file
from penstock.api.config import ConfigDef
from penstock.api.connector import ExactlyOnceSupport, SinkConnector, SourceConnector
from penstock.api.errors import ConnectError
from penstock.connectors.file_sink import SINK_CONFIG, FileStreamSinkTask
from penstock.connectors.file_source import SOURCE_CONFIG, FileStreamSourceTask

log = logging.getLogger(__name__)


class FileStreamSourceConnector(SourceConnector):
    """Sends the lines of one file to a topic, and follows what is appended to it.

    Beside Java's settings it has ``value.format``: ``bytes`` sends lines as bytes that need not be UTF-8.
    """

    java_name = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    polling_is_harmless = True

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return SOURCE_CONFIG

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        if file := SOURCE_CONFIG.parse(config)["file"]:
            yield readable_file("file", file, missing="not checked")  # the task waits for it
        else:
            yield CheckStep("file", "file", "not checked", "The standard input is not read by a check")

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        filename = SOURCE_CONFIG.parse(config)["file"]
        log.info("Starting file source connector reading from %s", filename or "standard input")

    def task_class(self) -> type[FileStreamSourceTask]:
        return FileStreamSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """A file can be read again from an offset; the standard input can't."""
        named = bool(SOURCE_CONFIG.parse(config)["file"])
        return ExactlyOnceSupport.SUPPORTED if named else ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        if not SOURCE_CONFIG.parse(config)["file"]:
            raise ConnectError(
                "Offsets cannot be modified if the 'file' configuration is unspecified. "
                "This is because stdin is used for input and offsets are not tracked."
            )
        for partition, offset in offsets:
            if offset is None:
                continue
            if "position" not in offset:
                raise ConnectError("Offset objects should either be null or contain the key 'position'")
            position = offset["position"]
            if not isinstance(position, int) or isinstance(position, bool):
                raise ConnectError("The value for the 'position' key in the offset is expected to be a Long value")
            if position < 0:
                raise ConnectError("The value for the 'position' key in the offset should be a non-negative value")
            if partition is None:
                raise ConnectError("Partition objects cannot be null")
            if "filename" not in partition:
                raise ConnectError("Partition objects should contain the key 'filename'")
        return True


class FileStreamSinkConnector(SinkConnector):
    """Appends the values of records to one file, a line each, as Java's ``toString`` shows them."""

    java_name = "org.apache.kafka.connect.file.FileStreamSinkConnector"

    @classmethod
    def version(cls) -> str:
        return KAFKA_VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return SINK_CONFIG

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        if file := SINK_CONFIG.parse(config)["file"]:
            yield writable_file("file", file)
        else:
            yield CheckStep("file", "file", "ok", "Lines go to the standard output")

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        filename = SINK_CONFIG.parse(config)["file"]
        log.info("Starting file sink connector writing to %s", filename or "standard output")

    def task_class(self) -> type[FileStreamSinkTask]:
        return FileStreamSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config] * max_tasks

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        return True
