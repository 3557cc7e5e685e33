"""Filters of topics, groups and settings of topics to mirror: names and Java's regular expressions, included and
excluded.

Java: ``TopicFilter``, ``GroupFilter``, ``ConfigPropertyFilter`` and their ``Default…`` classes. A custom class
has the same method; it gets the connector's parsed settings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from penstock.api.patterns import compile_regex


def matcher(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Whether one of the patterns matches a whole name; no patterns match nothing. Raises PatternError."""
    if not patterns:
        return lambda name: False
    pattern = compile_regex("|".join(patterns))
    return lambda name: pattern.fullmatch(name) is not None


class DefaultTopicFilter:
    """Topics that ``topics`` matches and ``topics.exclude`` does not."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.mirror.DefaultTopicFilter"

    def configure(self, config: Mapping[str, Any]) -> None:
        # A checkpoint connector has these settings too, though it does not define them.
        self._included = matcher(_listed(config, "topics", ".*"))
        self._excluded = matcher(_listed(config, "topics.exclude", r"mm2.*\.internal,.*\.replica,__.*"))

    def should_replicate_topic(self, topic: str) -> bool:
        return self._included(topic) and not self._excluded(topic)


class DefaultGroupFilter:
    """Groups that ``groups`` matches and ``groups.exclude`` does not."""

    java_name: ClassVar[str] = "org.apache.kafka.connect.mirror.DefaultGroupFilter"

    def configure(self, config: Mapping[str, Any]) -> None:
        self._included = matcher(_listed(config, "groups", ".*"))
        self._excluded = matcher(_listed(config, "groups.exclude", "console-consumer-.*,connect-.*,__.*"))

    def should_replicate_group(self, group: str) -> bool:
        return self._included(group) and not self._excluded(group)


class DefaultConfigPropertyFilter:
    """Settings that ``config.properties.exclude`` does not match.

    ``use.defaults.from`` says whose default a setting gets that is not set on the source: ``target``, or ``source``.
    """

    java_name: ClassVar[str] = "org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter"

    def configure(self, config: Mapping[str, Any]) -> None:
        self._excluded = matcher(_listed(config, "config.properties.exclude", ""))
        self._source_defaults: bool = config.get("use.defaults.from", "target") == "source"

    def should_replicate_config_property(self, name: str) -> bool:
        return not self._excluded(name)

    def should_replicate_source_default(self, name: str) -> bool:
        return self._source_defaults


def _listed(config: Mapping[str, Any], name: str, default: str) -> list[str]:
    given = config.get(name, default)
    if not isinstance(given, str):
        return list(given)
    return [part.strip() for part in given.split(",")] if given.strip() else []
