"""A bulk pause on a real worker, resumed after the worker has started again: the config topic remembers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.tasks.runs import new_name
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = pytest.mark.integration
PATH = "/penstock/v1/bulk"


def carried_out(worker: WorkerProcess, **body: Any) -> dict[str, Any]:
    """Begin a bulk action and return its document when it has ended."""
    answer = worker.http.post(PATH, json={**body, "wait_seconds": 900})
    assert answer.status_code == 202, answer.text
    shown: dict[str, Any] = answer.json()

    def ended() -> bool:
        shown.update(worker.http.get(f"{PATH}/{shown['id']}").json())
        return bool(shown["ended"])

    until(ended, f"the end of bulk action {shown['id']}")
    return shown


def results(shown: dict[str, Any]) -> dict[str, str]:
    return {row["connector"]: row["result"] for row in shown["connectors"]}


def test_a_resume_of_a_bulk_pause_after_a_restart_of_the_worker(bootstrap: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text("1\n")
    mine, others = new_name("source"), new_name("source")
    with WorkerProcess(bootstrap, tmp_path) as worker:
        for name in (mine, others):
            worker.put(name, connector__class="FileStreamSource", topic=new_name("topic"), file=str(file))
            worker.running(name)
        assert worker.http.put(f"/connectors/{others}/pause").status_code == 202
        until(lambda: worker.states(others) == ["PAUSED", "PAUSED"], "the pause of one")
        done = carried_out(worker, action="pause", connectors=[mine, others])
        assert results(done) == {mine: "done", others: "none"}
        assert worker.states(mine) == ["PAUSED", "PAUSED"]
        assert worker.stop() == 0
        worker.start().ready()
        assert worker.http.get(f"{PATH}/{done['id']}").status_code == 404
        assert results(carried_out(worker, action="resume", of=done["id"])) == {mine: "done"}
        assert worker.states(mine) == ["RUNNING", "RUNNING"]
        assert worker.states(others) == ["PAUSED", "PAUSED"]
