"""``penstock.attention.muted`` of a connector: kinds of rows that the attention list does not show for it."""

from __future__ import annotations

from penstock.api.config import ConfigType, Importance, Width
from penstock.api.config_types import parse_type
from penstock.api.validators import ValidList
from penstock.core.config.setting import COMMON, Props, RuntimeSetting

MUTED = "penstock.attention.muted"
MUTABLE = (
    "silent",
    "behind",
    "standstill",
    "partition-standstill",
    "missing-topics",
    "no-tasks",
    "flapping",
    "dead-letters",
    "expiring",
    "outdated",
    "ignored",
    "stopped",
    "paused",
)
"""Kinds that may be usual for a connector. The others are shown in any case."""


def muted_in(props: Props) -> frozenset[str]:
    """Return the kinds that are not shown for a connector.

    Configurations that Java's workers wrote have not been validated: unknown kinds count as none.
    """
    kinds: list[str] = parse_type(MUTED, props.get(MUTED), ConfigType.LIST) or []
    return frozenset(kinds) & frozenset(MUTABLE)


ATTENTION_SETTINGS = (
    RuntimeSetting(
        name=MUTED,
        type=ConfigType.LIST,
        default=[],
        validator=ValidList(*MUTABLE),
        importance=Importance.LOW,
        documentation="Kinds of rows that `GET /penstock/v1/attention` does not show for this connector, because they "
        f"are usual for it: {', '.join(f'`{kind}`' for kind in MUTABLE)}.",
        group=COMMON,
        order=30,
        width=Width.LONG,
        display_name="Muted Attention",
        optional=True,
        literal="; it is a list of kinds",
    ),
)
