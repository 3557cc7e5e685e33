"""A source whose ``poll`` does not return until there is a file; a worker finds it by ``plugin.path``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from penstock.api.config import ConfigDef, ConfigType
from penstock.api.connector import SourceConnector
from penstock.api.source import SourceTask

__all__ = ["Stalling"]


class StallingTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self._folder, self._once = Path(config["folder"]), config.get("once") == "true"

    def poll(self) -> None:
        """Stalls; with ``once`` only the very first run does, and ignores ``stop``."""
        stalled = self._folder / "stalled"
        if self._once and stalled.exists():
            (self._folder / "goes-on").touch()
            return
        stalled.touch()
        while not (self._folder / "go-on").exists():
            time.sleep(0.1)

    def idle(self) -> float:
        return 60.0


class Stalling(SourceConnector):
    @classmethod
    def config_def(cls) -> ConfigDef:
        return ConfigDef().define("folder", ConfigType.STRING).define("once", ConfigType.BOOLEAN, False)

    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return StallingTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [self._config]
