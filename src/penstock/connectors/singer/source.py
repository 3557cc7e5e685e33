"""The source connector of Singer: one task that runs one tap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import ExactlyOnceSupport, SourceConnector
from penstock.connectors.singer.messages import Messages, selected
from penstock.connectors.singer.runs import TapTask
from penstock.connectors.singer.settings import (
    SingerSettings,
    check_partition,
    check_settings,
    singer_problems,
    state_of,
)
from penstock.connectors.singer.tap import Tap, discover


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


class SingerSourceTask(TapTask):
    java_name = "penstock.connectors.SingerSourceTask"

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = SingerSettings.of(config)
        check_settings(settings)
        self._given = json.loads(settings.singer_config.value)
        self._catalog: dict[str, Any] | None = None
        self.run(Messages(state_of(self.context.offset_reader.offset(settings.partition))), settings)

    def begin(self, state: Any) -> Tap:
        settings = self._settings
        if self._catalog is None:
            given = settings.singer_catalog
            found = discover(settings.singer_tap, self._given) if given is None else json.loads(given)
            self._catalog = selected(found, settings.singer_streams, every=given is None)
        files = {"config": self._given, "catalog": self._catalog}
        if state is not None:
            files["state"] = state
        return Tap(settings.singer_tap, files)
