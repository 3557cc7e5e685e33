"""RegexRouter and TimestampRouter: records go to other topics, by the topic's name or by the record's time."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from penstock.api.batch import Batch
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.errors import ConfigError, DataError
from penstock.api.validators import Described
from penstock.java.dates import DateFormat
from penstock.java.errors import PatternError
from penstock.java.regex import compile_regex, full_match, replace_first
from penstock.pipeline.transforms.column import BuiltIn
from penstock.pipeline.transforms.plans import Plans
from penstock.pipeline.transforms.record_text import record_text


def _check_regex(name: str, value: Any) -> None:
    if value is None:
        raise ConfigError(name, None, "Invalid regex: null")
    try:
        compile_regex(value)
    except PatternError as error:
        raise ConfigError(name, value, f"Invalid regex: {error}") from None


VALID_REGEX = Described(_check_regex, "valid regex")


class RegexRouter(BuiltIn):
    """Changes the topics of records by a regular expression for the topic's name."""

    java_name = "org.apache.kafka.connect.transforms.RegexRouter"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "regex",
                ConfigType.STRING,
                NO_DEFAULT,
                VALID_REGEX,
                Importance.HIGH,
                "Java regular expression; only topics are changed that it matches as a whole.",
            )
            .define(
                "replacement",
                ConfigType.STRING,
                importance=Importance.HIGH,
                documentation="The new topic, in which <code>$1</code> stands for what the first group matched.",
            )
        )

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._pattern = compile_regex(settings["regex"])
        self._replacement: str = settings["replacement"]
        self._routes: Plans[str, str] = Plans(self._route)

    def apply_batch(self, batch: Batch) -> Batch:
        routes = self._routes
        return batch.with_(topics=[routes[topic] for topic in batch.topics])

    def _route(self, topic: str) -> str:
        if not full_match(self._pattern, topic):
            return topic
        return replace_first(self._pattern, self._replacement, topic)


class TimestampRouter(BuiltIn):
    """Changes the topics of records by their timestamps."""

    java_name = "org.apache.kafka.connect.transforms.TimestampRouter"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return (
            ConfigDef()
            .define(
                "topic.format",
                ConfigType.STRING,
                "${topic}-${timestamp}",
                importance=Importance.HIGH,
                documentation="The new topic; <code>${topic}</code> stands for the old, <code>${timestamp}</code> for "
                "the record's time.",
            )
            .define(
                "timestamp.format",
                ConfigType.STRING,
                "yyyyMMdd",
                importance=Importance.HIGH,
                documentation="How the time is written: a pattern of <code>java.text.SimpleDateFormat</code>, in UTC.",
            )
        )

    def configure(self, config: Mapping[str, str]) -> None:
        settings = self.config_def().parse(config)
        self._topic_format: str = settings["topic.format"]
        self._time_format: str = settings["timestamp.format"]
        self.__dict__.pop("_format", None)
        self._routes: Plans[tuple[str, int], str] = Plans(self._route)

    @cached_property
    def _format(self) -> DateFormat:
        """Create the format. As in Java this happens with the first record, which fails if the pattern is invalid."""
        return DateFormat(self._time_format)

    def apply_batch(self, batch: Batch) -> Batch:
        if None in batch.timestamps:
            raise DataError(f"Timestamp missing on record: {record_text(batch.row(batch.timestamps.index(None)))}")
        if not len(batch):
            return batch
        routes, unit = self._routes, self._format.finest_unit
        units = [time // unit for time in batch.timestamps if time is not None]
        return batch.with_(topics=[routes[place] for place in zip(batch.topics, units, strict=True)])

    def _route(self, place: tuple[str, int]) -> str:
        topic, units = place
        routed = self._topic_format.replace("${topic}", topic)
        return routed.replace("${timestamp}", self._format.format_millis(units * self._format.finest_unit))
