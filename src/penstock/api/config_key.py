"""The definition of one setting, and the result of validating its value.

Java: ``ConfigDef.ConfigKey``, ``ConfigValue`` and the REST interface's ``ConfigKeyInfo``.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.api.config_types import NO_DEFAULT, ConfigType, to_text
from penstock.api.validators import Validator


class Importance(enum.Enum):
    """The importance of a setting; documentation lists the important ones first."""

    HIGH = "HIGH"
    MEDIUM = "MEDIUM"
    LOW = "LOW"


class Width(enum.Enum):
    """The width of a setting's input in a form."""

    NONE = "NONE"
    SHORT = "SHORT"
    MEDIUM = "MEDIUM"
    LONG = "LONG"


class Recommender(Protocol):
    """Suggests values for a setting, given all parsed values; both methods may raise ConfigError."""

    def valid_values(self, name: str, parsed: Mapping[str, Any]) -> list[Any]:
        """Return the values to choose from, given the settings parsed so far."""

    def visible(self, name: str, parsed: Mapping[str, Any]) -> bool:
        """Return whether the setting matters, given the settings parsed so far."""


@dataclass(slots=True)
class ConfigValue:
    """The result of validating one setting. A connector's own ``validate`` may add errors to it."""

    name: str
    value: Any = None
    recommended_values: list[Any] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    visible: bool = True

    def add_error(self, message: str) -> None:
        """Add a message about the value, which is refused for it."""
        self.errors.append(message)


@dataclass(frozen=True, slots=True)
class ConfigKeyInfo:
    """A definition as ``GET /connector-plugins/{plugin}/config`` shows it."""

    name: str
    type: str
    required: bool
    default_value: str | None
    importance: str
    documentation: str
    group: str | None
    order_in_group: int
    width: str
    display_name: str
    dependents: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the definition as the REST API shows it."""
        return {
            "name": self.name,
            "type": self.type,
            "required": self.required,
            "default_value": self.default_value,
            "importance": self.importance,
            "documentation": self.documentation,
            "group": self.group,
            "order_in_group": self.order_in_group,
            "width": self.width,
            "display_name": self.display_name,
            "dependents": list(self.dependents),
        }


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """The definition of a setting. The default is kept parsed, and must pass the validator."""

    name: str
    type: ConfigType
    default: Any = NO_DEFAULT
    validator: Validator | None = None
    importance: Importance = Importance.MEDIUM
    documentation: str = ""
    group: str | None = None
    order_in_group: int = -1
    width: Width = Width.NONE
    display_name: str = ""
    dependents: tuple[str, ...] = ()
    recommender: Recommender | None = None
    internal: bool = False

    @property
    def required(self) -> bool:
        """Whether there is no default."""
        return self.default is NO_DEFAULT

    def info(self, prefix: str = "") -> ConfigKeyInfo:
        """Return the definition as the REST API shows it, with a prefix before its name."""
        return ConfigKeyInfo(
            name=prefix + self.name,
            type=self.type.name,
            required=self.required,
            default_value=None if self.required else to_text(self.default, self.type),
            importance=self.importance.name,
            documentation=self.documentation,
            group=self.group,
            order_in_group=self.order_in_group,
            width=self.width.name,
            display_name=self.display_name,
            dependents=self.dependents,
        )
