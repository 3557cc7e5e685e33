"""A base of connectors whose tasks are configured as the connector is. Provisional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import Connector


class SimpleConnector(Connector):
    """First base of a connector with one task, which gets the connector's configuration.

    The second base is SourceConnector or SinkConnector.
    """

    settings: ClassVar[ConfigDef]
    """The connector's own settings: what ``config_def`` returns."""

    @classmethod
    def config_def(cls) -> ConfigDef:
        """Return ``settings``."""
        return cls.settings

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        """Find what is wrong beyond single settings; return pairs of the setting at fault and a sentence.

        Called by ``validate``, also with settings that are wrong each on its own.
        """
        return []

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        """Check each setting on its own, and add what ``problems`` finds."""
        values = {value.name: value for value in super().validate(config)}
        for name, problem in self.problems(config):
            values.setdefault(name, ConfigValue(name, config.get(name))).add_error(problem)
        return list(values.values())

    def start(self, config: Mapping[str, str]) -> None:
        """Keep the configuration for the task."""
        self._config = dict(config)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the configuration of the one task: the connector's."""
        return [self._config]
