"""A worker that is alone, started with the files of its connectors."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workers import PLAIN

pytestmark = pytest.mark.integration

GOOD = {"name": "good", "connector.class": "FileStreamSource", "file": "/tmp/in", "topic": "x", **PLAIN}


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
    properties, connector = tmp_path / "w.properties", tmp_path / "c.json"
    converter = PLAIN["key.converter"]
    properties.write_text(
        f"bootstrap.servers={bootstrap}\nkey.converter={converter}\nvalue.converter={converter}\n"
        f"listeners=http://127.0.0.1:0\noffset.storage.file.filename={tmp_path / 'offsets'}\n"
    )
    connector.write_text(json.dumps(config))
    command = [sys.executable, "-m", "penstock.cli", "worker", "standalone", str(properties), str(connector)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 3
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
