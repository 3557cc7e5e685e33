"""A source that blocks in the method that its configuration names; a worker finds it by ``plugin.path``."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from penstock.api.config import ConfigDef, ConfigType, ConfigValue
from penstock.api.connector import SourceConnector
from penstock.api.source import SourceTask

__all__ = ["Stuck"]


def block(config: Mapping[str, str], place: str) -> None:
    if config.get("block") == place:
        threading.Event().wait()


class StuckTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        block(config, "task")

    def poll(self) -> None:
        return None

    def idle(self) -> float:
        return 0.5


class Stuck(SourceConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define("block", ConfigType.STRING, "")

    def validate(self, config: Mapping[str, str]) -> list[ConfigValue]:
        block(config, "validate")
        return super().validate(config)

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        block(config, "start")

    def task_class(self) -> type[SourceTask]:
        return StuckTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        block(self._config, "task_configs")
        return [self._config]
