"""Results of validating a whole configuration, as ``PUT /connector-plugins/{plugin}/config/validate`` answers them.

Java: ``ConfigInfos``, ``ConfigInfo`` and ``ConfigValueInfo`` of ``runtime.rest.entities``, and the functions of
``AbstractHerder`` that make them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.api.config import ConfigKey, ConfigKeyInfo, ConfigType, ConfigValue, to_text
from penstock.java.parsing import BLANKS

HINT = "You can also find the above list of errors at the endpoint `/connector-plugins/{connectorType}/config/validate`"
MIN_LENGTH, MAX_VALUES = 8, 500
"""Limits of values that are replaced in errors of other settings: their length, since short values may be in any text,
and their number.
"""


MIN_PART = 4
"""Characters of a value that remain in an error which is therefore not shown: half of the value, but from ``MIN_PART``
to ``MIN_LENGTH``, since shorter ones may be in any text.
"""
FAILED_VALIDATION = (
    "Invalid value for configuration '{}': the value resolved from the config provider reference failed validation"
)
"""Kafka 4.4's sentence."""


@dataclass(frozen=True, slots=True)
class ConfigValueInfo:
    """Value of one setting, as text."""

    name: str
    value: str | None
    recommended_values: tuple[str | None, ...]
    errors: tuple[str, ...]
    visible: bool

    @classmethod
    def of(cls, found: ConfigValue, type: ConfigType | None, prefix: str = "") -> ConfigValueInfo:
        each = ConfigType.STRING if type is ConfigType.LIST else type
        return cls(
            prefix + found.name,
            to_text(found.value, type),
            tuple(to_text(value, each) for value in found.recommended_values),
            tuple(found.errors),
            found.visible,
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "recommended_values": list(self.recommended_values),
            "errors": list(self.errors),
            "visible": self.visible,
        }


@dataclass(frozen=True, slots=True)
class ConfigInfo:
    """Definition and value of one setting; a setting that nothing defines has no definition."""

    definition: ConfigKeyInfo | None
    value: ConfigValueInfo | None

    def as_given(
        self, given: Mapping[str, str | None], resolved: Mapping[str, str | None], others: Sequence[tuple[str, str]]
    ) -> ConfigInfo:
        """Return this with references to config providers in place of their values.

        ``others``: pairs of a text and its replacement, for errors of any setting.
        """
        if self.value is None:
            return self
        name = self.value.name
        own = _pairs(resolved[name], given[name]) if name in given else []
        errors = tuple(_replaced(error, [*own, *others]) for error in self.value.errors)
        if name not in given:
            return replace(self, value=replace(self.value, errors=errors))
        parts = _parts(resolved[name] or "", f"{name} {given[name]}") if errors else set()
        errors = tuple(
            FAILED_VALIDATION.format(name) if any(part in error for part in parts) else error for error in errors
        )
        shown = replace(self.value, value=given[name], recommended_values=(), errors=errors)
        return replace(self, value=shown)

    def to_json(self) -> dict[str, Any]:
        return {
            "definition": None if self.definition is None else self.definition.to_json(),
            "value": None if self.value is None else self.value.to_json(),
        }


@dataclass(frozen=True, slots=True)
class ConfigInfos:
    """Definitions and values of all settings, in order.

    ``error_count`` counts as Java does: a client's setting with several errors counts once.
    """

    name: str
    error_count: int
    groups: tuple[str, ...]
    configs: tuple[ConfigInfo, ...]
    warnings: tuple[str, ...] = ()
    """Sentences about settings that have no effect or are deprecated; not in Java's answer."""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "error_count": self.error_count,
            "groups": list(self.groups),
            "configs": [info.to_json() for info in self.configs],
        }

    @property
    def errors(self) -> list[str]:
        return [error for info in self.configs if info.value is not None for error in info.value.errors]

    @property
    def message(self) -> str | None:
        """Message that refuses a connector with this configuration; None if it is valid."""
        if not self.error_count:
            return None
        first = f"Connector configuration is invalid and contains the following {self.error_count} error(s):"
        return "\n".join([first, *self.errors, HINT])

    def as_given(self, resolved: Mapping[str, str | None], raw: Mapping[str, str | None]) -> ConfigInfos:
        """Return this with the user's references to config providers in place of their values, in errors too."""
        given = {key: raw[key] for key in resolved if key in raw and raw[key] != resolved[key]}
        if not given:
            return self
        pairs = [pair for key, shown in given.items() for pair in _pairs(resolved[key], shown)]
        long = sorted(
            (pair for pair in pairs if len(pair[0]) >= MIN_LENGTH), key=lambda pair: len(pair[0]), reverse=True
        )
        return replace(self, configs=tuple(info.as_given(given, resolved, long[:MAX_VALUES]) for info in self.configs))

    def plus(self, others: Iterable[ConfigInfos | None]) -> ConfigInfos:
        """Return this with further settings after its own."""
        parts = [self, *(other for other in others if other is not None)]
        return ConfigInfos(
            self.name,
            sum(part.error_count for part in parts),
            tuple(dict.fromkeys(group for part in parts for group in part.groups)),
            tuple(info for part in parts for info in part.configs),
            self.warnings,
        )


def _pairs(value: str | None, shown: str | None) -> list[tuple[str, str]]:
    """Pair a value, with and without the blanks around it, with what is shown in its place."""
    return [(each, shown or "") for each in (value or "", (value or "").strip(BLANKS)) if each]


def _parts(value: str, shown: str) -> set[str]:
    """Return the parts of a value, but for those of a text that may be shown."""
    size = min(max(len(value.strip(BLANKS)) // 2, MIN_PART), MIN_LENGTH)
    parts = {value[start : start + size] for start in range(len(value) - size + 1)}
    return {part for part in parts if part not in shown}


def _replaced(error: str, pairs: Iterable[tuple[str, str]]) -> str:
    for value, shown in pairs:
        error = error.replace(value, shown)
    return error


def connector_infos(
    name: str, keys: Mapping[str, ConfigKey], values: Iterable[ConfigValue], groups: Iterable[str]
) -> ConfigInfos:
    """Return the results for the connector itself: values without a definition first, then the definitions in order."""
    found, configs, errors = {}, [], 0
    for value in values:
        found[value.name] = value
        if value.name not in keys:
            configs.append(ConfigInfo(None, ConfigValueInfo.of(value, None)))
            errors += len(value.errors)
    for key in keys.values():
        named = found.get(key.name)
        if named is not None:
            errors += len(named.errors)
        configs.append(ConfigInfo(key.info(), None if named is None else ConfigValueInfo.of(named, key.type)))
    return ConfigInfos(name, errors, tuple(groups), tuple(configs))


def prefixed_infos(keys: Mapping[str, ConfigKey], values: Iterable[ConfigValue], prefix: str) -> ConfigInfos:
    """Return the results for a converter or a client, whose settings have a prefix, in the order of the values.

    All are visible, as in Java.
    """
    configs, groups, errors = [], [], 0
    for value in values:
        key = keys.get(value.name)
        if key is not None and key.group is not None:
            groups.append(key.group)
        errors += bool(value.errors)
        shown = ConfigValueInfo.of(value, None if key is None else key.type, prefix)
        configs.append(ConfigInfo(None if key is None else key.info(prefix), replace(shown, visible=True)))
    return ConfigInfos("", errors, tuple(dict.fromkeys(groups)), tuple(configs))
