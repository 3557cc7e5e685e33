"""One task that runs one tap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import ExactlyOnceSupport, SourceConnector
from penstock.connectors.singer.settings import SingerSettings, check_partition, singer_problems, state_of
from penstock.connectors.singer.task import SingerSourceTask


class SingerSource(SourceConnector):
    """Sends the streams of a Singer tap to topics of their names."""

    java_name = "penstock.connectors.SingerSource"

    @classmethod
    def version(cls) -> str:
        return "0.1.0"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return SingerSettings.config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.config_def().validate(config)
        for name, problem in singer_problems(config):
            next(value for value in values if value.name == name).errors.append(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SingerSourceTask]:
        return SingerSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """A tap begins again at its last state, which may be some records earlier."""
        return ExactlyOnceSupport.UNSUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: list[tuple[dict[str, Any] | None, dict[str, Any] | None]]
    ) -> bool:
        for partition, offset in offsets:
            check_partition(partition)
            state_of(offset)
        return True
