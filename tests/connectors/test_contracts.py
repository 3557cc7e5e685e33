"""The file connectors keep the contract that every connector can be tested for."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api import STRING, SinkRecord, struct
from penstock.api.testing import sink_record
from penstock.api.testing.contract import SinkContract, SourceContract
from penstock.connectors.file_sink import FileStreamSinkTask
from penstock.connectors.file_source import FileStreamSourceTask


class TestFileSource(SourceContract):
    quiet_seconds = 0.05  # a poll returns all lines of the file

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "in"
        self.file.write_text("".join(f"{number}é\n" for number in range(15)))

    def task_class(self) -> type[FileStreamSourceTask]:
        return FileStreamSourceTask

    def config(self) -> dict[str, str]:
        return {"file": str(self.file), "topic": "t", "batch.size": "4"}


class TestFileSink(SinkContract):
    @pytest.fixture(autouse=True)
    def _file(self, tmp_path: Path) -> None:
        self.file = tmp_path / "out"

    def task_class(self) -> type[FileStreamSinkTask]:
        return FileStreamSinkTask

    def config(self) -> dict[str, str]:
        return {"file": str(self.file)}

    def records(self) -> list[SinkRecord]:
        return [sink_record(f"line {number}", partition=number % 2) for number in range(8)]

    def changed_records(self) -> list[SinkRecord]:
        schema = struct(("name", STRING))
        return [sink_record({"name": "Ada"}, value_schema=schema), sink_record("plain", value_schema=STRING)]

    def expected(self, record: SinkRecord) -> str:
        return "Struct{name=Ada}" if isinstance(record.value, dict) else str(record.value)

    def written(self) -> list[str]:
        return self.file.read_text().splitlines()
