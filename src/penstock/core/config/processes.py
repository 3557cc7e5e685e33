"""Settings of the processes in which connectors and tasks run: options of JVMs, sharing, and limits of plugins with an
environment, and so processes, of their own.
"""

from __future__ import annotations

import re
from typing import Any

from penstock.api.config import ConfigType, Importance, Width
from penstock.api.connector import Connector
from penstock.api.errors import ConfigError
from penstock.api.validators import Described
from penstock.core.config.setting import (
    BY_DEFAULT_THE_WORKERS,
    COMMON,
    CONNECTORS_OWN_COUNTS,
    RuntimeSetting,
    unless_absent,
)

JAVA_OPTIONS = "penstock.java.opts"
TASKS_PER_PROCESS = "penstock.tasks.per.process"
MIN_MEMORY = 64 * 1024 * 1024
_MEMORY_OPTION = re.compile(
    r"-X(?:ms|mx|mn|ss)\d+[kKmMgG]?"
    r"|-XX:(?:Max|Min|Initial|New|Thread|Reserved|Compressed)\w+=[\d.]+[kKmMgG]?"
    r"|-XX:[+-]Use\w*GC",
    re.ASCII,
)
_SHARING = (
    "How many tasks of the same class may share a process. With 1 each has one of its own. Tasks that share one need "
    "less memory, but also share Python's interpreter lock, and are lost together if their process ends. If it is not "
    "set, only tasks of a worker that has many of them share one, on a Spark that runs on its machine."
)


def check_java_options(name: str, value: Any) -> None:
    """Raise ConfigError for options that are not about memory.

    Others may run programs or read files, and are the operator's.
    """
    for word in (value or "").split():
        if not _MEMORY_OPTION.fullmatch(word):
            raise ConfigError(
                name,
                value,
                f"{word} is not about memory; a connector may set -Xms, -Xmx, -Xmn, -Xss, "
                "-XX:...=number of sizes, and -XX:+Use...GC",
            )


def _without_environment(name: str, connector: Connector) -> str | None:
    """Return why a limit cannot be kept: only plugins with an environment of their own have processes of their own."""
    if getattr(connector, "in_environment", False):
        return None
    return (
        f"'{name}' has no effect on {type(connector).__name__}, which has no environment of its own: "
        "`penstock plugins install` makes one"
    )


def _limit(name: str, meaning: str, least: int, order: int) -> RuntimeSetting:
    return RuntimeSetting(
        name=name,
        type=ConfigType.LONG,
        default=None,
        validator=unless_absent(least),
        importance=Importance.LOW,
        documentation=f"{meaning} The worker's setting of this name counts if it is smaller.",
        group=COMMON,
        order=order,
        width=Width.SHORT,
        display_name="Plugin Limit",
        optional=True,
        worker_documentation=f"{meaning} By default there is no limit; connectors may set a smaller one.",
        refused_on=_without_environment,
    )


PROCESS_SETTINGS = (
    RuntimeSetting(
        name=JAVA_OPTIONS,
        type=ConfigType.STRING,
        default="",
        validator=Described(check_java_options, "options about memory, such as -Xmx1g"),
        importance=Importance.LOW,
        documentation="Options of the JVM in which this connector's tasks run, if it is of a jar: those about memory. "
        + BY_DEFAULT_THE_WORKERS,
        group=COMMON,
        order=20,
        width=Width.LONG,
        display_name="Java Options",
        optional=True,
    ),
    RuntimeSetting(
        name=TASKS_PER_PROCESS,
        type=ConfigType.INT,
        default=None,
        validator=unless_absent(1),
        importance=Importance.LOW,
        documentation=f"{_SHARING} {BY_DEFAULT_THE_WORKERS}",
        group=COMMON,
        order=21,
        width=Width.SHORT,
        display_name="Tasks per process",
        optional=True,
        worker_documentation=f"{_SHARING} {CONNECTORS_OWN_COUNTS}",
    ),
    _limit(
        "penstock.plugin.max.memory.bytes",
        "How much memory the process of a connector, and that of each of its tasks, may use, in bytes, if its plugin "
        "has an environment of its own. One that needs more fails.",
        MIN_MEMORY,
        order=21,
    ),
    _limit(
        "penstock.plugin.max.cpu.ms",
        "How much processor time the process of a connector, and that of each of its tasks, may use from its start to "
        "its end, rounded up to seconds, if its plugin has an environment of its own. One that has used more fails.",
        1000,
        order=22,
    ),
    _limit(
        "penstock.plugin.max.cpu.percent",
        "How much of a processor the process of a connector, and that of each of its tasks, may use at any time, with "
        "all that it starts, if its plugin has an environment of its own: 150 is one and a half. One that wants more "
        "waits. Where the worker or the task may make no groups (cgroup version 2) the connector fails.",
        1,
        order=23,
    ),
)
