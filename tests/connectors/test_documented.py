"""The sink of docs/sinks.md: it is 30 lines, it is found as a plugin, and it works. The source of
docs/how-to/split-work.md: its tasks have each a part, and another number of tasks goes on with the parts.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.api.connector import SinkConnector
from penstock.api.testing import MemoryOffsets
from penstock.plugins.path import find_classes
from support.kafka.client import Kafka
from support.tasks.runs import JSON, TaskRun, eventually, new_name

DOCS = Path(__file__).parents[2] / "docs"


def example(page: str) -> str:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)[0]


@pytest.fixture
def source() -> str:
    return example("sinks.md")


@pytest.fixture
def module(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    return loaded(source, tmp_path, monkeypatch)


def loaded(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    file = tmp_path / f"{new_name('example').replace('-', '_')}.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, file.stem, module)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def test_documented_sink_has_30_lines(source: str) -> None:
    assert len([line for line in source.splitlines() if line.strip()]) <= 30


def test_documented_sink_is_found_in_a_plugin_folder(source: str, tmp_path: Path) -> None:
    name = new_name("json").replace("-", "_")
    (tmp_path / f"{name}.py").write_text(source)
    assert f"{name}.JsonFiles" in [each.name for each in find_classes([str(tmp_path)], (SinkConnector,))]


@pytest.mark.integration
def test_documented_sink_writes_records_to_files(module: Any, kafka: Kafka, bootstrap: str, tmp_path: Path) -> None:
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


def test_another_number_of_tasks_goes_on_with_the_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = loaded(example("how-to/split-work.md"), tmp_path, monkeypatch)
    feeds = [tmp_path / name for name in "abc"]
    connector, known = module.Feeds(), MemoryOffsets()
    connector.start({"feeds": ",".join(feed.as_uri() for feed in feeds), "topic": "t"})

    def polled(most: int) -> list[list[str]]:
        found = []
        for config in connector.task_configs(most):
            task = module.FeedsTask()
            task.context = SimpleNamespace(offset_reader=known)
            task.start(config)
            records = task.poll()
            known.pairs += [(record.source_partition, record.source_offset) for record in records]
            found.append([record.value for record in records])
        return found

    for feed in feeds:
        feed.write_text(f"{feed.name}1\n{feed.name}2\n")
    assert polled(2) == [["a1", "a2", "c1", "c2"], ["b1", "b2"]]
    for feed in feeds:
        feed.write_text(f"{feed.read_text()}{feed.name}3\n")
    assert polled(7) == [["a3"], ["b3"], ["c3"]]
    assert polled(1) == [[]]
