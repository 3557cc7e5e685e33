"""Settings that every sink connector has: its topics and its dead letter queue (KIP-298).

Java: ``SinkConnectorConfig``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from penstock.api.config import ConfigType, ConfigValue, Importance, Width, parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import Described, ValidList
from penstock.core.config.catalog import Kind
from penstock.core.config.setting import COMMON, ERRORS, InContext, RuntimeSetting
from penstock.core.topic_creation.rules import Compile
from penstock.java.text import java_text

TOPICS = "topics"
TOPICS_REGEX = "topics.regex"
DLQ_TOPIC = "errors.deadletterqueue.topic.name"


def dead_letter_settings(
    prefix: str, kind: Kind, of_topic: str, of_copies: str, own: bool
) -> tuple[RuntimeSetting, ...]:
    """Return the settings of a dead letter queue.

    ``own``: they are Penstock's, and defined only if one of them is given.
    """

    def setting(
        name: str, type: ConfigType, default: Any, order: int, documentation: str, shown: str
    ) -> RuntimeSetting:
        return RuntimeSetting(
            name=f"{prefix}deadletterqueue.{name}",
            type=type,
            default=default,
            documentation=documentation,
            group=ERRORS,
            order=order,
            width=Width.MEDIUM,
            display_name=shown,
            kinds=(kind,),
            optional=own,
            family=prefix if own else "",
        )

    headers = "Whether dead letters get headers, `__connect.errors.*`, that say where and why they failed."
    replication = "Dead Letter Queue Topic Replication Factor"
    return (
        setting("topic.name", ConfigType.STRING, "", 6, of_topic, "Dead Letter Queue Topic Name"),
        setting("topic.replication.factor", ConfigType.SHORT, 3, 7, of_copies, replication),
        setting("context.headers.enable", ConfigType.BOOLEAN, False, 8, headers, "Enable Error Context Headers"),
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
    """Add the errors about the topics of a sink to its validated values."""
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
    """Return the topics that a value of ``topics`` names, each once, in its order."""
    return [topic for topic in dict.fromkeys(parse_type(TOPICS, topics, ConfigType.LIST) or []) if topic]


SINK_SETTINGS = (
    RuntimeSetting(
        name=TOPICS,
        type=ConfigType.LIST,
        default=[],
        validator=ValidList(),
        importance=Importance.HIGH,
        documentation="List of topics to consume, separated by commas",
        group=COMMON,
        order=4,
        width=Width.LONG,
        display_name="Topics",
        kinds=(Kind.SINK,),
    ),
    RuntimeSetting(
        name=TOPICS_REGEX,
        type=ConfigType.STRING,
        default="",
        validator=InContext(lambda context: Described(_valid_regex(context.compile), "valid regex")),
        importance=Importance.HIGH,
        documentation="A Java regular expression that the names of the topics to consume match as a whole. "
        "Either this or `topics` is given.",
        group=COMMON,
        order=4,
        width=Width.LONG,
        display_name="Topics regex",
        kinds=(Kind.SINK,),
    ),
    *dead_letter_settings(
        "errors.",
        Kind.SINK,
        "The topic for messages on which this connector, its transforms or its converters fail. "
        "By default there is none.",
        "Replication factor used to create the dead letter queue topic when it doesn't already exist.",
        own=False,
    ),
)
