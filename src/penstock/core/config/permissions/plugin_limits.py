"""Limits of connectors whose plugin has an environment, and so processes, of its own."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef, ConfigType, ConfigValue, Importance, Width
from penstock.api.connector import Connector
from penstock.api.validators import Described, Validator, at_least
from penstock.core.config.converter import COMMON

LEAST_MEMORY = 64 * 1024 * 1024
LIMITS = {
    "penstock.plugin.max.memory.bytes": (
        "How much memory the process of a connector, and that of each of its tasks, may use, in bytes, if its plugin "
        "has an environment of its own. One that needs more fails.",
        LEAST_MEMORY,
    ),
    "penstock.plugin.max.cpu.ms": (
        "How much processor time the process of a connector, and that of each of its tasks, may use from its start to "
        "its end, rounded up to seconds, if its plugin has an environment of its own. One that has used more fails.",
        1000,
    ),
    "penstock.plugin.max.cpu.percent": (
        "How much of a processor the process of a connector, and that of each of its tasks, may use at any time, with "
        "all that it starts, if its plugin has an environment of its own: 150 is one and a half. One that wants more "
        "waits. Where the worker or the task may make no groups (cgroup version 2) the connector fails.",
        1,
    ),
}


def define_worker_limits(config: ConfigDef) -> None:
    for name, (meaning, least) in LIMITS.items():
        config.define(
            name,
            ConfigType.LONG,
            None,
            unless_absent(least),
            Importance.LOW,
            f"{meaning} By default there is no limit; connectors may set a smaller one.",
        )


def define_limits(config: ConfigDef, props: Mapping[str, str | None]) -> None:
    """Add the definitions that are given: without them the list of settings is Java's."""
    for order, (name, (meaning, least)) in enumerate(LIMITS.items(), 21):
        if name in props:
            config.define(
                name,
                ConfigType.LONG,
                None,
                validator=unless_absent(least),
                importance=Importance.LOW,
                documentation=f"{meaning} The worker's setting of this name counts if it is smaller.",
                group=COMMON,
                order_in_group=order,
                width=Width.SHORT,
                display_name="Plugin Limit",
            )


def check_limits(props: Mapping[str, str | None], values: Mapping[str, ConfigValue], connector: Connector) -> None:
    """Only plugins with an environment of their own have processes that can be held to a limit."""
    for name in LIMITS:
        if name in props and not getattr(connector, "in_environment", False):
            values[name].add_error(
                f"'{name}' has no effect on {type(connector).__name__}, which has no environment of its own: "
                "`penstock plugins install` makes one"
            )


def unless_absent(least: int) -> Validator:
    """``at_least`` for a setting without a default."""
    check = at_least(least)
    return Described(lambda name, value: None if value is None else check(name, value), str(check))
