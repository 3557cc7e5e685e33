"""Rule by which topics are created for a source connector, and what both spellings of KIP-158 share.

``groups.py`` has the spelling that Kafka shipped, ``draft.py`` that of the draft.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from penstock.api.config import ConfigType, parse_type
from penstock.api.errors import ConfigError

PREFIX = "topic.creation."
RULES = "topic.creation"
GROUPS = "topic.creation.groups"
DEFAULT = "default"
BROKER_DEFAULT = -1
MAX_ENTRIES = 500
"""Rules of a connector, and patterns of a rule: each is read whenever the connector or a task starts."""

Props = Mapping[str, str | None]


class Matcher(Protocol):
    """Compiled regular expression. Raises ValueError if a match takes too long."""

    def fullmatch(self, text: str, /) -> object: ...


# Compiles a regular expression of Java's dialect; raises ConfigError (or ValueError) with Java's description.
Compile = Callable[[str], Matcher]


@dataclass(frozen=True, slots=True)
class NewTopicSpec:
    """Topic to create; -1 stands for the broker's default."""

    name: str
    partitions: int
    replication_factor: int
    configs: dict[str, str]
    rule_name: str


@dataclass(frozen=True, slots=True)
class Rule:
    """Settings for the topics whose whole name some ``include`` matches, and no ``exclude``."""

    name: str
    include: tuple[Matcher, ...]
    exclude: tuple[Matcher, ...]
    partitions: int
    replication_factor: int
    configs: Mapping[str, str]

    def matches(self, topic: str) -> bool:
        return _any_match(self.include, topic) and not _any_match(self.exclude, topic)


def _any_match(patterns: tuple[Matcher, ...], topic: str) -> bool:
    return any(pattern.fullmatch(topic) for pattern in patterns)


def names_in(config: Props, key: str) -> list[str]:
    """Return the names that a setting lists, each once. Raises ConfigError for too many."""
    names = list(dict.fromkeys(parse_type(key, config.get(key), ConfigType.LIST) or []))
    check_count(key, names)
    return names


def check_count(key: str, values: Collection[str]) -> None:
    if len(values) > MAX_ENTRIES:
        raise ConfigError(f"'{key}' has {len(values)} entries; {MAX_ENTRIES} are accepted")


def topic_configs(config: Props, prefix: str, own: tuple[str, ...]) -> dict[str, str]:
    names = ((key.removeprefix(prefix), value) for key, value in config.items() if key.startswith(prefix))
    return {name: value for name, value in names if name not in own and value is not None}


def check_partitions(name: str, value: Any) -> None:
    if value != BROKER_DEFAULT and value < 1:
        raise ConfigError(name, value, "Number of partitions must be positive, or -1 to use the broker's default")


def check_replication_factor(name: str, value: Any) -> None:
    if value != BROKER_DEFAULT and value < 1:
        problem = "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster"
        raise ConfigError(name, value, f"{problem}, or -1 to use the broker's default")
