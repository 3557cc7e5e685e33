"""Log lines of a connector whose tasks run on two workers: a page of them, and a stream."""

from __future__ import annotations

import contextlib
import logging
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest

from penstock.core.model import messages as m
from penstock.core.model.records import TaskStatus
from penstock.core.model.tasks import TaskId
from penstock.http.access.gate import authentication
from penstock.http.app import make_router
from penstock.http.client import Client
from penstock.http.client_errors import WorkerError
from penstock.http.routes import history
from penstock.worker.monitoring.log_lines import LogLines
from support.rest.cluster import RestCluster
from support.rest.server import serve
from support.waiting import until

LOGS = "/penstock/v1/connectors/lines/logs"


@pytest.fixture(autouse=True)
def connector(cluster: RestCluster) -> None:
    """Start a connector with a task on each of two workers."""
    config = {"name": "lines", "connector.class": "FileStreamSink", "topics": "t", "tasks.max": "2"}
    cluster.submit("one", m.CreateConnector("lines", config))
    tasks = cluster.workers["one"].herder.statuses.tasks_of("lines")
    assert sorted(task.worker_id for task in tasks) == ["one", "two"]


@pytest.fixture
def client(cluster: RestCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """A client of worker ``one`` on a real port, which endless answers need."""
    monkeypatch.setattr(history, "PAUSE_S", 0.01)
    with serve(cluster.app("one")) as url, Client(url) as client:
        yield client


def write(cluster: RestCluster, worker: str, text: str, after_s: float = 0) -> None:
    record = logging.LogRecord("penstock.x", logging.INFO, "x.py", 1, text, (), None)
    record.created, record.connector, record.task = 1767323045.0 + after_s, "lines", 0
    cluster.log_lines[worker].handle(record)


def test_lines_of_all_workers_in_the_order_of_time(api: Any, other: Any, cluster: RestCluster) -> None:
    for i, worker in enumerate(("two", "one", "two")):
        write(cluster, worker, str(i), i)
    for each in (api, other):
        found = each.get(LOGS).json()
        assert [(line["message"], line["worker"]) for line in found["lines"]] == [
            ("0", "two"),
            ("1", "one"),
            ("2", "two"),
        ]
        assert found["unreachable"] == []
    assert [line["message"] for line in api.get(f"{LOGS}?limit=2").json()["lines"]] == ["1", "2"]
    assert [line["message"] for line in api.get(f"{LOGS}?here=true").json()["lines"]] == ["1"]


def test_workers_that_do_not_answer_are_named(api: Any, cluster: RestCluster) -> None:
    write(cluster, "one", "here")
    cluster.workers["one"].herder.statuses.tasks["lines"][0] = TaskStatus(TaskId("lines", 0), "RUNNING", "nobody")
    found = api.get(LOGS).json()
    assert ([line["message"] for line in found["lines"]], found["unreachable"]) == (["here"], ["nobody"])


def test_lines_of_all_workers_are_followed_also_after_a_restart(client: Client, cluster: RestCluster) -> None:
    write(cluster, "two", "first")
    lines = client.follow_logs("lines", {})
    assert next(lines)["message"] == "first"
    for i in range(5):
        write(cluster, "two", f"there {i}", i)
        assert next(lines)["message"] == f"there {i}"
    write(cluster, "one", "here")
    assert next(lines)["worker"] == "one"
    cluster.log_lines["two"] = LogLines("two", 100, lambda: time.time() + 1)
    write(cluster, "two", "restarted")
    assert next(lines)["message"] == "restarted"
    cluster.submit("one", m.DeleteConnector("lines"))
    assert list(lines) == []


def test_the_head_of_what_is_followed_ends(client: Client, cluster: RestCluster) -> None:
    with httpx.Client(timeout=900, verify=False) as asking:
        for path, status, kind in ((LOGS, 200, history.EVENTS), (LOGS.replace("lines", "no"), 404, "application/json")):
            answer = asking.head(f"{client.url}{path}/stream")
            assert (answer.status_code, answer.content) == (status, b"")
            assert answer.headers["content-type"].startswith(kind)
        assert "content-length" not in asking.head(f"{client.url}{LOGS}/stream").headers
        assert asking.get(f"{client.url}/connectors").json() == ["lines"]


def test_followers_are_limited(client: Client, cluster: RestCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "MAX_FOLLOWERS", 1)
    write(cluster, "one", "a line")
    first = client.follow_logs("lines", {})
    assert next(first)["message"] == "a line"
    with pytest.raises(WorkerError, match="1 clients follow logs here already, the maximum"):
        next(client.follow_logs("lines", {}))
    first.close()  # type: ignore[attr-defined]

    def followed() -> bool:
        try:
            return next(client.follow_logs("lines", {}))["message"] == "a line"
        except WorkerError:
            return False

    until(followed, "that there is room again")


@pytest.mark.security
def test_one_user_leaves_streams_to_others(
    cluster: RestCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The limit holds however many the user opens at once; without authentication it holds for each address."""
    monkeypatch.setattr(history, "PAUSE_S", 0.01)
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in ("vic", "ada")))
    guard = authentication({"penstock.authentication.htpasswd": str(tmp_path / "htpasswd")}, {})
    app = make_router(lambda request: cluster.submit("one", request), httpx.AsyncClient(verify=False), guard=guard)
    with (
        serve(app) as url,
        httpx.Client(base_url=url, timeout=900, verify=False) as vic,
        httpx.Client(base_url=url, timeout=900, verify=False) as ada,
    ):
        vic.auth, ada.auth = ("vic", "right"), ("ada", "right")

        def begin(client: httpx.Client) -> httpx.Response:
            return client.send(client.build_request("GET", f"{LOGS}/stream"), stream=True)

        with ThreadPoolExecutor(30) as pool:
            opened = list(pool.map(begin, [vic] * 30))
        statuses = Counter(each.status_code for each in opened)
        assert statuses == {200: history.MAX_STREAMS_OF_CLIENT, 429: 30 - history.MAX_STREAMS_OF_CLIENT}
        (refused, *_) = (each for each in opened if each.status_code == 429)
        assert "The user vic follows 10 logs" in refused.read().decode()
        with contextlib.closing(begin(ada)) as others:
            assert others.status_code == 200
        for each in opened:
            each.close()

        def room() -> bool:
            with contextlib.closing(begin(vic)) as again:
                return again.status_code == 200

        until(room, "that there is room again")
