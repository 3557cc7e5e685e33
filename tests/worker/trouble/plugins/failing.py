"""A source whose task fails as often as its configuration says, then runs; a worker finds it by ``plugin.path``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.connector import SourceConnector
from penstock.api.source import SourceTask

__all__ = ["Failing"]


def count(config: Mapping[str, str], place: str) -> int:
    """Count how often this place has been reached, including this time."""
    file = Path(config["folder"]) / f"{config['name']}-{place}"
    reached = file.stat().st_size + 1 if file.exists() else 1
    file.write_bytes(b"x" * reached)
    return reached


class FailingTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self._config = config

    def poll(self) -> None:
        if count(self._config, "task") <= int(self._config["failures"]):
            raise RuntimeError("not yet")

    def idle(self) -> float:
        return 60.0


class Failing(SourceConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        config = ConfigDef().define("folder", ConfigType.STRING)
        for name in ("failures", "connector.failures"):
            config.define(name, ConfigType.INT, 0)
        return config

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        if count(config, "connector") <= int(config.get("connector.failures", "0")):
            raise RuntimeError("the connector not yet")

    def task_class(self) -> type[SourceTask]:
        return FailingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]
