"""Parts of a worker are killed while flights are on their way, one after the other: none is lost."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from penstock.demo import processes, story
from penstock.demo.kills import Kill
from penstock.demo.stage import Options
from penstock.embedded.ports import free_port

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_nothing_is_lost_when_tasks_then_spark_then_the_worker_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The demo's own is wanted by its tests at the same time.
    monkeypatch.setattr(processes, "PORT", free_port())
    shown = io.StringIO()
    kills = [Kill.TASK, Kill.DRIVER, Kill.WORKER]
    proof = story.run(Options(20_000, tmp_path / "demo", kills=kills), Console(file=shown, width=200), steps=())
    # A transaction that was open when its task was killed is not seen, and its records are sent again.
    assert proof.topic.exactly_once
    # A sink writes again what it had written and not committed, and that is counted.
    assert (proof.file.missing, proof.file.foreign) == (0, 0)
    assert proof.file.count == 20_000 + proof.file.duplicates
    shows = shown.getvalue()
    tasks, driver, worker = shows.split("again after")[:3]
    assert tasks.count("Killed  the task of") == 2
    assert tasks.count("The process of the task ended without a report") == 2
    assert "Killed  Spark's driver" in driver
    assert driver.count("The task ended with Spark") == 2
    assert "Killed  the worker" in worker
    assert shows.count("the worker restarted what was lost") == 2
