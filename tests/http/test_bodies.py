"""Bodies that clients send, well-formed and not: 400 with a sentence where Java answers 500."""

from __future__ import annotations

import threading
from typing import Any

import httpx
import pytest

from penstock.http import bodies
from penstock.http.bodies import SMALL

JSON = {"Content-Type": "application/json"}
NO_CLASS = "Connector config {{{}}} contains no connector type"


def message(answer: httpx.Response) -> str:
    body = answer.json()
    assert (answer.status_code, set(body), body["error_code"]) == (400, {"error_code", "message"}, 400)
    return body["message"]


def posted(api: Any, body: str | bytes) -> str:
    content = body.encode() if isinstance(body, str) else body
    return message(api.post("/connectors", content=content, headers=JSON))


BROKEN = [
    "{",
    "{}{}",
    "{} x",
    "{'name': 'x'}",
    '{"name": "x",}',
    '// c\n{"name": "x"}',
    '{"name": "x", "config": {"n": NaN}}',
    '{"name": "x", "config": {"n": Infinity}}',
    '{"name": "x", "config": {"n": 01}}',
    '{"name": "x", "config": {"a": "tab\there"}}',
    '{"name": "\\ud800", "config": {}}',
    b'{"name": "\xff"}',
    b'{"name": "\xed\xa0\x80", "config": {"connector.class": "FileStreamSource"}}',
    '{"name": "\\ud800", "config": {}}'.encode("utf-16"),
    '{"name": "\\udc00", "config": {}}'.encode("utf-32-le"),
    "[" * 100_000,
]


@pytest.mark.parametrize("body", BROKEN, ids=[str(body)[:30] for body in BROKEN])
def test_invalid_json_is_refused(api: Any, body: str | bytes) -> None:
    assert posted(api, body).startswith(("The request's body is not valid JSON: ", "The request's body is nested too"))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
def test_encodings_that_java_knows(api: Any, encoding: str) -> None:
    assert posted(api, '{"name": "\U0001f600", "config": {"a": ["\\ud83d\\ude00"]}}'.encode(encoding)) == (
        "'a' must be a text, not a list"
    )


@pytest.mark.parametrize("size", [1, SMALL])
def test_offsets_of_a_large_body_are_read_on_the_thread_that_parses(
    api: Any, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    threads: list[str] = []

    def noted(value: Any) -> Any:
        threads.append(threading.current_thread().name)
        return pairs(value)

    pairs = bodies.offset_pairs
    monkeypatch.setattr(bodies, "offset_pairs", noted)
    offsets = [{"partition": {"a": [1] * size}, "offset": {}}]
    assert api.patch("/connectors/x/offsets", json={"offsets": offsets}).status_code == 404
    body = {"name": "x", "config": {}, "initial_offsets": offsets}
    assert message(api.post("/connectors", json=body)) == NO_CLASS.format("name=x")
    assert [name.startswith("parser") for name in threads] == [size == SMALL] * 2


@pytest.mark.parametrize("body", ["null", "[]", "1", '"x"', "true"])
def test_bodies_that_are_not_objects_are_refused(api: Any, body: str) -> None:
    assert posted(api, body).startswith("The request must be a JSON object with the members name, config, ")
    for path in ("/connectors/x/config", "/connector-plugins/FileStreamSource/config/validate", "/admin/loggers/x"):
        answer = api.put(path, content=body.encode(), headers=JSON)
        assert " must be a JSON object of settings, not " in message(answer)


def test_no_body_at_all(api: Any) -> None:
    wanted = "The request has no body; it must be a JSON document"
    assert message(api.post("/connectors")) == wanted
    assert message(api.put("/connectors/x/config", headers=JSON)) == wanted
    assert message(api.patch("/connectors/x/offsets")) == wanted


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ('{"name": "x"}', "'config' must be a JSON object of settings, not null"),
        ('{"name": "x", "config": null}', "'config' must be a JSON object of settings, not null"),
        ('{"name": "x", "config": "t"}', "'config' must be a JSON object of settings, not a text"),
        ('{"name": "x", "config": 1}', "'config' must be a JSON object of settings, not a number"),
        ('{"name": "x", "config": {"a": {}}}', "'a' must be a text, not an object"),
        ('{"name": "x", "config": {"a": [1]}}', "'a' must be a text, not a list"),
        ('{"name": {}, "config": {}}', "'name' must be a text, not an object"),
        (
            '{"name": "x", "config": {}, "initial_state": "up"}',
            "Unknown initial_state 'up'; it may be RUNNING, PAUSED, STOPPED",
        ),
        ('{"name": "x", "config": {}, "initial_state": ["UP"]}', "'initial_state' must be a text, not a list"),
    ],
)
def test_members_of_a_wrong_form(api: Any, body: str, wanted: str) -> None:
    assert posted(api, body) == wanted


@pytest.mark.parametrize("member", ["surprise", "Name", "initialState"])
def test_unknown_members(api: Any, member: str) -> None:
    told = posted(api, f'{{"name": "x", "config": {{}}, "{member}": 1}}')
    assert told.startswith(f"The request has an unknown member '{member}'; it may have name, config, ")


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ('{"name": 1, "config": {}}', "name=1"),
        ('{"name": true, "config": {}}', "name=true"),
        ('{"name": "x", "name": "y", "config": {}}', "name=y"),
        ('{"name": "x", "config": {"a": "1", "a": "2"}}', "name=x, a=2"),
        ('{"name": "x", "config": {"a": null}}', "name=x, a=null"),
        ('{"name": "x", "config": {"name": null}}', "name=x"),
        ('\ufeff{"name": "x", "config": {}}', "name=x"),
        (
            '{"name": "x", "config": {"a": 1.50, "b": 1e3, "c": 123456789012345678901234567890, "d": -0, "e": 1E400}}',
            "a=1.50, b=1e3, c=123456789012345678901234567890, d=-0, e=1E400, name=x",
        ),
    ],
)
def test_values_become_texts_as_they_were_written(api: Any, body: str, shown: str) -> None:
    assert posted(api, body) == NO_CLASS.format(shown)


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("[]", "The request must be a JSON object with the members offsets, not a list"),
        ('{"offset": []}', "The request has an unknown member 'offset'; it may have offsets"),
        ('{"offsets": {}}', "'offsets' must be a list of objects with the members partition and offset, not an object"),
        (
            '{"offsets": [null]}',
            "An entry of 'offsets' must be a JSON object with the members partition, offset, not null",
        ),
        ('{"offsets": [{"z": 1}]}', "An entry of 'offsets' has an unknown member 'z'; it may have partition, offset"),
        (
            '{"offsets": [{"partition": "x"}]}',
            "'partition' of an entry of 'offsets' must be a JSON object or null, not a text",
        ),
        (
            '{"offsets": [{"partition": {}, "offset": 1}]}',
            "'offset' of an entry of 'offsets' must be a JSON object or null, not a number",
        ),
    ],
)
def test_offsets_of_a_wrong_form(api: Any, body: str, wanted: str) -> None:
    assert message(api.patch("/connectors/nobody/offsets", content=body.encode(), headers=JSON)) == wanted


def test_requests_of_workers_are_authenticated_before_they_are_parsed(api: Any) -> None:
    answer = api.post("/connectors/x/tasks", content=b"{no json")
    assert (answer.status_code, answer.json()["message"]) == (400, "Internal request missing required signature")
    wrong = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    assert api.post("/connectors/x/tasks", content=b"{no json", headers=wrong).status_code == 403


def test_a_configuration_without_measure_is_refused_before_it_is_validated(api: Any) -> None:
    plugin = "/connector-plugins/FileStreamSource/config/validate"
    sane = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    many = {str(number): "x" for number in range(10_001)}
    for method, path in (("PUT", plugin), ("PUT", "/connectors/x/config"), ("PATCH", "/connectors/x/config")):
        answer = api(method, path, json=many)
        assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
        assert "has 10001 settings; 10000 are accepted" in answer.json()["message"]
    aliases = {**sane, "transforms": ",".join(f"a{number}" for number in range(501))}
    answer = api.put(plugin, json=aliases)
    assert (answer.status_code, answer.json()["error_code"]) == (400, 400)
    assert "'transforms' names 501 aliases; 500 are accepted" in answer.json()["message"]
    names = ",".join(f"a{number}" for number in range(501))
    for key, wanted in (
        ("topic.creation.groups", "'topic.creation.groups' names 501 aliases; 500 are accepted"),
        ("topic.creation", "'topic.creation' has 501 entries; 500 are accepted"),
    ):
        answer = api.put(plugin, json={**sane, "name": "x", key: names})
        (of_key,) = [each["value"] for each in answer.json()["configs"] if each["value"]["name"] == key]
        assert of_key["errors"] == [wanted]


def test_the_first_of_many_unknown_settings_are_reported(api: Any) -> None:
    plugin = "/connector-plugins/FileStreamSource/config/validate"
    sane = {"connector.class": "FileStreamSource", "topic": "t", "file": "f", "name": "x"}
    answer = api.put(plugin, json={**sane, **{f"unknown{number}": "x" for number in range(9_000)}})
    assert answer.status_code == 200
