"""The connector of dlt: one task that runs one source of dlt, in a process of its own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.api.check import CheckStep, TargetCheck, program
from penstock.connectors.dlt.columns import stream_of
from penstock.connectors.dlt.settings import KIND, SOURCE, DltSettings, check_settings, dlt_problems
from penstock.connectors.singer.messages import Messages
from penstock.connectors.singer.runs import TapSource, TapTask
from penstock.connectors.singer.settings import state_of
from penstock.connectors.singer.tap import Tap


class DltSource(TapSource):
    """Sends the resources of a source of dlt to topics of their tables' names."""

    java_name = "penstock.connectors.DltSource"
    settings = DltSettings.config_def()
    kind, partition_key = KIND, SOURCE

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return dlt_problems(config)

    def check_target(self, config: Mapping[str, str]) -> TargetCheck:
        settings = DltSettings.of(config)
        if settings.dlt_python:
            yield program("source", settings.dlt_python)
        if os.path.isabs(path := settings.dlt_source.rpartition(":")[0]):
            found = os.path.exists(path)
            text = f"{path} exists" if found else f"{path} does not exist on this worker"
            yield CheckStep("source", "file", "ok" if found else "failed", text)
        yield CheckStep("source", "login", "not checked", "A check runs no sources; `penstock preview --poll` does")

    def task_class(self) -> type[DltSourceTask]:
        return DltSourceTask


_READER = Path(__file__).with_name("reader.py")


class DltProcess(Tap):
    """A run of a source."""

    kind = "source of dlt"

    def __init__(self, python: str, files: Mapping[str, Any]) -> None:
        # -I: neither PYTHONPATH, which Spark sets, nor the user's packages
        super().__init__(python, files, program=("-I", str(_READER)))


class DltSourceTask(TapTask):
    java_name = "penstock.connectors.DltSourceTask"

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = settings = DltSettings.of(config)
        check_settings(settings)
        self._given = {
            "source": settings.dlt_source,
            "arguments": json.loads(settings.dlt_arguments.value),
            "config": json.loads(settings.dlt_config.value),
            "resources": settings.dlt_resources,
        }
        state = state_of(self.context.offset_reader.offset(settings.partition), KIND)
        self.run(Messages(state, stream_of, DltProcess.kind), settings)

    def begin(self, state: Any) -> Tap:
        files = {"config": self._given}
        if state is not None:
            files["state"] = state
        return DltProcess(self._settings.python, files)
