"""The form of answers: paths, methods, media types. The expected answers were recorded from Java Connect 4.3.1."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.app import make_router
from support.rest.errors import assert_refused

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("path", ["/", "/health", "/connectors", "/connector-plugins", "/admin/loggers"])
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "TRACE", "FOO"])
def test_other_methods_are_405(api: Any, method: str, path: str) -> None:
    if (method, path) != ("POST", "/connectors"):
        assert_refused(api(method, path), 405, "HTTP 405 Method Not Allowed")


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/", "HEAD, GET, OPTIONS"),
        ("/connectors", "HEAD, POST, GET, OPTIONS"),
        ("/connectors/x", "HEAD, DELETE, GET, OPTIONS"),
        ("/connectors/x/config", "HEAD, GET, OPTIONS, PUT, PATCH"),
        ("/connectors/x/offsets", "HEAD, DELETE, GET, OPTIONS, PATCH"),
        ("/connectors/x/restart", "POST, OPTIONS"),
        ("/connectors/x/topics/reset", "OPTIONS, PUT"),
        ("/admin/loggers/x", "HEAD, GET, OPTIONS, PUT"),
    ],
)
def test_options(api: Any, path: str, allowed: str) -> None:
    answer = api("OPTIONS", path)
    assert (answer.status_code, answer.text, answer.headers["content-type"]) == (200, allowed, "text/plain")
    assert answer.headers["allow"] == allowed.replace(" ", "")
    assert api("OPTIONS", path, headers={"Accept": "application/json"}).content == b""


def test_options_of_unknown_paths(api: Any) -> None:
    assert_refused(api("OPTIONS", "/nothing"), 404, "HTTP 404 Not Found")


@pytest.mark.parametrize("path", ["/", "/connectors", "/connectors/nobody", "/connectors/nobody/status"])
def test_head_is_get_without_a_body(api: Any, path: str) -> None:
    got, head = api.get(path), api("HEAD", path)
    assert (head.status_code, head.headers["content-length"]) == (got.status_code, got.headers["content-length"])


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/Connectors",
        "/connector",
        "/connectors/x/nothing",
        "/connectors/x/tasks-config",
        "/connectors/x/%73tatus",
        "/%63onnectors",
        "/admin",
        "/connectors/x/tasks/first/status",
        "/connectors/x/tasks/1.0/status",
        "/connectors/x/tasks/0x1/status",
        "/connectors/x/tasks/%20/status",
        "/connectors/x/tasks/99999999999/status",
        "/connectors/x/tasks/2147483648/status",
        "/connectors/x/tasks/%D9%A1/status",
    ],
)
def test_unknown_paths(api: Any, path: str) -> None:
    assert_refused(raw(api, path), 404, "HTTP 404 Not Found")


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("0", 0),
        ("00", 0),
        ("-0", 0),
        ("+1", 1),
        ("-1", -1),
        ("%31", 1),
        ("0" * 5000 + "1", 1),
        ("2147483647", 2147483647),
    ],
)
def test_numbers_of_tasks(api: Any, number: str, shown: int) -> None:
    assert_refused(api.get(f"/connectors/x/tasks/{number}/status"), 404, f"No status found for task x-{shown}")


@pytest.mark.parametrize("path", ["/connectors/", "/health/", "/connectors;a=b", "/connectors?", "/connectors?x=%zz"])
def test_trailing_slashes_parameters_and_queries_are_ignored(api: Any, path: str) -> None:
    assert raw(api, path).status_code == 200


@pytest.mark.parametrize("path", ["/connectors/x;a=b", "/connectors/x;/config", "/connectors;a/x;b/config;c"])
def test_parameters_of_segments_do_not_count(api: Any, path: str) -> None:
    assert_refused(raw(api, path), 404, "Connector x not found")


@pytest.mark.parametrize("path", ["//", "//connectors", "/connectors//", "/connectors//x", "/connectors/x//status"])
def test_empty_segments_are_refused(api: Any, path: str) -> None:
    assert_refused(raw(api, path), 400, "Ambiguous URI empty segment")


@pytest.mark.parametrize("segment", ["%zz", "%", "%F", "a%00b", "%FF"])
def test_broken_segments_are_refused(api: Any, segment: str) -> None:
    assert raw(api, f"/connectors/{segment}").status_code == 400


@pytest.mark.parametrize("tail", ["", "/status", "/config", "/tasks", "/topics", "/offsets", "/tasks/0/status"])
@pytest.mark.parametrize("segment", ["a%2Fb", "a%2fb", "a%25b", "a%5Cb", "a%0Ab", "a%7Fb", "%2E", "%2e%2E"])
def test_ambiguous_paths_without_a_connector_are_refused(api: Any, segment: str, tail: str) -> None:
    assert_refused(
        raw(api, f"/connectors/{segment}{tail}"), 400, "Ambiguous URI path: there is no connector of this name"
    )


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/connectors/a%2Fb/tasks/7/status", "No status found for task a/b-7"),
        ("POST", "/connectors/a%2Fb/tasks/7/restart", "Unknown task: a/b-7"),
        ("GET", "/penstock/v1/connectors/a%2Fb/history/7", "Connector a/b has no version 7 in its history"),
    ],
)
def test_missing_parts_of_connectors_with_ambiguous_names_are_404(
    api: Any, method: str, path: str, message: str
) -> None:
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    assert api.put("/connectors/a%2Fb/config", json=config).status_code == 201
    answer = api(method, path)
    assert answer.status_code == 404
    assert answer.json()["message"].startswith(message)


@pytest.mark.parametrize(
    "path", ["/nothing%2Fa", "/health%2F", "/connector-plugins/a%2Fb/config", "/admin/loggers/a%25b"]
)
def test_other_doubtful_paths_are_refused(api: Any, path: str) -> None:
    assert raw(api, path).status_code == 400


@pytest.mark.parametrize("escaped", ["a%20b", "a+b", "a%3Fb", "a%23b", "a%3Bb", "%C3%A9", "a%2Eb", "%20x%20"])
def test_other_escapes_are_what_they_stand_for(api: Any, escaped: str) -> None:
    assert_refused(raw(api, f"/connectors/{escaped}"), 404, f"Connector {unquote(escaped)} not found")


@pytest.mark.parametrize(
    "accept",
    [
        "*/*",
        "application/*",
        "application/json",
        "text/html,*/*;q=0.1",
        "",
        "application/json;q=0",
        "application/json ; q=1.000;",
        'text/html;a="x,y",*;q=.2, ',
    ],
)
def test_accepted_types_of_replies(api: Any, accept: str) -> None:
    assert api.get("/", headers={"Accept": accept}).status_code == 200


def test_headers_of_one_name_are_one_list(api: Any) -> None:
    accepted = [("Accept", "text/html"), ("Accept", "application/json")]
    assert api.get("/", headers=accepted).status_code == 200
    two = [("Content-Type", "application/json"), ("Content-Type", "application/json")]
    assert_refused(api.put("/admin/loggers/x", content=b"{}", headers=two), 400, "HTTP 400 Bad Request")


@pytest.mark.parametrize(
    "accept",
    [",", ";", "a/b/c", "/", "application/", "*/*,,*/*", "*/*;q=2", "*/*;Q=0.1234", "*/*;q", "*/*; q = 0.5", "*/*;q="],
)
def test_malformed_accept_headers_are_400(api: Any, accept: str) -> None:
    assert_refused(api.get("/", headers={"Accept": accept}), 400, "HTTP 400 Bad Request")


@pytest.mark.parametrize("accept", ["text/html", "text/plain", "nonsense", "application/xml"])
def test_types_that_are_not_produced_are_406(api: Any, accept: str) -> None:
    assert_refused(api.get("/", headers={"Accept": accept}), 406, "HTTP 406 Not Acceptable")
    assert_refused(api.get("/nothing", headers={"Accept": accept}), 404, "HTTP 404 Not Found")
    assert_refused(api.delete("/", headers={"Accept": accept}), 405, "HTTP 405 Method Not Allowed")


CONSUMING = [("POST", "/connectors"), ("PUT", "/connectors/x/config"), ("PUT", "/admin/loggers/x")]


@pytest.mark.parametrize("kind", ["text/plain", "text/json", "application/jsonx", "application/merge-patch+json"])
@pytest.mark.parametrize(("method", "path"), [*CONSUMING, ("GET", "/connectors"), ("PUT", "/connectors/x/pause")])
def test_other_content_types_are_415_with_and_without_a_body(api: Any, method: str, path: str, kind: str) -> None:
    for content in (b"{}", b""):
        answer = api(method, path, content=content, headers={"Content-Type": kind})
        assert_refused(answer, 415, "HTTP 415 Unsupported Media Type")


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "*/*"}, {"Content-Type": "application/*"}])
@pytest.mark.parametrize(("method", "path"), CONSUMING)
def test_bodies_must_say_that_they_are_json(api: Any, method: str, path: str, headers: dict[str, str]) -> None:
    assert_refused(api(method, path, content=b"{}", headers=headers), 415, "HTTP 415 Unsupported Media Type")


@pytest.mark.parametrize(
    "kind",
    ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8", r'application/json;a="b\"c"'],
)
def test_json_is_taken(api: Any, kind: str) -> None:
    answer = api.put("/admin/loggers/x", content=b"{}", headers={"Content-Type": kind})
    assert_refused(answer, 400, "Desired 'level' parameter was not specified in request.")


@pytest.mark.parametrize(
    "kind",
    ["", "nonsense", "application/json, text/plain", "application/json; x", "application/json; charset = utf-8"],
)
def test_broken_content_types_are_400(api: Any, kind: str) -> None:
    assert_refused(api.post("/connectors", content=b"{}", headers={"Content-Type": kind}), 400, "HTTP 400 Bad Request")


@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/health"), ("PUT", "/connectors/x/fence")])
def test_paths_that_take_any_content_type(api: Any, method: str, path: str) -> None:
    assert api(method, path, content=b"x", headers={"Content-Type": "text/plain"}).status_code != 415


def test_405_says_what_is_allowed(api: Any) -> None:
    assert api.delete("/connectors").headers["allow"] == "HEAD,POST,GET,OPTIONS"


def test_unforeseen_errors_are_documents_too(api: Any, cluster: Any) -> None:
    def submit(worker: str, request: object) -> None:
        raise RuntimeError("out of order")

    cluster.submit = submit
    assert_refused(api.get("/connectors"), 500, "out of order")


def raw(api: Any, path: str) -> httpx.Response:
    """Send a request whose path is not normalized by the client."""
    return api.get(httpx.URL("http://one:8083").copy_with(raw_path=path.encode("latin-1")))


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "failed"])
def test_messages_of_errors_have_no_secrets(refused: bool) -> None:
    """Error messages may contain values from config providers, which the client may not be allowed to see."""
    submitted: Future[m.Reply | m.Elsewhere] = Future()
    if refused:
        submitted.set_result(m.Refused(500, "canary-7f3a is no broker").reply())
    else:
        submitted.set_exception(OSError("canary-7f3a is no broker"))
    client = httpx.AsyncClient(verify=False)
    app = make_router(lambda request: submitted, client, clean=lambda text: text.replace("canary-7f3a", "[hidden]"))

    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://one:8083") as client:
            return await client.get("/connectors/x/offsets")

    assert_refused(asyncio.run(ask()), 500, "[hidden] is no broker")
