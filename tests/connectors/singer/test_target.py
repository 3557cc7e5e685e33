"""A run of a target, whatever happens to the process that started it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from penstock.connectors.singer.target import TargetProcess
from support.waiting import until

PATIENCE = 900.0
RECORD = b'{"type":"RECORD","stream":"t","record":{}}\n'


def given(target: Path, **more: object) -> dict[str, object]:
    return {"config": {"file": str(target.parent / "out"), **more}}


def test_states_are_told_in_their_order(target: Path) -> None:
    run = TargetProcess(str(target), given(target))
    try:
        run.write(RECORD)
        assert run.write_state({"t": {"0": 1}}) == 1
        assert run.tells(1, PATIENCE)
        assert not run.tells(2, 0.0)
        run.end()
        assert run.ends(PATIENCE)
        assert (run.told, run.failure()) == (1, None)
    finally:
        run.kill()


def test_other_lines_are_no_states(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    target = tmp_path / "target"
    target.write_text('#!/bin/sh\necho hello\necho \'{"number": 7}\'\necho \'{"number": "1"}\'\necho\ncat >/dev/null\n')
    target.chmod(0o755)
    run = TargetProcess(str(target), {"config": {}})
    try:
        run.write_state({})
        run.end()
        assert run.ends(PATIENCE)
        assert run.told == 0
    finally:
        run.kill()
    assert [each.message for each in caplog.records] == [
        "The target writes lines that are no states it was given; they are ignored"
    ]


def test_target_ends_with_a_killed_worker(target: Path, tmp_path: Path) -> None:
    """Though it does not end at the end of its input."""
    log = tmp_path / "log"
    program = (
        "import json, sys, time\n"
        "from penstock.connectors.singer.target import TargetProcess\n"
        "run = TargetProcess(sys.argv[1], json.loads(sys.argv[2]))\n"
        f"run.write({RECORD!r})\n"
        "time.sleep(600)\n"
    )
    files = json.dumps(given(target, log=str(log), stays=600))
    with subprocess.Popen([sys.executable, "-c", program, str(target), files]) as owner:
        until(lambda: log.exists() and log.read_text().strip(), "it runs", PATIENCE)
        process = psutil.Process(int(log.read_text().split()[0]))
        assert process.is_running()
        owner.kill()
    until(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE, "it is gone", PATIENCE)
