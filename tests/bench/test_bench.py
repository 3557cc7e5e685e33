"""The benchmark as users run it, with a few records."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.__main__ import app
from bench.profiling import PATHS

TESTS = Path(__file__).parents[1]
DOCUMENT = TESTS.parent / "docs" / "performance.md"


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, (str(TESTS), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "bench", *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": path}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=env)


@pytest.mark.integration
@pytest.mark.slow
def test_cases_are_measured_and_written_down(bootstrap: str, tmp_path: Path) -> None:
    page = tmp_path / "performance.md"
    page.write_text(DOCUMENT.read_text())
    options = ("--records", 60_000, "--rounds", 1, "--bootstrap", bootstrap, "--write", tmp_path)
    measured = run(*options, "source-json", "profile")
    assert measured.returncode == 0, measured.stdout + measured.stderr
    kept = json.loads((tmp_path / "performance.json").read_text())
    assert [(row["case"], len(row["ours"]), row["reference"]) for row in kept["figures"]] == [("source-json", 1, [])]
    shares = {path["case"]: path["shares"] for path in kept["profile"]}
    assert list(shares) == list(PATHS)
    assert {"produce", "convert"} <= shares["source-json"].keys()  # transforms may take less than a millisecond
    assert sum(shares["sink-json"].values()) == pytest.approx(1.0)
    written = page.read_text()
    assert "| source-json | records/s |  | " in written
    assert run("--write", tmp_path, "--again").returncode == 0
    assert page.read_text() == written


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["sink-jason"], "There is no case sink-jason."),
        (["--java-url", "http://127.0.0.1:1"], "--java-url needs --bootstrap"),
    ],
)
def test_what_can_not_be_measured_is_refused(arguments: list[str], problem: str) -> None:
    refused = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
    assert refused.exit_code == 2
    assert problem in refused.output
