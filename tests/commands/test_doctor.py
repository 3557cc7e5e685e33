"""``penstock doctor`` on files, and on a cluster that is asked by REST."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands.conftest import Run

WORKER = """\
bootstrap.servers=localhost:9092
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
offset.storage.file.filename=/tmp/offsets
metrics.num.samples=3
"""
SAMPLES = "`metrics.num.samples=3` has no effect: rates are taken over half a minute"
LINES = {"connector.class": "FileStreamSource", "topic": "t", "file": "/tmp/lines"}


@pytest.fixture
def properties(tmp_path: Path) -> Path:
    file = tmp_path / "worker.properties"
    file.write_text(WORKER)
    return file


def test_supported_configuration_has_no_findings(penstock: Run, properties: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.json").write_text(json.dumps({"name": "lines", **LINES}))
    said = penstock("doctor", str(properties), str(tmp_path / "lines.json"), "--standalone")
    assert said.exit_code == 0, said.stderr
    worker, lines, summary = said.stdout.strip().split("\n\n")
    assert worker.splitlines() == [
        f"Worker, {properties}: works differently",
        f"  works differently  metrics.num.samples: {SAMPLES}",
        "  6 more work as in Java",
    ]
    assert lines.splitlines() == ["Connector lines: works", "  1 work as in Java"]
    assert summary == "All of it runs here."


def test_unsupported_configuration_is_reported(penstock: Run, properties: Path, tmp_path: Path) -> None:
    folder = tmp_path / "connectors"
    folder.mkdir()
    (folder / "s3.json").write_text(json.dumps({"name": "s3", "connector.class": "com.x.S3Sink", "topics": "a"}))
    said = penstock("doctor", str(properties), str(folder), "--standalone", "--output", "json")
    assert said.exit_code == 1, said.stderr
    (found,) = [each for each in json.loads(said.stdout) if each["title"] == "Connector s3"]
    assert (found["verdict"], found["findings"][0]["subject"]) == ("needs a jar here", "connector.class")


def test_a_running_cluster(penstock: Run, url: str, properties: Path) -> None:
    said = penstock("doctor", str(properties), "--standalone", "--url", url, "--output", "json")
    assert said.exit_code == 0, said.stderr
    (plugins,) = [each for each in json.loads(said.stdout) if each["title"] == "Plugins of the cluster"]
    assert plugins["verdict"] == "works"
    assert len(plugins["findings"]) > 30


def test_a_file_that_is_not_there(penstock: Run, tmp_path: Path) -> None:
    said = penstock("doctor", str(tmp_path / "none"))
    assert (said.exit_code, "cannot be read: No such file" in said.stderr) == (1, True)
