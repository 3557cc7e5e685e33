"""The settings that every connector has.

``source_config.py`` and ``sink_config.py`` add those of their kind, ``enrichment.py`` those of the transforms and
predicates a connector names. Java: ``ConnectorConfig`` of 4.3.1; names, types, defaults, groups and orders are what its
REST interface shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigType, Importance, Width
from penstock.api.errors import ConfigError
from penstock.api.validators import (
    Composite,
    Described,
    NonEmptyStringWithoutControlChars,
    NonNull,
    ValidString,
    at_least,
)
from penstock.core.config.catalog import CONNECTORS, Catalog, Versions
from penstock.core.config.converter import (
    COMMON,
    CONVERTERS,
    NO_CONVERTERS,
    VERSION,
    ConverterDefault,
    define_converter,
)
from penstock.core.config.permissions.plugin_limits import unless_absent

TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"

NAME = "name"
CONNECTOR_CLASS = "connector.class"
CONNECTOR_VERSION = "connector.plugin.version"
TASKS_MAX = "tasks.max"
JAVA_OPTIONS = "penstock.java.opts"
TASKS_PER_PROCESS = "penstock.tasks.per.process"
TASKS_PER_PROCESS_MEANING = (
    "How many tasks of the same class may share a process. With 1 each has one of its own. Tasks that share one need "
    "less memory, but also share Python's interpreter lock, and are lost together if their process ends. If it is not "
    "set, only tasks of a worker that has many of them share one, on a Spark that runs on its machine."
)
_MEMORY_OPTION = re.compile(
    r"-X(?:ms|mx|mn|ss)\d+[kKmMgG]?"
    r"|-XX:(?:Max|Min|Initial|New|Thread|Reserved|Compressed)\w+=[\d.]+[kKmMgG]?"
    r"|-XX:[+-]Use\w*GC",
    re.ASCII,
)


def common_config(
    version: str | None = None,
    converters: Mapping[str, ConverterDefault] = NO_CONVERTERS,
    catalog: Catalog | None = None,
) -> ConfigDef:
    """The definitions; ``version`` is the default of ``connector.plugin.version``, a catalog adds recommendations."""
    config = ConfigDef()
    config.define(
        NAME,
        ConfigType.STRING,
        validator=NonEmptyStringWithoutControlChars(),
        importance=Importance.HIGH,
        documentation="Globally unique name to use for this connector.",
        group=COMMON,
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Connector name",
    )
    config.define(
        CONNECTOR_CLASS,
        ConfigType.STRING,
        importance=Importance.HIGH,
        documentation="The class of the connector: its full name, or its simple name with or without `Connector`, "
        "such as `FileStreamSink` for `org.apache.kafka.connect.file.FileStreamSinkConnector`.",
        group=COMMON,
        order_in_group=2,
        width=Width.LONG,
        display_name="Connector class",
    )
    config.define(
        CONNECTOR_VERSION,
        ConfigType.STRING,
        version,
        validator=VERSION,
        importance=Importance.MEDIUM,
        documentation="Version of the connector.",
        group=COMMON,
        order_in_group=3,
        width=Width.MEDIUM,
        display_name="Connector version",
        recommender=Versions(catalog, CONNECTOR_CLASS, CONNECTORS) if catalog else None,
    )
    config.define(
        TASKS_MAX,
        ConfigType.INT,
        1,
        validator=at_least(1),
        importance=Importance.HIGH,
        documentation="Maximum number of tasks to use for this connector.",
        group=COMMON,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Tasks max",
    )
    config.define(
        "tasks.max.enforce",
        ConfigType.BOOLEAN,
        True,
        importance=Importance.LOW,
        documentation="(Deprecated) Whether a connector fails that makes more tasks than `tasks.max`. "
        "If false, it may make and run as many as it likes.",
        group=COMMON,
        order_in_group=5,
        width=Width.SHORT,
        display_name="Enforce tasks max",
    )
    for order, (name, kind) in enumerate(CONVERTERS.items()):
        define_converter(config, name, kind, 6 + 2 * order, converters[name], catalog)
    _define_chain(config)
    _define_errors(config)
    return config


def define_tasks_per_process(config: ConfigDef, props: Mapping[str, str | None]) -> None:
    """Add the definition if the setting is given: without it the list of settings is Java's."""
    if TASKS_PER_PROCESS in props:
        config.define(
            TASKS_PER_PROCESS,
            ConfigType.INT,
            None,
            validator=unless_absent(1),
            importance=Importance.LOW,
            documentation=f"{TASKS_PER_PROCESS_MEANING} By default the worker's setting of this name.",
            group=COMMON,
            order_in_group=21,
            width=Width.SHORT,
            display_name="Tasks per process",
        )


def define_java_options(config: ConfigDef, props: Mapping[str, str | None]) -> None:
    """Add the definition if the setting is given: without it the list of settings is Java's."""
    if JAVA_OPTIONS in props:
        config.define(
            JAVA_OPTIONS,
            ConfigType.STRING,
            "",
            validator=Described(check_java_options, "options about memory, such as -Xmx1g"),
            importance=Importance.LOW,
            documentation="Options of the JVM in which this connector's tasks run, if it is of a jar: those about "
            "memory. By default the worker's setting of this name.",
            group=COMMON,
            order_in_group=20,
            width=Width.LONG,
            display_name="Java Options",
        )


def check_java_options(name: str, value: Any) -> None:
    """Raises ConfigError for any but those about memory: others may run programs, or read files, and are the
    operator's.
    """
    for word in (value or "").split():
        if not _MEMORY_OPTION.fullmatch(word):
            raise ConfigError(
                name,
                value,
                f"{word} is not about memory; a connector may set -Xms, -Xmx, -Xmn, -Xss, "
                "-XX:...=number of sizes, and -XX:+Use...GC",
            )


def _define_chain(config: ConfigDef) -> None:
    for order, (name, group, what, documentation) in enumerate(
        (
            ("transforms", TRANSFORMS, "transformation", "Aliases for the transformations to be applied to records."),
            ("predicates", PREDICATES, "predicate", "Aliases for the predicates used by transformations."),
        ),
        12,
    ):
        config.define(
            name,
            ConfigType.LIST,
            [],
            validator=unique_aliases(what),
            importance=Importance.LOW,
            documentation=documentation,
            group=group,
            order_in_group=order,
            width=Width.LONG,
            display_name=group,
        )
    config.define(
        "config.action.reload",
        ConfigType.STRING,
        "restart",
        validator=ValidString("none", "restart"),
        importance=Importance.LOW,
        documentation="What to do when a value that comes from a config provider expires: `none` leaves the connector "
        "alone, `restart` restarts it with the new value.",
        group=COMMON,
        order_in_group=14,
        width=Width.MEDIUM,
        display_name="Reload Action",
    )


def _define_errors(config: ConfigDef) -> None:
    rows: list[tuple[str, ConfigType, Any, Any, Width, str, str]] = [
        (
            "errors.retry.timeout",
            ConfigType.LONG,
            0,
            None,
            Width.MEDIUM,
            "Retry Timeout for Errors",
            "For how many milliseconds a failed operation is tried again: 0 not at all, -1 for ever.",
        ),
        (
            "errors.retry.delay.max.ms",
            ConfigType.LONG,
            60000,
            None,
            Width.MEDIUM,
            "Maximum Delay Between Retries for Errors",
            "The longest pause between two attempts, in milliseconds; once reached, it is varied at random.",
        ),
        (
            "errors.tolerance",
            ConfigType.STRING,
            "none",
            ValidString("none", "all"),
            Width.SHORT,
            "Error Tolerance",
            "What to do about a record that fails: `none` ends the task as FAILED, `all` skips the record.",
        ),
        (
            "errors.log.enable",
            ConfigType.BOOLEAN,
            False,
            None,
            Width.SHORT,
            "Log Errors",
            "Whether every error is logged, tolerated or not.",
        ),
        (
            "errors.log.include.messages",
            ConfigType.BOOLEAN,
            False,
            None,
            Width.SHORT,
            "Log Error Details",
            "Whether a logged error shows the record: of a sink topic, partition, offset and timestamp, of a source "
            "its key, value, headers and source offset as well.",
        ),
    ]
    for order, (name, type, default, validator, width, display_name, documentation) in enumerate(rows, 1):
        config.define(
            name, type, default, validator, Importance.MEDIUM, documentation, ERRORS, order, width, display_name
        )


MOST_ALIASES = 500
"""Of transforms, predicates and groups: each adds a dozen definitions, and validation must not take long."""


def unique_aliases(what: str) -> Composite:
    """The check of a list of names each of which may be given once."""

    def check(name: str, value: Any) -> None:
        if len(set(value)) < len(value):
            raise ConfigError(name, value, "Duplicate alias provided.")
        if len(value) > MOST_ALIASES:
            raise ConfigError(f"'{name}' names {len(value)} aliases; {MOST_ALIASES} are accepted")

    return Composite(NonNull(), Described(check, f"unique {what}s"))
