"""The settings that every source connector has: topic creation (KIP-158), exactly once (KIP-618), its own offsets
topic.

Java: ``SourceConnectorConfig``. The rules that ``topic.creation.*`` settings make are in ``topic_creation.py``.
"""

from __future__ import annotations

from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance, Width
from penstock.api.validators import CaseInsensitiveValidString, Described, NonEmptyString, at_least
from penstock.core.config.connector import unique_aliases

TOPIC_CREATION = "Topic Creation"
EXACTLY_ONCE = "Exactly Once Support"

TOPIC_CREATION_GROUPS = "topic.creation.groups"
EXACTLY_ONCE_SUPPORT = "exactly.once.support"
TRANSACTION_BOUNDARY = "transaction.boundary"
TRANSACTION_INTERVAL = "transaction.boundary.interval.ms"
OFFSETS_TOPIC = "offsets.storage.topic"


def source_config(common: ConfigDef) -> ConfigDef:
    """All definitions of a source connector, given those of every connector."""
    config = ConfigDef(common)
    config.define(
        TOPIC_CREATION_GROUPS,
        ConfigType.LIST,
        [],
        validator=unique_aliases("topic creation group"),
        importance=Importance.LOW,
        documentation="Groups of configurations for topics created by source connectors",
        group=TOPIC_CREATION,
        order_in_group=1,
        width=Width.LONG,
        display_name="Topic Creation Groups",
    )
    config.define(
        EXACTLY_ONCE_SUPPORT,
        ConfigType.STRING,
        "requested",
        validator=CaseInsensitiveValidString("requested", "required"),
        importance=Importance.MEDIUM,
        documentation="`required` refuses the connector unless it says that it can be exactly once, so configured, and "
        "the worker has exactly-once support for sources enabled; `requested` makes no such check.",
        group=EXACTLY_ONCE,
        order_in_group=2,
        width=Width.SHORT,
        display_name="Exactly once support",
    )
    config.define(
        TRANSACTION_BOUNDARY,
        ConfigType.STRING,
        "poll",
        validator=CaseInsensitiveValidString("poll", "interval", "connector"),
        importance=Importance.MEDIUM,
        documentation="Where transactions end: `poll` after every batch that a task gives, `interval` after a time, "
        "`connector` where the connector's tasks say, if they can.",
        group=EXACTLY_ONCE,
        order_in_group=3,
        width=Width.SHORT,
        display_name="Transaction Boundary",
    )
    config.define(
        TRANSACTION_INTERVAL,
        ConfigType.LONG,
        None,
        validator=Described(_at_least_zero_or_null, str(at_least(0))),
        importance=Importance.LOW,
        documentation="With `transaction.boundary=interval`: how many milliseconds a transaction lasts. "
        "By default the worker's `offset.flush.interval.ms`.",
        group=EXACTLY_ONCE,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Transaction boundary interval",
    )
    config.define(
        OFFSETS_TOPIC,
        ConfigType.STRING,
        None,
        validator=NonEmptyString(),
        importance=Importance.LOW,
        documentation="A topic of this connector's own for its offsets, made if it is missing on the cluster that "
        "the connector writes to. By default the worker's. Of no effect in standalone mode.",
        group="offsets.topic",
        order_in_group=1,
        width=Width.LONG,
        display_name="Offsets topic",
    )
    return config


def _at_least_zero_or_null(name: str, value: Any) -> None:
    if value is not None:
        at_least(0)(name, value)
