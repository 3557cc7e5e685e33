"""The sink of docs/sinks.md: it is 30 lines, it is found as a plugin, and it works."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.api.connector import SinkConnector
from penstock.plugins.path import find_classes
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually, new_name

PAGE = Path(__file__).parents[2] / "docs" / "sinks.md"


@pytest.fixture
def source() -> str:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]


@pytest.fixture
def module(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    file = tmp_path / f"{new_name('sink').replace('-', '_')}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def test_it_has_30_lines(source: str) -> None:
    assert len([line for line in source.splitlines() if line.strip()]) <= 30


def test_it_is_found_in_a_folder_of_plugins(source: str, tmp_path: Path) -> None:
    name = new_name("json").replace("-", "_")
    (tmp_path / f"{name}.py").write_text(source)
    assert f"{name}.JsonFiles" in [each.name for each in find_classes([str(tmp_path)], (SinkConnector,))]


@pytest.mark.integration
def test_it_writes_records_to_files(module: Any, kafka: Kafka, bootstrap: str, tmp_path: Path) -> None:
    topic, folder = kafka.create_topic(partitions=2), tmp_path / "out"
    folder.mkdir()
    connector = module.JsonFiles()
    connector.start({"folder": str(folder)})
    (config,) = connector.task_configs(1)
    kafka.produce(topic, ['{"a":1}', '{"a":2}', '{"a":3}'])
    own = {"topics": topic, "value.converter": JSON, "value.converter.schemas.enable": "false"}
    with TaskRun(connector.task_class(), bootstrap, {**config, **own}):
        eventually(lambda: sum(len(file.read_text().splitlines()) for file in folder.iterdir()) == 3)
    written = [json.loads(line)[1]["a"] for file in folder.iterdir() for line in file.read_text().splitlines()]
    assert sorted(written) == [1, 2, 3]
