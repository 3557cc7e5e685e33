"""Topic creation rules of KIP-158's draft: ``topic.creation=<rules>``, and for each rule ``.regex``, ``.partitions``,
``.replication.factor`` and settings of the topic.

They are checked when a connector is submitted, and each error names its key. There is no default: a topic that no rule
matches is left to the broker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from penstock.api.config import ConfigType, ConfigValue, parse_type
from penstock.api.errors import ConfigError
from penstock.api.validators import Validator
from penstock.core.topic_creation.rules import (
    BROKER_DEFAULT,
    GROUPS,
    PREFIX,
    RULES,
    Compile,
    Props,
    Rule,
    check_count,
    check_partitions,
    check_replication_factor,
    topic_configs,
)

_DRAFT = ("regex", "replication.factor", "partitions")


def check_draft(config: Props, compile: Compile = re.compile) -> list[ConfigValue]:
    """Return the errors in the draft's settings, one value for each key; nothing if they are not used.

    ``default`` and ``groups`` are names of rules like any other here; ``topic.creation.groups`` itself, or a group's
    ``include`` or ``exclude``, belong to the shipped spelling, and the two may not be mixed.
    """
    if RULES not in config:
        return [_problem(config, key, _without_rules(key, config)) for key in config if _is_draft(key)]
    names = parse_type(RULES, config[RULES], ConfigType.LIST) or []
    try:
        check_count(RULES, names)
    except ConfigError as error:
        return [_problem(config, RULES, str(error))]
    problems = list(_check_names(config, names))
    for name in dict.fromkeys(names):
        if name:
            problems.extend(_check_rule(config, f"{PREFIX}{name}.", compile))
    found = ((key, _foreign(key, names)) for key in config if key.startswith(PREFIX))
    return problems + [_problem(config, key, error) for key, error in found if error]


def _is_draft(key: str) -> bool:
    return key.startswith(PREFIX) and key.endswith(".regex")


def _without_rules(key: str, config: Props) -> str:
    if GROUPS in config:
        return f"'{key}' can't be used together with '{GROUPS}': groups have 'include' and 'exclude' instead"
    return f"'{key}' belongs to no rule: '{RULES}' is missing, which lists the names of the rules"


def _check_names(config: Props, names: list[str]) -> Iterator[ConfigValue]:
    if "" in names:
        yield _problem(config, RULES, f"Configuration '{RULES}' names a rule without a name; expected `first,second`")
    if len(set(names)) < len(names):
        yield ConfigValue(RULES, config[RULES], errors=[str(ConfigError(RULES, names, "Duplicate alias provided."))])


def _check_rule(config: Props, prefix: str, compile: Compile) -> Iterator[ConfigValue]:
    def check_regex(name: str, value: Any) -> None:
        try:
            compile(value)
        except (ConfigError, ValueError, re.error) as error:
            raise ConfigError(name, value, f"Syntax error in regular expression: {error}") from error

    rules: tuple[tuple[str, ConfigType, Validator, bool], ...] = (
        ("regex", ConfigType.STRING, check_regex, True),
        ("replication.factor", ConfigType.SHORT, check_replication_factor, False),
        ("partitions", ConfigType.INT, check_partitions, False),
    )
    for name, type, check, required in rules:
        key = prefix + name
        if config.get(key) is None:
            if required:
                problem = f'Missing required configuration "{key}" which has no default value.'
                yield ConfigValue(key, errors=[problem])
            continue
        try:
            check(key, parse_type(key, config[key], type))
        except ConfigError as error:
            yield _problem(config, key, str(error))


def _foreign(key: str, names: list[str]) -> str | None:
    """Return what is wrong with a key that belongs to no rule, or to the shipped spelling; None for other keys."""
    if key == GROUPS:
        return f"'{GROUPS}' can't be used together with '{RULES}': a connector has either rules or groups"
    rule, _, setting = key.removeprefix(PREFIX).partition(".")
    owner = next((name for name in names if name and key.startswith(f"{PREFIX}{name}.")), None)
    if owner is not None:
        setting = key.removeprefix(f"{PREFIX}{owner}.")
    if setting in ("include", "exclude"):
        return f"'{key}' can't be used together with '{RULES}': the rules of '{RULES}' have 'regex' instead"
    if owner is None:
        return f"'{key}' belongs to no rule: '{rule}' is not among those of '{RULES}'"
    return None


def _problem(config: Props, key: str, error: str) -> ConfigValue:
    return ConfigValue(key, config.get(key), errors=[error])


def draft_rule(config: Props, name: str, compile: Compile) -> Rule:
    """Return the rule of this name, in a configuration in which ``check_draft`` found no errors."""
    prefix = f"{PREFIX}{name}."

    def number(key: str, type: ConfigType) -> int:
        value = parse_type(prefix + key, config.get(prefix + key), type)
        return BROKER_DEFAULT if value is None else int(value)

    regex = parse_type(f"{prefix}regex", config[f"{prefix}regex"], ConfigType.STRING)
    return Rule(
        name,
        (compile(regex),),
        (),
        number("partitions", ConfigType.INT),
        number("replication.factor", ConfigType.SHORT),
        topic_configs(config, prefix, _DRAFT),
    )
