"""Settings that every connector has, besides those of its converters, processes and restarts."""

from __future__ import annotations

from typing import Any

from penstock.api.config import ConfigType, Importance, Width
from penstock.api.errors import ConfigError
from penstock.api.validators import (
    Composite,
    Described,
    NonEmptyStringWithoutControlChars,
    NonNull,
    Validator,
    ValidString,
    between,
)
from penstock.core.config.catalog import CONNECTORS, Versions
from penstock.core.config.setting import (
    COMMON,
    ERRORS,
    PREDICATES,
    TRANSFORMS,
    InContext,
    RuntimeSetting,
    SettingContext,
)
from penstock.core.config.versions import VERSION
from penstock.core.model.limits import MAX_NAME_BYTES, MAX_TASKS, name_problem

NAME = "name"
CONNECTOR_CLASS = "connector.class"
CONNECTOR_VERSION = "connector.plugin.version"
TASKS_MAX = "tasks.max"
TASKS_MAX_ENFORCE = "tasks.max.enforce"
TOLERANCE = "errors.tolerance"
LABELS = "penstock.labels."
"""Prefix of a connector's labels, by which commands select it; any name may follow."""
MAX_ALIASES = 500
"""Aliases of transforms, predicates and groups: each adds a dozen definitions, and validation must not take long."""


def unique_aliases(what: str) -> Composite:
    """Return the validator of a list of aliases, each of which may be given once."""

    def check(name: str, value: Any) -> None:
        if len(set(value)) < len(value):
            raise ConfigError(name, value, "Duplicate alias provided.")
        if len(value) > MAX_ALIASES:
            raise ConfigError(f"'{name}' names {len(value)} aliases; {MAX_ALIASES} are accepted")

    return Composite(NonNull(), Described(check, f"unique {what}s"))


def _check_name(name: str, value: Any) -> None:
    if value is not None and (problem := name_problem(value)) is not None:
        raise ConfigError(f"Invalid value for configuration {name}: {problem}")


def _versions(context: SettingContext) -> Versions | None:
    return Versions(context.catalog, CONNECTOR_CLASS, CONNECTORS) if context.catalog else None


NAME_VALIDATOR = Composite(
    Described(_check_name, f"at most {MAX_NAME_BYTES} bytes in UTF-8"), NonEmptyStringWithoutControlChars()
)
CONNECTOR_SETTINGS = (
    RuntimeSetting(
        name=NAME,
        type=ConfigType.STRING,
        validator=NAME_VALIDATOR,
        importance=Importance.HIGH,
        documentation="Globally unique name to use for this connector.",
        group=COMMON,
        order=1,
        width=Width.MEDIUM,
        display_name="Connector name",
    ),
    RuntimeSetting(
        name=CONNECTOR_CLASS,
        type=ConfigType.STRING,
        importance=Importance.HIGH,
        documentation="The class of the connector: its full name, or its simple name with or without `Connector`, "
        "such as `FileStreamSink` for `org.apache.kafka.connect.file.FileStreamSinkConnector`.",
        group=COMMON,
        order=2,
        width=Width.LONG,
        display_name="Connector class",
        literal="",
    ),
    RuntimeSetting(
        name=CONNECTOR_VERSION,
        type=ConfigType.STRING,
        default=InContext(lambda context: context.version),
        validator=VERSION,
        importance=Importance.MEDIUM,
        documentation="Version of the connector.",
        group=COMMON,
        order=3,
        width=Width.MEDIUM,
        display_name="Connector version",
        recommender=InContext(_versions),
        literal="",
    ),
    RuntimeSetting(
        name=TASKS_MAX,
        type=ConfigType.INT,
        default=1,
        validator=between(1, MAX_TASKS),
        importance=Importance.HIGH,
        documentation="Maximum number of tasks to use for this connector.",
        group=COMMON,
        order=4,
        width=Width.SHORT,
        display_name="Tasks max",
    ),
    RuntimeSetting(
        name=TASKS_MAX_ENFORCE,
        type=ConfigType.BOOLEAN,
        default=True,
        importance=Importance.LOW,
        documentation="(Deprecated) Whether a connector fails that makes more tasks than `tasks.max`. "
        "If false, it may make and run as many as it likes.",
        group=COMMON,
        order=5,
        width=Width.SHORT,
        display_name="Enforce tasks max",
        deprecated="Kafka Connect has announced its removal",
    ),
)


def _aliases(name: str, group: str, what: str, order: int, documentation: str) -> RuntimeSetting:
    return RuntimeSetting(
        name=name,
        type=ConfigType.LIST,
        default=[],
        validator=unique_aliases(what),
        importance=Importance.LOW,
        documentation=documentation,
        group=group,
        order=order,
        width=Width.LONG,
        display_name=group,
    )


CHAIN_SETTINGS = (
    _aliases(
        "transforms", TRANSFORMS, "transformation", 12, "Aliases for the transformations to be applied to records."
    ),
    _aliases("predicates", PREDICATES, "predicate", 13, "Aliases for the predicates used by transformations."),
    RuntimeSetting(
        name="config.action.reload",
        type=ConfigType.STRING,
        default="restart",
        validator=ValidString("none", "restart"),
        importance=Importance.LOW,
        documentation="What to do when a value that comes from a config provider expires: `none` leaves the connector "
        "alone, `restart` restarts it with the new value.",
        group=COMMON,
        order=14,
        width=Width.MEDIUM,
        display_name="Reload Action",
    ),
)


def _errors(
    name: str,
    type: ConfigType,
    default: Any,
    order: int,
    display_name: str,
    documentation: str,
    validator: Validator | None = None,
    width: Width = Width.SHORT,
) -> RuntimeSetting:
    return RuntimeSetting(
        name=name,
        type=type,
        default=default,
        validator=validator,
        documentation=documentation,
        group=ERRORS,
        order=order,
        width=width,
        display_name=display_name,
    )


ERROR_SETTINGS = (
    _errors(
        "errors.retry.timeout",
        ConfigType.LONG,
        0,
        1,
        "Retry Timeout for Errors",
        "For how many milliseconds a failed operation is tried again: 0 not at all, -1 for ever.",
        width=Width.MEDIUM,
    ),
    _errors(
        "errors.retry.delay.max.ms",
        ConfigType.LONG,
        60000,
        2,
        "Maximum Delay Between Retries for Errors",
        "The longest pause between two attempts, in milliseconds; once reached, it is varied at random.",
        width=Width.MEDIUM,
    ),
    _errors(
        TOLERANCE,
        ConfigType.STRING,
        "none",
        3,
        "Error Tolerance",
        "What to do about a record that fails: `none` ends the task as FAILED, `all` skips the record.",
        ValidString("none", "all"),
    ),
    _errors(
        "errors.log.enable",
        ConfigType.BOOLEAN,
        False,
        4,
        "Log Errors",
        "Whether every error is logged, tolerated or not.",
    ),
    _errors(
        "errors.log.include.messages",
        ConfigType.BOOLEAN,
        False,
        5,
        "Log Error Details",
        "Whether a logged error shows the record: of a sink topic, partition, offset and timestamp, of a source "
        "its key, value, headers and source offset as well.",
    ),
)

LABEL_SETTINGS = (
    RuntimeSetting(
        name=f"{LABELS}<label>",
        type=ConfigType.STRING,
        default=None,
        documentation="A label of the connector, by which commands and the page select it.",
        defined=False,
    ),
)
