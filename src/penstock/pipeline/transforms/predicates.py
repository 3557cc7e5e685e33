"""Kafka's own predicates (KIP-585): which records a transform applies to, by topic, header or null value."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.batch import Batch
from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance
from penstock.api.record import Record
from penstock.api.transform import Predicate
from penstock.api.validators import Composite, NonEmptyString
from penstock.java.regex import compile_regex, full_match
from penstock.pipeline.transforms.column import VERSION
from penstock.pipeline.transforms.routers import VALID_REGEX

__all__ = ["HasHeaderKey", "RecordIsTombstone", "TopicNameMatches"]


class TopicNameMatches(Predicate):
    """True where a Java regular expression matches the whole name of the topic."""

    java_name = "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"

    @classmethod
    def version(cls) -> str:
        return VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "pattern",
            ConfigType.STRING,
            NO_DEFAULT,
            Composite(NonEmptyString(), VALID_REGEX),
            Importance.MEDIUM,
            "Java regular expression that must match the whole name of a record's topic.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        self._pattern = compile_regex(self.config_def().parse(config)["pattern"])

    def test(self, record: Record) -> bool:
        return full_match(self._pattern, record.topic)

    def test_batch(self, batch: Batch) -> list[bool]:
        matches = {topic: full_match(self._pattern, topic) for topic in set(batch.topics)}
        return [matches[topic] for topic in batch.topics]


class RecordIsTombstone(Predicate):
    """True where the value is null."""

    java_name = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"

    @classmethod
    def version(cls) -> str:
        return VERSION

    def test(self, record: Record) -> bool:
        return record.value is None

    def test_batch(self, batch: Batch) -> list[bool]:
        return [value is None for value in batch.values]


class HasHeaderKey(Predicate):
    """True where there is a header of this name."""

    java_name = "org.apache.kafka.connect.transforms.predicates.HasHeaderKey"

    @classmethod
    def version(cls) -> str:
        return VERSION

    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define(
            "name",
            ConfigType.STRING,
            NO_DEFAULT,
            NonEmptyString(),
            Importance.MEDIUM,
            "Name of the header to look for.",
        )

    def configure(self, config: Mapping[str, str]) -> None:
        self._name: str = self.config_def().parse(config)["name"]

    def test(self, record: Record) -> bool:
        return any(header.key == self._name for header in record.headers)

    def test_batch(self, batch: Batch) -> list[bool]:
        name = self._name
        return [name in [header.key for header in headers] if headers else False for headers in batch.headers]
