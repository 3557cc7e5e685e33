"""Some records of a source whose task is a query, which leave everything as it was."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.hosts.python.wire import read
from penstock.spark.hosted import HostedTasks
from support.spark.host import Hosted
from support.spark.queries import COLUMNS, SECONDS, make, sample_spec

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def sampled(hosted: HostedTasks, config: dict[str, str], limit: int = 3, seconds: float = 60.0) -> Batch | None:
    spec = sample_spec("penstock.connectors.spark:SparkSourceTask", config)
    answer = hosted.sample(spec, limit, seconds).result(SECONDS)
    assert answer.error is None
    found = None if answer.records is None else read(base64.b64decode(answer.records))
    assert found is None or isinstance(found, Batch)
    return found


def test_files_are_read_and_neither_deleted_nor_noted(hosted: Hosted, tmp_path: Path) -> None:
    folder, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    folder.mkdir()
    for file, first in (("1.json", 0), ("2.json", 1000)):
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in make(first, first + 1000)))
    config = {
        "topic": "t",
        "format": "json",
        "path": str(folder),
        "schema": COLUMNS,
        "sql": "SELECT id + 1 AS id, name FROM records WHERE id % 1000 < 2",
        "key.columns": "name",
        "checkpoint.location": str(checkpoint),
        "option.cleanSource": "delete",
        "option.maxFilesPerTrigger": "1",
    }
    found = sampled(hosted, config)
    assert found is not None
    assert ([row["id"] for row in found.values], found.keys) == ([1, 2, 1001], ["n0", "n1", "n1"])
    assert isinstance(found.origin, SourceOrigin)
    assert [offset["batch"] for offset in found.origin.offsets] == [-1, -1, 0]
    assert sorted(file.name for file in folder.iterdir()) == ["1.json", "2.json"]
    assert not checkpoint.exists()
    for file in folder.iterdir():
        file.unlink()
    assert sampled(hosted, config, seconds=1.0) is None


def test_preview_reports_why_spark_cannot_read(hosted: Hosted, tmp_path: Path) -> None:
    config = {"topic": "t", "format": "rate", "checkpoint.location": str(tmp_path), "sql": "SELECT id FROM records"}
    spec = sample_spec("penstock.connectors.spark:SparkSourceTask", config)
    error = hosted.sample(spec, 3, 60.0).result(SECONDS).error or ""
    assert "UNRESOLVED_COLUMN" in error
    assert "`id`" in error
