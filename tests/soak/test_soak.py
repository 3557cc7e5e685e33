"""One minute of the soak, and a few kills: the long runs are ``make soak`` and ``make kill-test``."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak import churning, killing, sinking

pytestmark = [pytest.mark.integration, pytest.mark.slow]


def test_connectors_are_as_asked_for_though_workers_are_killed(bootstrap: str, tmp_path: Path) -> None:
    outcome = churning.run(churning.Soak(seconds=60), bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["workers killed"] == 3


@pytest.mark.parametrize("exactly_once", [True, False], ids=["exactly once", "at least once"])
def test_numbers_arrive_though_workers_sparks_and_tasks_are_killed(
    bootstrap: str, tmp_path: Path, exactly_once: bool
) -> None:
    test = killing.KillTest(kills=5, exactly_once=exactly_once)
    outcome = killing.run(test, bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["numbers lost"] == 0


def test_numbers_reach_a_file_and_a_table_though_workers_sparks_and_tasks_are_killed(
    bootstrap: str, tmp_path: Path
) -> None:
    test = sinking.SinkKillTest(kills=3, records=50_000, targets=(sinking.FILE, sinking.TABLE))
    outcome = sinking.run(test, bootstrap, tmp_path, print)
    assert outcome.violations == []
    assert outcome.figures["missing in the rows"] == 0
