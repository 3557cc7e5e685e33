"""Description of one setting that the runtime, and not a plugin, defines for connectors.

Validation, the answers about settings, the generated reference, masks, warnings and ``penstock help`` are derived from
these descriptions; ``runtime_settings`` has the table of all of them. Names, types, defaults, groups and orders are
those of Java's ``ConnectorConfig``, ``SourceConnectorConfig`` and ``SinkConnectorConfig`` of 4.3.1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType, Importance, Width
from penstock.api.connector import Connector
from penstock.api.validators import Described, Validator, at_least
from penstock.core.config.catalog import CONNECTORS, Catalog, Kind, PluginClass
from penstock.core.model.settings import RestartPolicyName
from penstock.core.topic_creation.rules import Compile

Props = Mapping[str, str | None]

COMMON = "Common"
TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"
BY_DEFAULT_THE_WORKERS = "By default the worker's setting of this name."
CONNECTORS_OWN_COUNTS = "A connector's own setting of this name counts instead."


@dataclass(frozen=True, slots=True)
class ConverterDefault:
    """Converter that a connector inherits from its worker, and the version of whichever converter it uses."""

    plugin: PluginClass | None = None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingContext:
    """Facts about a connector's class and its worker on which some definitions depend."""

    version: str | None = None
    """Default of ``connector.plugin.version``."""
    converters: Mapping[str, ConverterDefault] = field(default_factory=dict)
    """Defaults by the name of the converter's setting."""
    catalog: Catalog | None = None
    """Source of recommended values; None for none."""
    compile: Compile = re.compile
    """Compiles regular expressions of Java."""
    restart_policy: RestartPolicyName = "never"
    """``penstock.restart.policy`` of connectors that have none of their own."""


@dataclass(frozen=True, slots=True)
class InContext:
    """Field of a ``RuntimeSetting`` that depends on the context."""

    of: Callable[[SettingContext], Any]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuntimeSetting:
    """One setting of connectors. Everything about it is said here, and nowhere else.

    A name with ``<...>`` describes a family of settings, whose names the user completes.
    """

    name: str
    type: ConfigType
    default: Any = NO_DEFAULT
    """Default, or an ``InContext`` that gives it; NO_DEFAULT for a required setting."""
    validator: Validator | InContext | None = None
    importance: Importance = Importance.MEDIUM
    documentation: str
    group: str | None = None
    order: int = -1
    """Position within the group."""
    width: Width = Width.NONE
    display_name: str | None = None
    recommender: InContext | None = None
    kinds: tuple[Kind, ...] = CONNECTORS
    """Kinds of connectors that have the setting."""
    defined: bool = True
    """Whether validation has a definition of it. False for families, and for settings with checks of their own: they
    are only described.
    """
    optional: bool = False
    """Whether it is defined only where it is given, so that without it the list of settings equals Java's."""
    family: str = ""
    """Prefix of optional settings that are defined together, as soon as one setting with this prefix is given."""
    worker_documentation: str = ""
    """Documentation of the worker's setting of the same name, type, default and validator; empty if there is none."""
    literal: str | None = None
    """End of the sentence that refuses a reference to a config provider, such as "; it is a number": the herder reads
    the setting without config providers. None for a setting that can be a reference.
    """
    refused_on: Callable[[str, Connector], str | None] = lambda name, connector: None
    """Returns why a connector cannot have the setting of this name, or None."""
    without_effect: Callable[[Props, SettingContext], str | None] = lambda props, context: None
    """Returns why the setting, which is given, has no effect beside the others, or None."""
    deprecated: str = ""
    """Reason why it is deprecated; empty if it is not."""
    secret: bool = False
    """Whether its value is masked, as values of type PASSWORD are; its name need not look like a secret's."""

    @property
    def is_secret(self) -> bool:
        return self.secret or self.type is ConfigType.PASSWORD

    def is_defined(self, given: Collection[str]) -> bool:
        """Whether validation of a configuration with these settings has a definition of this one."""
        together = self.family and any(name.startswith(self.family) for name in given)
        return self.defined and (not self.optional or self.name in given or bool(together))

    def define(self, config: ConfigDef, context: SettingContext) -> None:
        config.define(
            self.name,
            self.type,
            _value(self.default, context),
            _value(self.validator, context),
            self.importance,
            self.documentation,
            self.group,
            self.order,
            self.width,
            self.display_name,
            recommender=_value(self.recommender, context),
        )

    def define_for_worker(self, config: ConfigDef) -> None:
        """Define the worker's setting of the same name."""
        validator = _value(self.validator, SettingContext())
        config.define(self.name, self.type, self.default, validator, self.importance, self.worker_documentation)


def _value(given: Any, context: SettingContext) -> Any:
    return given.of(context) if isinstance(given, InContext) else given


def unless_absent(least: int) -> Validator:
    """``at_least`` for a setting without a default."""
    check = at_least(least)
    return Described(lambda name, value: None if value is None else check(name, value), str(check))
