"""The connector of dlt: one task that runs one source of dlt, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from penstock.api.config import ConfigDef, ConfigValue
from penstock.api.connector import ExactlyOnceSupport, SourceConnector
from penstock.connectors.dlt.columns import stream_of
from penstock.connectors.dlt.settings import KIND, DltSettings, check_partition, check_settings, dlt_problems
from penstock.connectors.singer.messages import Messages
from penstock.connectors.singer.runs import TapTask
from penstock.connectors.singer.settings import state_of
from penstock.connectors.singer.tap import Tap


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
