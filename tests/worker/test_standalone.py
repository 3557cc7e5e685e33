"""A worker that is alone, started with the files of its connectors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from support.worker_process import PLAIN

pytestmark = pytest.mark.integration

GOOD = {"name": "good", "connector.class": "FileStreamSource", "file": "/tmp/in", "topic": "x", **PLAIN}


def standalone(bootstrap: str, folder: Path, offsets: Path, *connectors: Path) -> subprocess.CompletedProcess[str]:
    """Run a worker that is expected to end by itself."""
    converter = PLAIN["key.converter"]
    properties = folder / "w.properties"
    properties.write_text(
        f"bootstrap.servers={bootstrap}\nkey.converter={converter}\nvalue.converter={converter}\n"
        f"listeners=http://127.0.0.1:0\noffset.storage.file.filename={offsets}\n"
    )
    command = [sys.executable, "-m", "penstock.cli", "worker", "standalone", str(properties), *map(str, connectors)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_a_file_of_offsets_that_cannot_be_read_ends_the_worker(bootstrap: str, tmp_path: Path) -> None:
    ended = standalone(bootstrap, tmp_path, tmp_path)
    assert ended.returncode == 3
    assert f"The offsets in `{tmp_path}` (offset.storage.file.filename) can't be read" in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({**GOOD, "connector.class": "Nobody's"}, "Connector good cannot be created: Failed to find any class"),
        ({**GOOD, "topic": ""}, "Invalid value  for configuration topic"),
        ({}, "c.json' is missing the mandatory 'name' configuration"),
    ],
    ids=["class", "topic", "empty"],
)
def test_a_connector_that_cannot_be_created_ends_the_worker(
    bootstrap: str, tmp_path: Path, config: dict[str, str], sentence: str
) -> None:
    connector = tmp_path / "c.json"
    connector.write_text(json.dumps(config))
    ended = standalone(bootstrap, tmp_path, tmp_path / "offsets", connector)
    assert ended.returncode == 3
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
