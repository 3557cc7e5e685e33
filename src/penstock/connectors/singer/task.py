"""The task that runs a tap."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from penstock.connectors.singer.messages import Messages, selected
from penstock.connectors.singer.settings import SingerSettings, check_settings, state_of
from penstock.connectors.singer.tap import Tap, discover
from penstock.connectors.singer.tap_task import TapTask


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
