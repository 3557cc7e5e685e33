"""Definitions of settings: names, types, defaults, checks and documentation, as Java's ``ConfigDef`` has them.

A plugin returns a ConfigDef from ``config_def()``; the runtime parses, validates and documents its settings with it.
Messages are Java's to the letter. Java: ``org.apache.kafka.common.config.ConfigDef``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from penstock.api.config_key import ConfigKey, ConfigKeyInfo, ConfigValue, Importance, Recommender, Width
from penstock.api.config_types import (
    NO_DEFAULT,
    ClassLoader,
    ConfigType,
    Password,
    UnusableClassError,
    parse_type,
    to_text,
)
from penstock.api.errors import ConfigError
from penstock.api.validators import Described, Validator, ValidList
from penstock.java.hash_map import hash_order

__all__ = [
    "NO_DEFAULT",
    "ClassLoader",
    "ConfigDef",
    "ConfigKey",
    "ConfigKeyInfo",
    "ConfigType",
    "ConfigValue",
    "Importance",
    "Password",
    "Recommender",
    "Type",
    "Width",
    "parse_type",
    "to_text",
    "with_prefix",
]


V = TypeVar("V")


def with_prefix(settings: Mapping[str, V], prefix: str) -> dict[str, V]:
    """Return the settings whose names begin with the prefix, without it. Java: ``originalsWithPrefix``."""
    return {name[len(prefix) :]: value for name, value in settings.items() if name.startswith(prefix)}


Type = ConfigType
"""The same, by its name within this module."""


Validation = Callable[[str, Mapping[str, Any]], Iterable[ConfigValue]]
"""Validates definitions whose code is not in this process: given the prefix under which they are embedded, and all
settings that begin with it. What it raises validation raises.
"""


class ConfigDef:
    """An ordered set of definitions, by name. ``ConfigDef(base)`` starts with those of another one."""

    def __init__(self, base: ConfigDef | None = None) -> None:
        self.keys: dict[str, ConfigKey] = dict(base.keys) if base else {}
        self.groups: list[str] = list(base.groups) if base else []
        self._elsewhere: list[tuple[str, Validation]] = list(base._elsewhere) if base else []

    def define(
        self,
        name: str,
        type: ConfigType,
        default: Any = NO_DEFAULT,
        validator: Validator | None = None,
        importance: Importance = Importance.MEDIUM,
        documentation: str = "",
        group: str | None = None,
        order_in_group: int = -1,
        width: Width = Width.NONE,
        display_name: str | None = None,
        dependents: Iterable[str] = (),
        recommender: Recommender | None = None,
        internal: bool = False,
    ) -> Self:
        """Add a definition; returns the same object.

        Without a default the setting is required. ``internal`` ones are not documented.
        """
        if default is not NO_DEFAULT:
            default = parse_type(name, default, type)
            if validator is not None:
                validator(name, default)
        shown = name if display_name is None else display_name
        return self.add(
            ConfigKey(
                name,
                type,
                default,
                validator,
                importance,
                documentation,
                group,
                order_in_group,
                width,
                shown,
                tuple(dependents),
                recommender,
                internal,
            )
        )

    def add(self, key: ConfigKey) -> Self:
        """Add a definition; raises ConfigError if there is one of its name."""
        if key.name in self.keys:
            raise ConfigError(f"Configuration {key.name} is defined twice.")
        if key.group is not None and key.group not in self.groups:
            self.groups.append(key.group)
        self.keys[key.name] = key
        return self

    def add_missing(self, other: ConfigDef) -> Self:
        """Add those definitions of another one whose names are not here."""
        for key in other.keys.values():
            if key.name not in self.keys:
                self.add(key)
        self._elsewhere += other._elsewhere
        return self

    def validated_elsewhere(self, prefix: str, validation: Validation) -> Self:
        """Have the settings with this prefix validated by a function: its result counts for those that it names."""
        self._elsewhere.append((prefix, validation))
        return self

    def embed(self, prefix: str, group: str, order: int, child: ConfigDef) -> Self:
        """Add all definitions of another one with a prefix, in one group, numbered from ``order``."""
        for number, key in enumerate(child.sorted(), order):
            self.add(
                replace(
                    key,
                    name=prefix + key.name,
                    validator=_without_prefix(prefix, key.validator),
                    group=group if key.group is None else f"{group}: {key.group}",
                    order_in_group=number,
                    dependents=tuple(prefix + name for name in key.dependents),
                    recommender=None if key.recommender is None else _Embedded(prefix, key.recommender),
                )
            )
        self._elsewhere += [(prefix + inner, validation) for inner, validation in child._elsewhere]
        return self

    def sorted(self) -> list[ConfigKey]:
        """Return the definitions in the order of documentation.

        That is by group, order in group, required ones first, importance, name.
        """
        importance = list(Importance)

        def rank(key: ConfigKey) -> tuple[int, int, bool, int, str]:
            group = -1 if key.group is None else self.groups.index(key.group)
            return group, key.order_in_group, not key.required, importance.index(key.importance), key.name

        return sorted(self.keys.values(), key=rank)

    def names(self) -> list[str]:
        """Return the names of all definitions, in order."""
        return list(self.keys)

    def infos(self) -> list[ConfigKeyInfo]:
        """Return all definitions as the REST API shows them, in order."""
        return [key.info() for key in self.keys.values()]

    def parse(self, props: Mapping[str, Any], load: ClassLoader | None = None) -> dict[str, Any]:
        """Return the typed value of every defined setting; names that are not defined are ignored.

        A CLASS stays its name unless ``load`` turns names into classes. Raises ConfigError for the first value that
        can't be used.
        """
        if undefined := self._undefined_dependents():
            problem = "Some configurations in are referred in the dependents, but not defined: "
            raise ConfigError(problem + ",".join(undefined))
        return {name: self._parse(key, props, load) for name, key in self.keys.items()}

    def _parse(self, key: ConfigKey, props: Mapping[str, Any], load: ClassLoader | None) -> Any:
        if key.name in props:
            value = parse_type(key.name, props[key.name], key.type, load)
        elif key.required:
            raise ConfigError(f'Missing required configuration "{key.name}" which has no default value.')
        else:
            value = key.default
        if isinstance(key.validator, ValidList) and isinstance(value, list):
            value = list(dict.fromkeys(value))  # only validation complains about duplicates
        if key.validator is not None:
            key.validator(key.name, value)
        return value

    def validate(self, props: Mapping[str, Any], load: ClassLoader | None = None) -> list[ConfigValue]:
        """Return the validated value of every defined setting with its errors, in Java's order."""
        values = self.validate_all(props, load)
        return [values[name] for name in hash_order(values)]

    def validate_all(self, props: Mapping[str, Any], load: ClassLoader | None = None) -> dict[str, ConfigValue]:
        """``validate``, by name and in the order of definition."""
        values = {name: ConfigValue(name) for name in self.keys}
        for name in self._undefined_dependents():
            problem = f"{name} is referred in the dependents, but not defined."
            values[name] = ConfigValue(name, errors=[problem], visible=False)
        children = {name for key in self.keys.values() for name in key.dependents}
        roots = [name for name in self.keys if name not in children]
        parsed: dict[str, Any] = {}
        for name in roots:
            self._parse_for_validation(name, props, load, parsed, values)
        for name in roots:
            self._recommend(name, parsed, values)
        for prefix, validation in self._elsewhere:
            own = {name: value for name, value in props.items() if name.startswith(prefix)}
            values |= {value.name: value for value in validation(prefix, own)}
        return values

    def _parse_for_validation(
        self,
        name: str,
        props: Mapping[str, Any],
        load: ClassLoader | None,
        parsed: dict[str, Any],
        values: dict[str, ConfigValue],
    ) -> None:
        if name not in self.keys:
            return
        key, found = self.keys[name], values[name]
        value = unusable = None
        if name in props:
            try:
                value = parse_type(name, props[name], key.type, load)
            except ConfigError as error:
                found.add_error(str(error))
                unusable = error.class_name if isinstance(error, UnusableClassError) else None
        elif key.required:
            found.add_error(f'Missing required configuration "{name}" which has no default value.')
        else:
            value = key.default
        # As in Java the check also sees the null of a value that could not be parsed, and may complain a second time.
        if key.validator is not None:
            try:
                key.validator(name, value)
            except ConfigError as error:
                found.add_error(str(error))
        parsed[name] = value
        found.value = unusable if value is None else value
        for dependent in key.dependents:
            self._parse_for_validation(dependent, props, load, parsed, values)

    def _recommend(self, name: str, parsed: Mapping[str, Any], values: dict[str, ConfigValue]) -> None:
        if name not in self.keys:
            return
        key, found = self.keys[name], values[name]
        if key.recommender is not None:
            try:
                recommended = key.recommender.valid_values(name, parsed)
                if found.recommended_values:
                    recommended = [value for value in recommended if value in found.recommended_values]
                found.recommended_values = recommended
                found.visible = key.recommender.visible(name, parsed)
            except ConfigError as error:
                found.add_error(str(error))
        for dependent in key.dependents:
            self._recommend(dependent, parsed, values)

    def _undefined_dependents(self) -> list[str]:
        names = (name for key in self.keys.values() for name in key.dependents)
        return hash_order(name for name in names if name not in self.keys)


def _without_prefix(prefix: str, validator: Validator | None) -> Validator | None:
    if validator is None:
        return None
    check: Callable[[str, Any], None] = validator
    return Described(lambda name, value: check(name.removeprefix(prefix), value), str(validator))


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A recommender that knows its settings without the prefix under which they were embedded."""

    prefix: str
    base: Recommender

    def _own(self, parsed: Mapping[str, Any]) -> dict[str, Any]:
        return {name.removeprefix(self.prefix): v for name, v in parsed.items() if name.startswith(self.prefix)}

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        return self.base.valid_values(name.removeprefix(self.prefix), self._own(parsed))

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        return self.base.visible(name.removeprefix(self.prefix), self._own(parsed))
