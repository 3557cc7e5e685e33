"""Parts of a worker are killed while flights are on their way, one after the other: none is lost."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from penstock.demo import story
from penstock.demo.kills import Kill
from penstock.demo.stage import Options

pytestmark = [pytest.mark.integration, pytest.mark.slow]


@pytest.mark.parametrize("what", Kill)
def test_nothing_is_lost(what: Kill, tmp_path: Path) -> None:
    shown = io.StringIO()
    proof = story.run(Options(20_000, tmp_path / "demo", kills=[what]), Console(file=shown, width=200))
    assert proof.topic.exactly_once
    assert (proof.file.missing, proof.file.foreign) == (0, 0)
    assert f"{proof.file.duplicates:,}" in shown.getvalue()
    assert "Killed" in shown.getvalue()
    if what is not Kill.WORKER:
        assert shown.getvalue().count("FAILED") == 2
        assert "killed" in shown.getvalue().split("FAILED")[1].splitlines()[0]


def test_a_worker_survives_one_thing_after_the_other(tmp_path: Path) -> None:
    shown = io.StringIO()
    kills = [Kill.TASK, Kill.DRIVER, Kill.WORKER]
    proof = story.run(Options(20_000, tmp_path / "demo", kills=kills), Console(file=shown, width=200))
    assert proof.topic.exactly_once
    assert (proof.file.missing, proof.file.foreign) == (0, 0)
    assert shown.getvalue().count("Running again") == 3
