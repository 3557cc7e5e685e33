"""The server itself: real sockets on this machine, without TLS."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from unittest.mock import Mock

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.core.model.actions import CallLeader
from penstock.core.model.events import Completed
from penstock.http.access.tls import client_context
from penstock.http.server import ListenError, RestServer
from penstock.threads import Threads
from penstock.worker.background import Background
from support.waiting import SECONDS, until

get = partial(httpx.get, timeout=900, verify=False)
LOCAL = "http://127.0.0.1:0"
Serve = Callable[..., RestServer]


def test_several_listeners(serve: Serve) -> None:
    server = serve({"listeners": f"{LOCAL},http://localhost:0,http://:0"})
    assert len({each.port for each in server.listeners}) == 3
    for each in server.listeners:
        assert get(f"http://127.0.0.1:{each.port}/connectors").json() == "ListConnectors"
        assert get(f"http://127.0.0.1:{each.port}/admin/loggers").json() == "ListLoggers"
    assert server.advertised_url == f"http://127.0.0.1:{server.listeners[0].port}/"


def test_admin_listeners(serve: Serve) -> None:
    config = {"listeners": LOCAL, "admin.listeners": LOCAL, "response.http.headers.config": "set X-A:1"}
    regular, admin = (f"http://127.0.0.1:{each.port}" for each in serve(config).listeners)
    assert get(f"{admin}/admin/loggers").json() == "ListLoggers"
    assert [get(f"{admin}{path}").status_code for path in ("/", "/connectors", "/health")] == [404] * 3
    assert get(f"{regular}/connectors").json() == "ListConnectors"
    assert get(f"{regular}/admin/loggers").status_code == 404
    assert get(f"{regular}/").headers["x-a"] == "1"
    assert "x-a" not in get(f"{admin}/admin/loggers").headers
    assert set(get(f"{admin}/openapi.json").json()["paths"]) == {
        "/admin/loggers",
        "/admin/loggers/{logger}",
        "/openapi.json",
    }


def test_admin_nowhere(serve: Serve) -> None:
    url = serve({"listeners": LOCAL, "admin.listeners": ""}).advertised_url
    assert get(f"{url}admin/loggers").status_code == 404
    assert get(f"{url}connectors").status_code == 200


def test_a_path_that_there_is_not_is_no_error_of_the_worker(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    url = serve({"listeners": LOCAL}).advertised_url
    assert [get(f"{url}{path}").status_code for path in ("nothing", "connectors/a/nothing")] == [404, 404]
    assert [line for line in caplog.records if line.levelname in ("WARNING", "ERROR")] == []


def test_headers_of_every_reply(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}).advertised_url
    answer = get(url)
    assert set(answer.headers) == {"date", "content-type", "content-length"}
    assert httpx.head(url, timeout=900, verify=False).headers["content-length"] == answer.headers["content-length"]
    assert httpx.head(url, timeout=900, verify=False).content == b""


def test_a_proposal_of_http_2_is_ignored_without_a_warning(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    """``java.net.http.HttpClient`` proposes HTTP/2 in the requests of a new connection."""
    proposal = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAEAAEAAAAIAAAABAAMAAABk"}
    url = serve({"listeners": LOCAL}).advertised_url
    with httpx.Client(timeout=900, verify=False, headers=proposal) as client:
        answers = [client.get(f"{url}connectors"), client.post(f"{url}connectors/c/restart"), client.get(url)]
    assert [(each.status_code, each.http_version) for each in answers] == [(200, "HTTP/1.1")] * 3
    assert not [each for each in caplog.records if each.name.startswith("uvicorn")]


def test_a_change_by_a_page_of_another_origin_is_refused(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}).advertised_url
    answer = httpx.post(
        f"{url}/connectors/c/restart", headers={"Sec-Fetch-Site": "cross-site"}, timeout=900, verify=False
    )
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)


def test_location_is_where_the_client_came_in(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}, m.Reply(201, {})).advertised_url
    given = {"name": "x", "config": {}}
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "1.2.3.4"}
    created = httpx.post(f"{url}connectors", json=given, headers=headers, timeout=900, verify=False)
    assert created.headers["location"] == f"{url}connectors/x"
    named = httpx.post(f"{url}connectors", json=given, headers={"Host": "localhost:1"}, timeout=900, verify=False)
    assert named.headers["location"] == "http://localhost:1/connectors/x"


def test_paths_arrive_as_they_are_sent(serve: Serve) -> None:
    port = serve({"listeners": LOCAL}).listeners[0].port
    for path, status in [("//connectors", 400), ("/connectors/a%2Fb", 200), ("/connectors/%zz", 400), ("*", 400)]:
        with closing(socket.create_connection(("127.0.0.1", port))) as sock:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            assert sock.makefile("rb").readline().split()[1] == str(status).encode()


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://x/connectors", 200),
        ("https://x:1?a=b", 200),
        ("http://[::1]/connectors/a/nothing", 404),
        ("http:///connectors", 400),
        ("http://user@x/", 400),
        ("ftp://x/", 400),
    ],
)
def test_a_request_may_name_a_whole_url(serve: Serve, target: str, status: int) -> None:
    port = serve({"listeners": LOCAL}).listeners[0].port
    with closing(socket.create_connection(("127.0.0.1", port))) as sock:
        sock.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert sock.makefile("rb").readline().split()[1] == str(status).encode()


def test_metrics(serve: Serve) -> None:
    url = serve({"listeners": LOCAL}, metrics=lambda: b"up 1\n").advertised_url
    answer = get(f"{url}metrics", headers={"Accept": "text/plain;version=0.0.4"})
    assert (answer.text, answer.headers["content-type"]) == ("up 1\n", "text/plain; version=0.0.4; charset=utf-8")
    assert "/metrics" in get(f"{url}openapi.json").json()["paths"]


def test_metrics_that_hang_take_one_thread(serve: Serve) -> None:
    """Metrics of plugins may hang; the worker's other work has its own threads."""
    go, asked = threading.Event(), list[str]()

    def metrics() -> bytes:
        asked.append(threading.current_thread().name)
        go.wait()
        return b"up 1\n"

    url = f"{serve({'listeners': LOCAL}, metrics=metrics).advertised_url}metrics"
    first = Threads().submit(get, url, timeout=SECONDS)
    until(lambda: asked, "the first request", SECONDS)
    with pytest.raises(httpx.ReadTimeout):
        get(url, timeout=httpx.Timeout(SECONDS, read=0.5))
    go.set()
    assert first.result(SECONDS).text == "up 1\n"
    assert asked == ["background"]
    assert get(url).text == "up 1\n"


def test_a_port_that_is_taken(serve: Serve) -> None:
    port = serve({"listeners": LOCAL}).listeners[0].port
    with pytest.raises(ListenError, match=f"Listener http://127.0.0.1:{port} can't be used: Address already in use"):
        serve({"listeners": f"{LOCAL},http://127.0.0.1:{port}"})


def test_a_server_that_was_stopped_gives_its_port_back(serve: Serve) -> None:
    server = serve({"listeners": LOCAL})
    port = server.listeners[0].port
    get(server.advertised_url)
    server.stop(5)
    with pytest.raises(httpx.ConnectError):
        get(server.advertised_url)
    assert serve({"listeners": f"http://127.0.0.1:{port}"}).listeners[0].port == port


def call(request: CallLeader) -> Completed:
    """Send a request to the leader as a worker does, and return the outcome."""
    outcomes: list[Completed] = []
    background = Background(
        Threads(),
        outcomes.append,
        validate=lambda config: None,
        offsets=Mock(),
        fence=lambda name, tasks, config: None,
        skip=Mock(),
        tls=client_context({}, None),
    )
    background.do(request)
    until(lambda: bool(outcomes), "the leader has answered", SECONDS)
    return outcomes[0]


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_other_workers_are_asked_directly(serve: Serve, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    for each in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(each, raising=False)
    monkeypatch.setenv(variable, nobody)
    leader = serve({"listeners": LOCAL}, m.Reply(200, "from the leader"))
    follower = serve({"listeners": LOCAL}, m.Elsewhere(leader.advertised_url))
    with httpx.Client(trust_env=False, timeout=900, verify=False) as client:
        assert client.get(f"{follower.advertised_url}connectors").json() == "from the leader"
    outcome = call(CallLeader("GET", leader.advertised_url, ("connectors",), None, None, "HmacSHA256", token=1))
    assert outcome.error is None


@pytest.mark.parametrize("name", ["c", "a/b", ".."])
def test_the_leader_gets_task_configurations_as_they_are(name: str) -> None:
    """Half surrogate pairs arrive too, such as in the name of a file that is not UTF-8."""
    asked: list[m.Request] = []

    def submit(request: m.Request) -> Future[m.Reply]:
        asked.append(request)
        future: Future[m.Reply] = Future()
        future.set_result(m.Reply(204))
        return future

    leader = RestServer({"listeners": LOCAL}, submit, environment={})
    leader.start()
    configs = [{"file": "/data/\udcff", "\ud83d": "\U0001f600 \x1f"}, {}]
    path = ("connectors", name, "tasks")
    outcome = call(CallLeader("POST", leader.advertised_url, path, configs, b"key", "HmacSHA256", token=1))
    leader.stop(5)
    assert outcome.error is None
    assert isinstance(asked[-1], m.PutTaskConfigs)
    assert (asked[-1].name, list(asked[-1].configs)) == (name, configs)


@pytest.mark.security
@pytest.mark.parametrize("status", [302, 307, 400, 503])
def test_a_leader_that_answers_without_an_end(status: int) -> None:
    """A server that took over the leader's address could answer so, or redirect a worker's signed request."""
    received: list[str] = []

    class Leader(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            received.append(self.path)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"x" * 2**16)

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Leader) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"
        outcome = call(CallLeader("PUT", url, ("connectors", "c", "fence"), None, b"k" * 32, "HmacSHA256", token=1))
        server.shutdown()
    assert received == ["/connectors/c/fence"]
    assert isinstance(outcome.error, ConnectionError)
    assert f"answered {status}: xxx" in str(outcome.error)
    assert len(str(outcome.error)) < 20_000
