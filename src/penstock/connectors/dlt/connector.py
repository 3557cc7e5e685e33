"""One task that runs one source of dlt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import ExactlyOnceSupport, SourceConnector
from penstock.connectors.dlt.settings import KIND, DltSettings, check_partition, dlt_problems
from penstock.connectors.dlt.task import DltSourceTask
from penstock.connectors.singer.settings import state_of


class DltSource(SourceConnector):
    """Sends the resources of a source of dlt to topics of their tables' names."""

    java_name = "penstock.connectors.DltSource"

    @classmethod
    def version(cls) -> str:
        return "0.1.0"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return DltSettings.config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.config_def().validate(config)
        for name, problem in dlt_problems(config):
            next(value for value in values if value.name == name).errors.append(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[DltSourceTask]:
        return DltSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """A source begins again at its last state, which may be some records earlier."""
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            check_partition(partition)
            state_of(offset, KIND)
        return True
