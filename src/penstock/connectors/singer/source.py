"""The source connector of Singer: one task that runs one tap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.api.check import CheckStep, TargetCheck, program
from penstock.connectors.singer.messages import Messages, selected
from penstock.connectors.singer.runs import TapSource, TapTask
from penstock.connectors.singer.settings import (
    KIND,
    TAP,
    SingerSettings,
    check_settings,
    singer_problems,
    state_of,
)
from penstock.connectors.singer.tap import Tap, discover


class SingerSource(TapSource):
    """Sends the streams of a Singer tap to topics of their names."""

    java_name = "penstock.connectors.SingerSource"
    settings = SingerSettings.config_def()
    kind, partition_key = KIND, TAP

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return singer_problems(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        yield program("tap", SingerSettings.of(config).singer_tap)
        yield CheckStep("tap", "login", "not checked", "A check runs no taps; `penstock preview --poll` does")

    def task_class(self) -> type[SingerSourceTask]:
        return SingerSourceTask


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
