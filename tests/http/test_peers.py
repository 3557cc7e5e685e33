"""Other workers, and those that only seem to be: whom this one asks, and what it makes of their replies."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx
import pytest

from penstock.core.model import local_requests as local
from penstock.core.model import messages as m
from penstock.core.model.records import TaskStatus
from penstock.core.model.tasks import TaskId
from penstock.http import forwarding
from penstock.http.app import make_router
from penstock.http.forwarding import Peers
from penstock.http.routes.task_health import ConnectorHealth
from penstock.http.routes.workers import Workers

pytestmark = pytest.mark.security
JSON = {"Content-Type": "application/json"}
LINE = {"number": 1, "time": "t", "level": "INFO", "logger": "l", "task": 0, "worker": "w", "message": "hello"}
ABOUT = {"worker_id": "", "generation": 1, "knows": [], "spark": []}
PLACE = {
    "direction": "from",
    "topic": "t",
    "partition": 2,
    "position": 5,
    "end": 8,
    "behind": 3,
    "unit": "records",
    "per_second": 0.5,
    "new": [1],
}
HEALTH = {
    "records": 8,
    "records_per_second": 912.4,
    "records_waiting": None,
    "retrying": False,
    "stalled": False,
    "records_behind": 3,
    "seconds_behind": 1.5,
    "newest_record_age_seconds": None,
    "stages": {"poll": 0.1, "put": 1},
    "slowest_stage": "put",
    "places": [PLACE, {"direction": "to", "source": '{"a": 1}', "position": {"lsn": 5}, "per_second": None}],
    "sent_by": None,
    "batch_ms_avg": 2.5,
    "batch_ms_max": 3,
    "last_error": {"time": "t", "message": "m"},
    "restarts": 0,
    "restart_policy": None,
    "a figure of a later version": [{}],
}
"""All figures that a worker sends at present, and more."""


class Neighbour:
    """A server that answers every request in one way. ``received`` are the paths and credentials that it was sent."""

    def __init__(self) -> None:
        self.received: list[tuple[str, str | None]] = []
        self.reply: Callable[[BaseHTTPRequestHandler], None] = lambda handler: send(handler, b"{}")
        neighbour = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                neighbour.received.append((self.path, self.headers["Authorization"]))
                try:
                    neighbour.reply(self)
                except OSError:
                    pass  # the worker has heard enough
                self.close_connection = True

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.id = f"127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    handler.send_response(status)
    for name, value in {**JSON, "Content-Length": str(len(body)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def neighbour() -> Iterator[Neighbour]:
    made = Neighbour()
    yield made
    made.close()


class Here:
    """A worker whose connector ``lines`` has a task here, and one where the status topic says."""

    def __init__(self, there: str, members: list[str]) -> None:
        self.there, self.members = there, members

    def get(self, path: str) -> httpx.Response:
        return asyncio.run(self._get(path))

    async def _get(self, path: str) -> httpx.Response:
        def submit(request: m.Request) -> Future[m.Reply | m.Elsewhere]:
            answer: Future[m.Reply | m.Elsewhere] = Future()
            answer.set_result(m.Reply(200, self._body(request)))
            return answer

        async with httpx.AsyncClient(trust_env=False, verify=False) as client:
            peers = Peers("http://here:1/", client, lambda: self.members)
            own: Mapping[int, Mapping[str, Any]] = {0: {"records": 1}}
            health = ConnectorHealth(lambda name: own, peers, lambda name, task: None, lambda: {"lines": own})
            about = {**ABOUT, "worker_id": "here:1", "leader": "http://here:1/"}
            app = make_router(submit, client, peers=peers, health=health, workers=Workers(lambda: about, peers))
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://here:1") as asking:
                return await asking.get(path, headers={"Authorization": "Basic YWRtaW46c2VjcmV0"}, timeout=900)

    def _body(self, request: m.Request) -> Any:
        status = {
            "name": "lines",
            "connector": {"state": "RUNNING", "worker_id": "here:1"},
            "tasks": [{"id": id, "state": "RUNNING", "worker_id": at} for id, at in enumerate(("here:1", self.there))],
        }
        if isinstance(request, m.ListConnectors):
            return {"lines": {"status": status}}
        if isinstance(request, local.GetLogs):
            return {"lines": [{**LINE, "message": "own"}], "next": 5}
        return status


PATHS = (
    "/connectors/lines/status?penstock=true",
    "/connectors?expand=status&penstock=true",
    "/penstock/v1/connectors/lines/logs",
)
WORKERS = "/penstock/v1/workers"


def unreachable(answer: httpx.Response) -> Any:
    assert answer.status_code == 200, answer.text
    body = answer.json()
    shown = body["lines"]["status"] if "status" in body.get("lines", ()) else body
    return shown.get("penstock", shown)["unreachable"]


@pytest.mark.parametrize("path", PATHS)
def test_an_address_of_a_record_is_sent_nothing(neighbour: Neighbour, path: str) -> None:
    for address in (
        neighbour.id,
        f"{neighbour.id}/x",
        f"user@{neighbour.id}",
        f"member:1@{neighbour.id}",
        "\x00",
        "a b",
    ):
        here = Here(address, ["http://member:1/", "ftp://x/", "http://here:1/"])
        assert unreachable(here.get(path)) == [address]
        assert unreachable(here.get(WORKERS)) == ["member:1"]
    assert neighbour.received == []


@pytest.mark.parametrize("path", PATHS)
def test_a_member_is_sent_the_credentials(neighbour: Neighbour, path: str) -> None:
    here = Here(neighbour.id, [f"http://{neighbour.id}/"])
    bodies = {
        PATHS[0]: {"penstock": {"tasks": [{"id": 1, **HEALTH}]}},
        PATHS[1]: {"lines": {"status": {"penstock": {"tasks": [{"id": 1, **HEALTH}]}}}},
        PATHS[2]: {"lines": [LINE], "next": 3},
    }
    neighbour.reply = lambda handler: send(handler, json.dumps(bodies[path]).encode())
    answer = here.get(path)
    assert unreachable(answer) == []
    assert '"records_behind":3' in answer.text or "hello" in answer.text
    assert [credentials for _, credentials in neighbour.received] == ["Basic YWRtaW46c2VjcmV0"]


def test_workers_that_a_member_names_are_not_asked(neighbour: Neighbour) -> None:
    """Not even addresses that it lists are trusted, since it may list any."""
    other = Neighbour()
    about = {**ABOUT, "worker_id": neighbour.id, "knows": [f"http://{other.id}/"]}
    neighbour.reply = lambda handler: send(handler, json.dumps({"workers": [about]}).encode())
    found = Here("", [f"http://{neighbour.id}/"]).get(WORKERS).json()
    other.close()
    assert [each["worker_id"] for each in found["workers"]] == [neighbour.id, "here:1"]
    assert (found["unreachable"], other.received) == ([], [])


DEEP = b'{"a":' * 200_000
NONSENSE: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {
    "nothing": lambda h: send(h, b""),
    "no JSON": lambda h: send(h, b"<html>"),
    "null": lambda h: send(h, b"null"),
    "a number": lambda h: send(h, b"1"),
    "a list": lambda h: send(h, b"[[1]]"),
    "a text": lambda h: send(h, b'"x"'),
    "deep": lambda h: send(h, DEEP),
    "deep and whole": lambda h: send(h, b"[" * 500 + b"]" * 500),
    "NaN": lambda h: send(h, b'{"lines": NaN, "workers": NaN, "penstock": {"tasks": NaN}}'),
    "a long number": lambda h: send(h, b'{"lines": ' + b"9" * 10_000 + b"}"),
    "no UTF-8": lambda h: send(h, b'{"\xff": 1}'),
    "another type": lambda h: send(h, b'{"lines": [], "next": 1}', Content_Type="text/html"),
    "no type": lambda h: send(h, b'{"lines": [], "next": 1}', Content_Type=""),
    "an error": lambda h: send(h, b'{"lines": [], "next": 1}', 500),
    "a redirect": lambda h: send(h, b"", 302, Location=f"http://{h.headers['Host']}/elsewhere"),
    "compressed": lambda h: send(h, gzip.compress(b" " * 2**24), Content_Encoding="gzip"),
    "two lengths": lambda h: send(h, b"{}", Content_Length="5, 6"),
    "tasks of nonsense": lambda h: send(
        h,
        b'{"penstock": {"tasks": [{"id": []}]}, "lines": [{"time": 1}], "next": "x", "workers": [{"worker_id": 1}]}',
    ),
    "lists of nonsense": lambda h: send(
        h, b'{"lines": {"status": {"penstock": {"tasks": [1]}}}, "x": 1, "next": 1, "workers": [1]}'
    ),
    "figures of nonsense": lambda h: send(
        h,
        b'{"penstock": {"tasks": [{"id": 1, "records_behind": "many"}]},'
        b'"lines": {"status": {"penstock": {"tasks": [{"id": 1, "seconds_behind": []}]}}}, "workers": {}}',
    ),
    "infinite figures": lambda h: send(
        h,
        b'{"penstock": {"tasks": [{"id": 1, "seconds_behind": 1e999}]},'
        b'"lines": {"status": {"penstock": {"tasks": [{"id": 1, "seconds_behind": 1e999}]}}}}',
    ),
}


@pytest.mark.parametrize("kind", list(NONSENSE))
def test_nonsense_makes_a_worker_unreachable(neighbour: Neighbour, kind: str) -> None:
    here = Here(neighbour.id, [f"http://{neighbour.id}/"])
    neighbour.reply = NONSENSE[kind]
    for path in (*PATHS, WORKERS):
        answer = here.get(path)
        missing = unreachable(answer)
        if path == PATHS[1] and kind in ("tasks of nonsense",):
            continue  # a list of other connectors
        assert missing == [neighbour.id] or (path == PATHS[1] and missing == []), (path, answer.text)
        assert "own" in answer.text or path != PATHS[2]
    assert all("elsewhere" not in path for path, _ in neighbour.received)


def test_a_reply_without_an_end_is_given_up(neighbour: Neighbour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_S", 0.5)
    monkeypatch.setattr(forwarding, "MAX_PEER_BYTES", 2**20)

    def flood(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        while True:
            handler.wfile.write(b" " * 2**16)

    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        for _ in range(6000):
            handler.wfile.write(b" ")
            time.sleep(0.1)

    here = Here(neighbour.id, [f"http://{neighbour.id}/"])
    for reply in (flood, drip):
        neighbour.reply = reply
        for path in (*PATHS, WORKERS):
            begun = time.monotonic()
            assert unreachable(here.get(path)) == [neighbour.id]
            assert time.monotonic() - begun < 300


def test_lines_of_another_worker_have_its_name_and_no_more(neighbour: Neighbour) -> None:
    lines = [{**LINE, "worker": "here:1", "number": n, "more": {"deep": [1]}} for n in range(500)]
    neighbour.reply = lambda handler: send(handler, json.dumps({"lines": lines, "next": 10**30}).encode())
    found = Here(neighbour.id, [f"http://{neighbour.id}/"]).get(f"{PATHS[2]}?limit=10").json()["lines"]
    assert len(found) == 10
    assert {line["worker"] for line in found if line["message"] == "hello"} == {neighbour.id}
    assert all(line.keys() == LINE.keys() for line in found)


def test_a_record_of_the_status_topic_does_not_break_the_list(api: Any, cluster: Any) -> None:
    config = {"name": "lines", "connector.class": "FileStreamSink", "topics": "t"}
    cluster.submit("one", m.CreateConnector("lines", config))
    for address in ("two/../..", "x y", "[", "http://two", "two#", "two?a=b", "two@evil", "\u2028"):
        cluster.workers["one"].herder.statuses.tasks["lines"][0] = TaskStatus(TaskId("lines", 0), "RUNNING", address)
        assert unreachable(api.get(PATHS[0])) == [address]
        assert unreachable(api.get(PATHS[1])) == [address]
        assert unreachable(api.get(PATHS[2])) == [address]
