"""Creation of topics for a source connector by the rules of its ``topic.creation.*`` settings (KIP-158).

There are two spellings. The shipped one, here, has ``topic.creation.groups``, ``.include`` and ``.exclude``, and
a group ``default`` that matches all; errors in it make the connector fail at its start, and patterns that cannot be
joined make its tasks fail, as in Java (``TopicCreationConfig``, ``TopicCreationGroup``). The draft has
``topic.creation=<rules>`` and ``.regex``, and no default; errors in it are refused at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.errors import ConfigError
from penstock.api.validators import Described, NonNull, Validator
from penstock.core.topic_creation.draft import check_draft, draft_rule
from penstock.core.topic_creation.rules import (
    DEFAULT,
    GROUPS,
    PREFIX,
    RULES,
    Compile,
    Matcher,
    NewTopicSpec,
    Props,
    Rule,
    check_count,
    check_partitions,
    check_replication_factor,
    names_in,
    topic_configs,
)


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """Rules of one connector, of which the first that matches applies. Without rules topics are left to the broker."""

    rules: tuple[Rule, ...] = ()

    @classmethod
    def from_config(cls, config: Props, compile: Compile = re.compile) -> Self:
        """Return the rules of this configuration.

        Raises ConfigError, in Java's words for the shipped spelling, and what ``compile`` raises for patterns of a
        group that cannot be joined to one.
        """
        if RULES in config:
            if problems := check_draft(config, compile):
                raise ConfigError(next(error for value in problems for error in value.errors))
            return cls(tuple(draft_rule(config, name, compile) for name in names_in(config, RULES)))
        if any(key.startswith(PREFIX) for key in config):
            return cls(tuple(_shipped_rules(config, compile)))
        return cls()

    def rule_for(self, topic: str) -> Rule | None:
        return next((rule for rule in self.rules if rule.matches(topic)), None)

    def spec_for(self, topic: str) -> NewTopicSpec | None:
        """Return how to create this topic; None to leave it to the broker."""
        rule = self.rule_for(topic)
        if rule is None:
            return None
        return NewTopicSpec(topic, rule.partitions, rule.replication_factor, dict(rule.configs), rule.name)


def check_topic_creation(config: Props, compile: Compile) -> None:
    """Raise ConfigError for errors that make a connector fail at its start."""
    if RULES in config:
        TopicCreation.from_config(config, compile)
    elif uses_topic_creation(config):
        list(_shipped_groups(config, compile))


def uses_topic_creation(config: Props) -> bool:
    """Whether the connector asks for topics to be created, in either spelling."""
    return RULES in config or any(key.startswith(PREFIX) for key in config)


# -- the shipped spelling

_SHIPPED = ("include", "exclude", "replication.factor", "partitions")


def _shipped_rules(config: Props, compile: Compile) -> Iterator[Rule]:
    for name, own in _shipped_groups(config, compile):
        is_default = name == DEFAULT
        yield Rule(
            name,
            (re.compile(".*", re.DOTALL),) if is_default else _joined(own["include"], compile),
            () if is_default else _joined(own["exclude"], compile),
            own["partitions"],
            own["replication.factor"],
            topic_configs(config, f"{PREFIX}{name}.", _SHIPPED),
        )


def _joined(patterns: list[str], compile: Compile) -> tuple[Matcher, ...]:
    """Join patterns to one, as Java does: flags and groups of an entry apply to those after it."""
    return (compile("|".join(patterns)),) if patterns else ()


def _shipped_groups(config: Props, compile: Compile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each group with its own settings, the default group last. Raises ConfigError."""
    default = _parse_group(config, f"{PREFIX}{DEFAULT}.", _default_def())
    for name in names_in(config, GROUPS):
        if name != DEFAULT:
            yield name, _parse_group(config, f"{PREFIX}{name}.", _group_def(default, _check_patterns(compile)))
    yield DEFAULT, default


def _parse_group(config: Props, prefix: str, child: ConfigDef) -> dict[str, Any]:
    parsed = ConfigDef().embed(prefix, prefix, 0, child).parse(config)
    return {name.removeprefix(prefix): value for name, value in parsed.items()}


def _default_def() -> ConfigDef:
    """Return the settings of the default group: its sizes are required, its patterns have no effect."""
    return (
        ConfigDef()
        .define("include", ConfigType.LIST, ".*", NonNull(), order_in_group=1)
        .define("exclude", ConfigType.LIST, [], NonNull(), order_in_group=2)
        .define("replication.factor", ConfigType.SHORT, validator=check_replication_factor, order_in_group=3)
        .define("partitions", ConfigType.INT, validator=check_partitions, order_in_group=4)
    )


def _group_def(default: Mapping[str, Any], check_patterns: Validator) -> ConfigDef:
    return (
        ConfigDef()
        .define("include", ConfigType.LIST, [], check_patterns, order_in_group=1)
        .define("exclude", ConfigType.LIST, [], check_patterns, order_in_group=2)
        .define(
            "replication.factor",
            ConfigType.SHORT,
            default["replication.factor"],
            check_replication_factor,
            order_in_group=3,
        )
        .define("partitions", ConfigType.INT, default["partitions"], check_partitions, order_in_group=4)
    )


def _check_patterns(compile: Compile) -> Validator:
    def check(name: str, value: Any) -> None:
        check_count(name, value)
        for pattern in value:
            try:
                compile(pattern)
            except (ConfigError, ValueError, re.error) as error:
                raise ConfigError(name, value, f"Syntax error in regular expression: {error}") from error

    return Described(check, "regular expressions")
