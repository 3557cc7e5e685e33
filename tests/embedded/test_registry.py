"""``penstock registry``: a registry that stays until it is stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.commands.registry import app
from penstock.embedded import EmbeddedError
from penstock.embedded.ports import listens
from penstock.embedded.registry import down, installed, status
from support.machine import missing


def test_a_process_with_the_number_of_one_that_is_gone_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text(json.dumps({"pid": os.getpid(), "port": 1}))
    assert status(tmp_path) is None
    assert down(tmp_path) is None
    assert not (tmp_path / "registry.json").exists()


@pytest.mark.integration
def test_a_registry_stays_until_it_is_stopped(tmp_path: Path) -> None:
    try:
        installed()
    except EmbeddedError as error:
        missing(f"A schema registry can't be had here: {error}")
    run = CliRunner().invoke
    where = ["--data", str(tmp_path)]
    started = run(app, ["up", "--port", "0", "--memory", *where])
    try:
        assert started.exit_code == 0, started.output
        running = status(tmp_path)
        assert running
        said = f"The registry runs on {running.url} (process {running.pid}, data and log in {tmp_path}).\n"
        assert started.output == said
        assert run(app, ["status", *where]).output == said
        assert run(app, ["up", "--port", str(running.port), *where]).output == said
        other = run(app, ["up", "--port", "1", *where])
        assert f"A registry already runs from {tmp_path} on port {running.port}" in str(other.exception)
    finally:
        stopped = run(app, ["down", *where])
    assert stopped.output == f"Stopped the registry on {running.url}.\n"
    assert not listens(running.port)
    gone = run(app, ["status", *where])
    assert (gone.exit_code, gone.output) == (3, f"No registry runs from {tmp_path}.\n")
