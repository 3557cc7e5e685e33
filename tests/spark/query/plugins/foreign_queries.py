"""Connectors of another repository whose tasks are queries of Spark: a sink of folders of JSON, a source of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from penstock.api.config import NO_DEFAULT, ConfigDef, ConfigType
from penstock.api.query import (
    BatchShape,
    BatchVersion,
    QueryContext,
    QuerySinkConnector,
    QuerySinkTask,
    QuerySourceConnector,
    QuerySourceTask,
    StreamShape,
)


class FolderTarget:
    """Writes each batch to a folder with its version, so that one that is written again replaces itself."""

    def __init__(self, path: str, owner: str) -> None:
        self._path, self._owner = path, owner

    def add(self, frame: Any, version: BatchVersion, confirm: Callable[[], None]) -> None:
        confirm()
        frame.write.mode("overwrite").json(f"{self._path}/{self._owner}-{version.epoch}-{version.number}")

    def later(self, version: BatchVersion) -> BatchVersion | None:
        return None


class FolderSinkTask(QuerySinkTask):
    @classmethod
    def shape(cls, config: Mapping[str, str]) -> BatchShape:
        return BatchShape(
            schema=config["columns"], sql="SELECT id, name, _partition AS part FROM records", max_records=60
        )

    @classmethod
    def target(cls, config: Mapping[str, str], context: QueryContext) -> FolderTarget:
        return FolderTarget(config["path"], context.group)


class KeepingTarget(FolderTarget):
    """Stores its offsets in a file beside the folder, and writes to another how its runs begin."""

    def committed_offsets(self) -> Mapping[tuple[str, int], int]:
        file = Path(f"{self._path}.stored")
        return {(topic, part): at for topic, part, at in json.loads(file.read_text())} if file.exists() else {}

    def begin(self, version: BatchVersion, offsets: Mapping[tuple[str, int], int]) -> None:
        with open(f"{self._path}.begun", "a") as file:
            file.write(json.dumps([version.number, [[*place, at] for place, at in offsets.items()]]) + "\n")


class KeepingSinkTask(FolderSinkTask):
    @classmethod
    def target(cls, config: Mapping[str, str], context: QueryContext) -> KeepingTarget:
        return KeepingTarget(config["path"], context.group)


class HoldingTarget(FolderTarget):
    """Writes no batch before there is a file beside the folder, and is interrupted by nothing until then."""

    def add(self, frame: Any, version: BatchVersion, confirm: Callable[[], None]) -> None:
        Path(f"{self._path}.held").touch()
        while not Path(f"{self._path}.released").exists():
            time.sleep(0.1)
        super().add(frame, version, confirm)


class HoldingSinkTask(FolderSinkTask):
    @classmethod
    def target(cls, config: Mapping[str, str], context: QueryContext) -> HoldingTarget:
        return HoldingTarget(config["path"], context.group)


SETTINGS = ConfigDef().define("path", ConfigType.STRING, NO_DEFAULT).define("columns", ConfigType.STRING, NO_DEFAULT)


class FolderSink(QuerySinkConnector):
    settings = SETTINGS

    def problems(self, config: Mapping[str, str]) -> list[tuple[str, str]]:
        return [] if (config.get("path") or "/").startswith("/") else [("path", "has to be absolute")]

    def task_class(self) -> type[FolderSinkTask]:
        return FolderSinkTask


class FolderSourceTask(QuerySourceTask):
    @classmethod
    def shape(cls, config: Mapping[str, str]) -> StreamShape:
        return StreamShape(
            topic=config["topic"],
            checkpoint=config["checkpoint"],
            name=config["path"],
            sql="SELECT id + 1 AS id, name FROM records",
            key=("name",),
        )

    @classmethod
    def stream(cls, config: Mapping[str, str], context: QueryContext) -> Any:
        return context.session.readStream.schema(context.columns(config["columns"])).json(config["path"])


class FolderSource(QuerySourceConnector):
    settings = SETTINGS

    def task_class(self) -> type[FolderSourceTask]:
        return FolderSourceTask
