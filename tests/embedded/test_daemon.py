from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.embedded import EmbeddedError
from penstock.embedded.daemon import RunningBroker, down, status
from penstock.embedded.ports import answers
from support.waiting import until


def penstock(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = "from penstock.cli import main; main()"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)


def test_where_nothing_runs_there_is_nothing_to_stop(tmp_path: Path) -> None:
    assert status(tmp_path) is None
    (tmp_path / "broker.json").write_text(json.dumps({"pid": 1, "port": 9092}))
    # A file from a broker that was killed: process 1 must not pay for it.
    assert status(tmp_path) is None
    assert down(tmp_path) is None
    assert not (tmp_path / "broker.json").exists()


@pytest.mark.integration
def test_a_broker_stays_until_it_is_stopped(tmp_path: Path) -> None:
    where = ("--data", str(tmp_path))
    started = penstock("kafka", "up", "--port", "0", *where)
    try:
        assert (started.returncode, started.stderr) == (0, "")
        running = status(tmp_path)
        assert running
        assert started.stdout == (
            f"Kafka runs on {running.bootstrap} (process {running.pid}, data and log in {tmp_path}).\n"
        )
        until(lambda: answers(running.port), "the broker answers")
        assert penstock("kafka", "up", "--port", str(running.port), *where).stdout == started.stdout
        other = penstock("kafka", "up", "--port", "1", *where)
        assert (other.returncode, other.stdout) == (1, "")
        assert other.stderr == (
            f"penstock: A broker already runs from {tmp_path} on port {running.port}: "
            "stop it first with `penstock kafka down`, or choose another folder with --data.\n"
        )
        assert penstock("kafka", "status", *where).stdout == started.stdout
    finally:
        stopped = penstock("kafka", "down", *where)
    assert (stopped.returncode, stopped.stdout) == (0, f"Stopped the broker on {running.bootstrap}.\n")
    assert not answers(running.port)
    gone = penstock("kafka", "status", *where)
    assert (gone.returncode, gone.stdout) == (3, f"No broker runs from {tmp_path}.\n")
    assert penstock("kafka", "down", *where).stdout == f"No broker runs from {tmp_path}.\n"


@pytest.mark.integration
def test_a_broker_of_another_owner_is_not_touched(tmp_path: Path) -> None:
    from penstock.embedded import Broker

    with Broker(tmp_path) as broker:
        for act in (status, down):
            with pytest.raises(EmbeddedError, match="A broker that was not started by `penstock kafka up` uses"):
                act(tmp_path)
        assert broker.running


def test_a_running_broker_knows_its_address() -> None:
    assert RunningBroker(1, 9092).bootstrap == "127.0.0.1:9092"
