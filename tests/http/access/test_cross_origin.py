"""Access of web pages to the REST API. The expected answers were recorded from Java Connect 4.3.1."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from penstock.http.access.cross_origin import Origins
from penstock.http.access.listeners import RestSettingError

ALLOWED = {
    "access.control.allow.origin": "http://a.example,http://b.example",
    "access.control.allow.methods": "GET,PUT",
}
PREFLIGHT = {"Access-Control-Request-Method": "DELETE", "Access-Control-Request-Headers": "X-Foo"}
HEADER = "access-control-allow-origin"


@pytest.mark.parametrize("origin", ["http://a.example", "HTTP://A.EXAMPLE", "http://evil http://b.example"])
@pytest.mark.parametrize("path", ["/connectors", "/nothing"])
def test_allowed_origins(configured: Callable[..., Any], origin: str, path: str) -> None:
    headers = configured(ALLOWED).get(path, headers={"Origin": origin}).headers
    assert (headers[HEADER], headers["vary"], "access-control-max-age" in headers) == (origin, "Origin", False)


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://evil"}, {"Origin": ""}, {"Origin": "null"}])
def test_other_origins_are_answered_without_the_header(configured: Callable[..., Any], headers: dict[str, str]) -> None:
    answer = configured(ALLOWED).get("/connectors", headers=headers)
    assert (answer.status_code, HEADER in answer.headers, answer.headers["vary"]) == (200, False, "Origin")


def test_preflight(configured: Callable[..., Any]) -> None:
    answer = configured(ALLOWED)("OPTIONS", "/connectors", headers={"Origin": "http://a.example", **PREFLIGHT})
    assert (answer.status_code, answer.text) == (200, "HEAD, POST, GET, OPTIONS")
    assert answer.headers[HEADER] == "http://a.example"
    assert answer.headers["access-control-allow-methods"] == "GET,PUT"
    assert answer.headers["access-control-allow-headers"] == "Content-Type"
    assert answer.headers["access-control-max-age"] == "60"
    other = configured(ALLOWED)("OPTIONS", "/connectors", headers={"Origin": "http://evil", **PREFLIGHT})
    assert (other.status_code, HEADER in other.headers) == (200, False)


def test_any_origin_and_the_default_methods(configured: Callable[..., Any]) -> None:
    api = configured({"access.control.allow.origin": "*"})
    answer = api("OPTIONS", "/", headers={"Origin": "http://x", **PREFLIGHT})
    assert (answer.headers[HEADER], answer.headers["access-control-allow-methods"]) == ("http://x", "GET,POST,HEAD")


def test_no_origins(configured: Callable[..., Any]) -> None:
    assert Origins.of({}) is None
    assert "vary" not in configured({"access.control.allow.origin": " "}).get("/").headers


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_origin_changes_nothing(configured: Callable[..., Any], site: str) -> None:
    evil = {"Origin": "http://evil", "Sec-Fetch-Site": site}
    for config in ({}, ALLOWED):
        api = configured(config)
        answer = api.post("/connectors/c/restart", headers=evil)
        assert (answer.status_code, answer.json()["error_code"]) == (403, 403)
        assert "A page of http://evil may not change anything here" in answer.json()["message"]
        assert api.get("/connectors", headers=evil).status_code == 200
        for own in ({}, {"Origin": "http://one:8083", "Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}):
            assert api.post("/connectors/c/restart", headers=own).status_code == 200
    allowed = {**evil, "Origin": "http://a.example"}
    assert configured(ALLOWED).post("/connectors/c/restart", headers=allowed).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://evil.example", "one:8083"),
        ("http://one", "one:8083"),
        ("http://one:8083.evil.example", "one:8083"),
        ("http://one:8084", "one:8083"),
        ("https://one", "one:80"),
        ("null", "one:8083"),
        ("null", "null"),
        ("http://[::1]", "[::1]:8083"),
    ],
)
def test_the_origin_of_a_change_that_says_nothing_else(
    configured: Callable[..., Any], caplog: pytest.LogCaptureFixture, origin: str, host: str
) -> None:
    """Browsers send only the origin over plain HTTP, except to this machine."""
    caplog.set_level(logging.INFO, "penstock.audit")
    headers = {"Origin": origin, "Host": host}
    answer = configured({}).post("/connectors/c/restart", headers=headers)
    assert (answer.status_code, answer.json()["error_code"]) == (403, 403)
    (line,) = (json.loads(record.getMessage()) for record in caplog.records if record.name == "penstock.audit")
    assert (line["request"], line["outcome"], line["status"]) == ("POST /connectors/c/restart", "refused", 403)
    assert configured({}).get("/connectors", headers=headers).status_code == 200
    assert configured(ALLOWED).post("/connectors/c/restart", headers=headers).status_code == 403
    every = {"access.control.allow.origin": "*"}
    assert configured(every).post("/connectors/c/restart", headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://one:8083", "one:8083"),
        ("http://ONE", "one"),
        ("http://one", "one:80"),
        ("https://one", "one"),
        ("https://one:443", "one"),
        ("http://[::1]:8083", "[::1]:8083"),
        ("http://[::1]", "[::1]"),
    ],
)
def test_a_change_by_a_page_of_the_worker(configured: Callable[..., Any], origin: str, host: str) -> None:
    headers = {"Origin": origin, "Host": host}
    assert configured({}).post("/connectors/c/restart", headers=headers).status_code == 200


def test_a_broken_pattern() -> None:
    with pytest.raises(
        RestSettingError, match=r"`access\.control\.allow\.origin` has \(, which is no regular expression"
    ):
        Origins.of({"access.control.allow.origin": "("})


@pytest.mark.security
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil"},
        {"Origin": "http://evil", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_page_of_another_origin_opens_no_stream(configured: Callable[..., Any], headers: dict[str, str]) -> None:
    stream = "/penstock/v1/connectors/c/logs/stream"
    assert configured({}).get(stream, headers=headers).status_code == 403
    assert configured({})("HEAD", stream, headers=headers).status_code == 403
    assert configured({})("HEAD", stream, headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    every = configured({"access.control.allow.origin": "*"})
    assert every("HEAD", stream, headers={"Origin": "http://evil", **headers}).status_code == 200
