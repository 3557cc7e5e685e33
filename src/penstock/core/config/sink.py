"""The settings that every sink connector has: its topics and its dead letter queue (KIP-298).

Java: ``SinkConnectorConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, ConfigValue, Importance, Width, parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import Described, ValidList
from penstock.core.config.connector import ERRORS
from penstock.core.config.converter import COMMON
from penstock.core.topic_creation.rules import Compile
from penstock.java.text import java_text

TOPICS = "topics"
TOPICS_REGEX = "topics.regex"
DLQ_TOPIC = "errors.deadletterqueue.topic.name"


def sink_config(common: ConfigDef, compile: Compile = re.compile) -> ConfigDef:
    """All definitions of a sink connector, given those of every connector."""
    config = ConfigDef(common)
    config.define(
        TOPICS,
        ConfigType.LIST,
        [],
        validator=ValidList(),
        importance=Importance.HIGH,
        documentation="List of topics to consume, separated by commas",
        group=COMMON,
        order_in_group=4,
        width=Width.LONG,
        display_name="Topics",
    )
    config.define(
        TOPICS_REGEX,
        ConfigType.STRING,
        "",
        validator=Described(_valid_regex(compile), "valid regex"),
        importance=Importance.HIGH,
        documentation="A Java regular expression that the names of the topics to consume match as a whole. "
        "Either this or `topics` is given.",
        group=COMMON,
        order_in_group=4,
        width=Width.LONG,
        display_name="Topics regex",
    )
    define_dead_letters(
        config,
        (DLQ_TOPIC, "errors.deadletterqueue.topic.replication.factor", "errors.deadletterqueue.context.headers.enable"),
        "The topic for messages on which this connector, its transforms or its converters fail. "
        "By default there is none.",
        "Replication factor used to create the dead letter queue topic when it doesn't already exist.",
    )
    return config


def define_dead_letters(config: ConfigDef, names: tuple[str, str, str], of_topic: str, of_copies: str) -> None:
    """Add the settings of a dead letter queue: topic, replication factor, headers."""
    topic, copies, context = names
    config.define(
        topic,
        ConfigType.STRING,
        "",
        importance=Importance.MEDIUM,
        documentation=of_topic,
        group=ERRORS,
        order_in_group=6,
        width=Width.MEDIUM,
        display_name="Dead Letter Queue Topic Name",
    )
    config.define(
        copies,
        ConfigType.SHORT,
        3,
        importance=Importance.MEDIUM,
        documentation=of_copies,
        group=ERRORS,
        order_in_group=7,
        width=Width.MEDIUM,
        display_name="Dead Letter Queue Topic Replication Factor",
    )
    config.define(
        context,
        ConfigType.BOOLEAN,
        False,
        importance=Importance.MEDIUM,
        documentation="Whether dead letters get headers, `__connect.errors.*`, that say where and why they failed.",
        group=ERRORS,
        order_in_group=8,
        width=Width.MEDIUM,
        display_name="Enable Error Context Headers",
    )


def _valid_regex(compile: Compile) -> Callable[[str, Any], None]:
    def check(name: str, value: Any) -> None:
        if value is None:
            raise ConfigError(name, None, "Invalid regex: null")
        try:
            compile(value)
        except (ConfigError, ValueError, re.error) as error:
            raise ConfigError(name, value, f"Invalid regex: {error}") from error

    return check


def check_topics(
    props: Mapping[str, str | None], values: dict[str, ConfigValue], compile: Compile = re.compile
) -> None:
    """Add what is wrong about the topics of a sink to its validated values."""
    topics, regex = (props.get(TOPICS) or "").strip(), (props.get(TOPICS_REGEX) or "").strip()
    queue = (props.get(DLQ_TOPIC) or "").strip()

    def complain(name: str, problem: str) -> None:
        values.setdefault(name, ConfigValue(name, props.get(name))).add_error(problem)

    if bool(topics) is bool(regex):
        both = f"{TOPICS} and {TOPICS_REGEX} are mutually exclusive options, but both are set."
        neither = f"Must configure one of {TOPICS} or {TOPICS_REGEX}"
        for name in (TOPICS, TOPICS_REGEX):
            complain(name, both if topics else neither)
    if queue and queue in (named := topics_of(topics)):
        where = f"('{TOPICS}={java_text(named)}')"
        problem = f"The DLQ topic '{queue}' may not be included in the list of topics {where} consumed by the connector"
        complain(TOPICS, problem)
    if not queue or not regex or values[TOPICS_REGEX].errors:
        return
    try:
        matches = compile(regex).fullmatch(queue)
    except ValueError as error:  # it takes too long
        complain(TOPICS_REGEX, f"Invalid regex: {error}")
        return
    if matches:
        where = f"('{TOPICS_REGEX}={regex}')"
        problem = (
            f"The DLQ topic '{queue}' may not be matched by the regex for the topics {where} consumed by the connector"
        )
        complain(TOPICS_REGEX, problem)


def topics_of(topics: str | None) -> list[str]:
    """The topics that a value of ``topics`` names, each once, in its order."""
    return [topic for topic in dict.fromkeys(parse_type(TOPICS, topics, ConfigType.LIST) or []) if topic]
