"""A source and a sink that print a lot about each record, as Kafka's VerifiableSourceTask and VerifiableSinkTask do."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.api.connector import SinkConnector, SourceConnector
from penstock.api.record import SinkRecord, SourceRecord
from penstock.api.sink import SinkTask
from penstock.api.source import SourceTask

__all__ = ["PrintingSink", "PrintingSource"]

LINES = 20
"""Lines for each record."""


def tell(**values: Any) -> None:
    for line in range(LINES):
        print(json.dumps({**values, "line": line, "more": "x" * 100}), flush=True)


class PrintingSourceTask(SourceTask):
    def start(self, config: Mapping[str, str]) -> None:
        self._topic, self._task = config["topic"], config["task"]
        offset = self.context.offset_reader.offset({"task": self._task})
        self._next = offset["next"] if offset else 0
        self._due = time.monotonic()

    def poll(self) -> list[SourceRecord] | None:
        if time.monotonic() < self._due:
            return None
        self._due += 0.01
        record = SourceRecord(
            topic=self._topic,
            value=f"{self._task} {self._next}",
            source_partition={"task": self._task},
            source_offset={"next": self._next + 1},
        )
        tell(task=self._task, seqno=self._next)
        self._next += 1
        return [record]

    def commit_record(self, record: SourceRecord, metadata: Any) -> None:
        tell(committed=record.value)


class PrintingSource(SourceConnector):
    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SourceTask]:
        return PrintingSourceTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._config, "task": str(task)} for task in range(max_tasks)]


class PrintingSinkTask(SinkTask):
    """Appends to ``file`` what is flushed."""

    def start(self, config: Mapping[str, str]) -> None:
        self._file, self._waiting = Path(config["file"]), list[str]()

    def put(self, records: Sequence[SinkRecord]) -> None:
        for record in records:
            tell(record=record.value)
            self._waiting.append(str(record.value))

    def flush(self, offsets: Mapping[Any, Any]) -> None:
        with self._file.open("a") as file:
            file.write("".join(f"{each}\n" for each in self._waiting))
        for each in self._waiting:
            tell(flushed=each)
        self._waiting.clear()


class PrintingSink(SinkConnector):
    def start(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)

    def task_class(self) -> type[SinkTask]:
        return PrintingSinkTask

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        return [{**self._config, "file": f"{self._config['file']}-{task}"} for task in range(max_tasks)]
