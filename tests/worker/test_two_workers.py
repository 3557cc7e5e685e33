"""Two real workers of one group with users: each answers for both, and what takes effect at the leader is audited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bcrypt
import pytest

from support.kafka.client import Kafka
from support.waiting import until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.integration, pytest.mark.slow, pytest.mark.security]


def audited(worker: WorkerProcess, request: str) -> list[dict[str, Any]]:
    lines = [line[line.index("{") :] for line in worker.log.read_text().splitlines() if '"outcome"' in line]
    found = [json.JSONDecoder().raw_decode(line)[0] for line in lines]
    return [line for line in found if line["request"] == request]


def test_each_worker_answers_for_both(bootstrap: str, kafka: Kafka, tmp_path: Path) -> None:
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"ada:{hashed}\n")
    settings = {"penstock.authentication.htpasswd": str(tmp_path / "htpasswd")}
    first = WorkerProcess(bootstrap, tmp_path, **settings)
    second = WorkerProcess(bootstrap, tmp_path, **{**first.settings, **settings})
    second.log = tmp_path / "second.log"
    workers = (first, second)
    try:
        for worker in workers:
            worker.http.auth = ("ada", "right")
            worker.start().ready()
        topic = kafka.create_topic(partitions=2)
        file = str(tmp_path / "out.txt")
        first.put("lines", connector__class="FileStreamSink", topics=topic, file=file, tasks__max="2")
        first.running("lines", 2)

        def places() -> set[str]:
            return {task["worker_id"] for task in first.get("/connectors/lines/status")["tasks"]}

        until(lambda: len(places()) == 2, "a task on each worker")
        leader = first.get("/penstock/v1/workers")["leader"]
        for worker in workers:

            def both(worker: WorkerProcess = worker) -> bool:
                found = worker.get("/penstock/v1/workers")
                return (len(found["workers"]), found["unreachable"]) == (2, [])

            until(both, "each worker is known to the other")

            def healthy(worker: WorkerProcess = worker) -> bool:
                health = worker.get("/connectors/lines/status?penstock=true")["penstock"]
                return health["unreachable"] == [] and len(health["tasks"]) == 2

            until(healthy, "the health of both tasks is known to each worker")

            def told(worker: WorkerProcess = worker) -> bool:
                return worker.get("/penstock/v1/connectors/lines/logs")["unreachable"] == []

            until(told, "the lines of both workers")

            def listed(worker: WorkerProcess = worker) -> bool:
                shown = worker.get("/connectors?expand=status&penstock=true")["lines"]["status"]["penstock"]
                return (len(shown["tasks"]), shown["unreachable"]) == (2, [])

            until(listed, "the health of both tasks is in the list")

            def attended(worker: WorkerProcess = worker) -> bool:
                return worker.get("/penstock/v1/attention")["rows"] == []

            until(attended, "nothing needs attention, and no worker is said not to answer")
            assert worker.http.delete("/connectors/nobody").status_code == 404
        (lead, other) = workers if str(first.http.base_url).rstrip("/").endswith(leader) else (second, first)
        request = "DELETE /connectors/nobody"
        until(lambda: len(audited(lead, request)) == 2 and audited(other, request), "the lines of the audit")
        (own, passed_on) = audited(lead, request)
        if "via" in own:
            own, passed_on = passed_on, own
        assert (own["principal"], "via" in own) == ("ada", False)
        assert (passed_on["principal"], passed_on["via"]) == (
            "ada",
            str(other.http.base_url).split("://")[1].rstrip("/"),
        )
        (sent,) = audited(other, request)
        assert sent["forwarded_to"].rstrip("/").endswith(leader)
    finally:
        for worker in workers:
            if worker.process is not None:
                worker.stop()
            worker.http.close()
