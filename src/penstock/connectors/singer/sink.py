"""Tasks that run a target each."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import SinkConnector
from penstock.connectors.singer.sink_settings import SingerSinkSettings, sink_problems
from penstock.connectors.singer.sink_task import SingerSinkTask


class SingerSink(SinkConnector):
    """Sends records of topics to streams of a Singer target."""

    java_name = "penstock.connectors.SingerSink"

    @classmethod
    def version(cls) -> str:
        return "0.1.0"

    @classmethod
    def config_def(cls) -> ConfigDef:
        return SingerSinkSettings.config_def()

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        values = self.config_def().validate(config)
        for name, problem in sink_problems(config):
            next(value for value in values if value.name == name).errors.append(problem)
        return values

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SingerSinkTask]:
        return SingerSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config] * max_tasks

    def alter_offsets(self, config: Mapping[str, str], offsets: dict[tuple[str, int], int | None]) -> bool:
        """The group's offsets are all there is."""
        return True
