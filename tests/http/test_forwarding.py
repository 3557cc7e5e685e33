"""Requests that another worker must answer."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.app import Timeouts, make_router

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


def test_a_worker_that_does_not_lead_passes_on(other: Any) -> None:
    answer = other.post("/connectors", json={"name": "a/b %", "config": CONFIG})
    assert answer.status_code == 201
    assert answer.headers["location"] == "http://two:8083/connectors/a%2Fb%20%25"
    assert answer.json()["name"] == "a/b %"
    path = "/connectors/a%2Fb%20%25"
    assert other.patch(f"{path}/config", json={"x": 1.50}).json()["config"]["x"] == "1.5"
    assert other.put(f"{path}/stop").status_code == 204
    assert other.delete(f"{path}/offsets").json() == {"message": "reset"}
    assert other.post(f"{path}/restart?includeTasks=true").status_code == 202
    assert other.delete(path).status_code == 204


def test_refusals_of_the_leader_are_returned(other: Any) -> None:
    answer = other.delete("/connectors/nobody")
    assert (answer.status_code, answer.json()["message"]) == (404, "Connector nobody not found")
    answer = other.post("/connectors", json={"name": "a", "config": {**CONFIG, "tasks.max": "0"}})
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/json")


class Other:
    """Another worker that only notes what it is asked; ``to(url)`` is a client of one that says it must answer."""

    def __init__(self, answer: httpx.Response | Exception | None = None) -> None:
        self.asked: list[httpx.Request] = []
        self.answer = answer or httpx.Response(200, json={})

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def ask(self, url: str | None, method: str, path: str, **given: Any) -> httpx.Response:
        def submit(request: m.Request) -> Future[m.Reply | m.Elsewhere]:
            answer: Future[m.Reply | m.Elsewhere] = Future()
            answer.set_result(m.Elsewhere(url))
            return answer

        app = make_router(submit, httpx.AsyncClient(transport=httpx.MockTransport(self)))

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://one") as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())


def test_method_body_and_some_headers_are_forwarded() -> None:
    other = Other()
    headers = {"Authorization": "Basic eDp5", "Content-Type": "application/json", "X-Private": "1"}
    body = b'{"name": "a b", "config": {"n": 1.50}}'
    other.ask("http://two:8083/", "POST", "/connectors?x=%26", content=body, headers=headers)
    sent = other.asked[0]
    assert (sent.method, str(sent.url), sent.content) == ("POST", "http://two:8083/connectors?x=%26&forward=true", body)
    assert (sent.headers["authorization"], "x-private" in sent.headers) == ("Basic eDp5", False)


def test_escapes_stay_as_they_are() -> None:
    other = Other()
    other.ask("http://two:8083/", "DELETE", "/connectors/a%2Fb%25%20")
    assert other.asked[0].url.raw_path == b"/connectors/a%2Fb%25%20?forward=true"


@pytest.mark.parametrize(
    ("given", "sent"), [("", "true"), ("?forward=", "true"), ("?forward=true", "false"), ("?forward=True", "false")]
)
def test_two_hops_at_most(given: str, sent: str) -> None:
    other = Other()
    other.ask("http://two:8083/", "DELETE", f"/connectors/a{given}")
    assert other.asked[0].url.query == f"forward={sent}".encode()


@pytest.mark.parametrize("forward", ["false", "x"])
def test_no_third_hop(forward: str) -> None:
    other = Other()
    answer = other.ask("http://two:8083/", "DELETE", f"/connectors/a?forward={forward}")
    assert (answer.status_code, other.asked) == (409, [])
    wanted = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
    assert answer.json()["message"] == wanted


def test_nobody_to_ask() -> None:
    answer = Other().ask(None, "DELETE", "/connectors/a")
    assert answer.status_code == 409
    assert answer.json()["message"].startswith("Cannot complete request momentarily due to no known leader URL, ")


def test_the_other_can_not_be_reached() -> None:
    answer = Other(httpx.ConnectError("refused")).ask("http://two:8083/", "DELETE", "/connectors/a")
    assert answer.status_code == 500
    assert answer.json()["message"] == "IO Error trying to forward REST request: http://two:8083/: refused"


HTML = {"Content-Type": "text/html;charset=iso-8859-1"}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, "<h1>Ambiguous URI path separator</h1>"),
        (502, "<html>proxy</html>"),
        (404, ""),
        (404, "{}"),
        (500, "[]"),
        (200, "<html>sign in</html>"),
        (200, '"' * 3),
        (200, "[" * 100_000),
    ],
)
def test_replies_that_are_not_a_workers_become_errors(status: int, body: str) -> None:
    other = Other(httpx.Response(status, content=body, headers=HTML))
    answer = other.ask("http://two:8083/", "DELETE", "/connectors/a%2Fb")
    why = f"IO Error trying to forward REST request: http://two:8083/: its reply with status {status} is not a worker's"
    assert (answer.status_code, answer.json()) == (500, {"error_code": 500, "message": why})
    assert other.asked[0].headers["accept"] == "application/json"


@pytest.mark.parametrize("status", [302, 304])
def test_other_statuses(status: int) -> None:
    other = Other(httpx.Response(status, headers={"Location": "http://elsewhere/"}))
    answer = other.ask("http://two:8083/", "DELETE", "/connectors/a")
    assert (answer.status_code, "location" in answer.headers) == (500, False)
    assert answer.json()["message"] == f"Unexpected status code when handling forwarded request: {status}"


def test_replies_of_workers_are_returned_unchanged() -> None:
    for status, body in (
        (204, b""),
        (202, b""),
        (201, b'{"x": "\\ud800", "y": 1.50}'),
        (409, b'{"error_code":1,"message":null}'),
    ):
        answer = Other(httpx.Response(status, content=body)).ask("http://two:8083/", "DELETE", "/connectors/a")
        assert (answer.status_code, answer.content) == (status, body)
        assert answer.headers.get("content-type") == ("application/json" if body else None)


def test_a_worker_that_does_not_answer_in_time() -> None:
    never: Future[m.Reply | m.Elsewhere] = Future()
    app = make_router(lambda _: never, httpx.AsyncClient(verify=False), timeouts=Timeouts(request=0.01, health=0.01))

    async def ask(path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://one") as client:
            return await client.get(path)

    late = asyncio.run(ask("/connectors"))
    assert (late.status_code, late.json()) == (500, {"error_code": 500, "message": "Request timed out"})
    message = "Worker was unable to handle this request and may be unable to handle other requests."
    health = asyncio.run(ask("/health"))
    assert (health.status_code, health.json()) == (500, {"status": "unhealthy", "message": message})
    assert not never.cancelled()
