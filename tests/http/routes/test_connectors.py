"""The life cycle of a connector as a client sees it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import httpx
import pytest

from support.rest.errors import assert_refused

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


def create(api: Any, name: str = "a", **more: Any) -> httpx.Response:
    return api.post("/connectors", json={"name": name, "config": CONFIG, **more})


def test_a_new_connector(api: Any) -> None:
    answer = create(api)
    assert answer.status_code == 201
    assert answer.headers["location"] == "http://one:8083/connectors/a"
    assert answer.json() == {"name": "a", "config": {**CONFIG, "name": "a"}, "tasks": [], "type": "source"}
    assert api.get("/connectors/a/config").json() == {**CONFIG, "name": "a"}
    assert api.get("/connectors").json() == ["a"]


def test_status_tasks_and_topics(api: Any) -> None:
    create(api)
    status = api.get("/connectors/a/status").json()
    assert (status["connector"]["state"], status["type"]) == ("RUNNING", "source")
    assert api.get("/connectors/a/tasks/0/status").json() == status["tasks"][0]
    assert api.get("/connectors/a/tasks").json()[0]["id"] == {"connector": "a", "task": 0}
    assert api.get("/connectors/a/topics").json() == {"a": {"topics": []}}


@pytest.mark.parametrize(
    ("query", "members"),
    [
        ("expand=status", {"status"}),
        ("expand=info", {"info"}),
        ("expand=status&expand=info", {"status", "info"}),
        ("expand=info&expand=info&x=1", {"info"}),
        ("expand=%73tatus", {"status"}),
        ("expand", set()),
        ("expand=", set()),
        ("expand=STATUS", set()),
        ("expand=status,info", set()),
        ("expand=status&expand=nothing", {"status"}),
    ],
)
def test_expansions(api: Any, query: str, members: set[str]) -> None:
    create(api)
    expanded = api.get(f"/connectors?{query}").json()["a"]
    assert set(expanded) == members
    assert "status" not in expanded or expanded["status"] == api.get("/connectors/a/status").json()
    assert "info" not in expanded or expanded["info"] == api.get("/connectors/a").json()


@pytest.mark.parametrize("query", ["Expand=status", "expand[]=status", "x=1"])
def test_other_query_parameters_do_not_count(api: Any, query: str) -> None:
    create(api)
    assert api.get(f"/connectors?{query}").json() == ["a"]


SPECIAL = [
    ("a/b", "a%2Fb"),
    ("a%b", "a%25b"),
    ("a%20b", "a%2520b"),
    ("a\\b", "a%5Cb"),
    ("a b", "a%20b"),
    ("a+b", "a+b"),
    ("a;b", "a%3Bb"),
    ("a?b#c", "a%3Fb%23c"),
    ("{x}|^`<>", "%7Bx%7D%7C%5E%60%3C%3E"),
    ("!$&'()*,=:@~", "!$&'()*,=:@~"),
    ("..", ".."),
    ("\u00a0", "%C2%A0"),
    ("日本😀", "%E6%97%A5%E6%9C%AC%F0%9F%98%80"),
]


@pytest.mark.parametrize(("name", "escaped"), SPECIAL)
def test_every_name_can_be_addressed(api: Any, name: str, escaped: str) -> None:
    answer = create(api, name)
    assert answer.status_code == 201
    assert answer.headers["location"] == f"http://one:8083/connectors/{escaped}"
    path = f"/connectors/{quote(name, safe='').replace('.', '%2E')}"
    assert api.get(path).json()["name"] == name
    assert api.get(f"{path}/topics").json() == {name: {"topics": []}}
    assert api.put(f"{path}/config", json=CONFIG).status_code == 200
    assert api.put(f"{path}/pause").status_code == 202
    assert api.delete(path).status_code == 204
    assert api.get("/connectors").json() == []


def test_names_are_trimmed_when_created_but_not_in_paths(api: Any) -> None:
    assert create(api, " \ta\n ").json()["name"] == "a"
    assert api.put("/connectors/%20a/config", json=CONFIG).headers["location"] == "http://one:8083/connectors/%20a"
    assert sorted(api.get("/connectors").json()) == [" a", "a"]


def test_put_creates_and_replaces(api: Any) -> None:
    first, second = (api.put("/connectors/a/config", json=CONFIG) for _ in range(2))
    assert (first.status_code, first.headers["location"]) == (201, "http://one:8083/connectors/a")
    assert (second.status_code, "location" in second.headers) == (200, False)
    assert second.json()["config"] == {**CONFIG, "name": "a"}


@pytest.mark.parametrize("name", [None, "a"])
def test_the_name_may_stand_in_the_configuration(api: Any, name: str | None) -> None:
    assert api.put("/connectors/a/config", json={**CONFIG, "name": name}).json()["config"]["name"] == "a"


@pytest.mark.parametrize("name", ["b", "", " a "])
def test_two_names_are_refused(api: Any, name: str) -> None:
    message = f"Connector name configuration ({name}) doesn't match connector name in the URL (a)"
    assert_refused(api.put("/connectors/a/config", json={**CONFIG, "name": name}), 400, message)
    assert_refused(api.post("/connectors", json={"name": "a", "config": {**CONFIG, "name": name}}), 400, message)


def test_patch(api: Any) -> None:
    create(api)
    answer = api.patch("/connectors/a/config", json={"file": None, "batch.size": 7, "flag": True})
    assert answer.status_code == 200
    expected = {"connector.class": "FileStreamSource", "topic": "t", "name": "a", "batch.size": "7", "flag": "true"}
    assert answer.json()["config"] == api.get("/connectors/a/config").json() == expected
    assert_refused(api.patch("/connectors/a/config"), 400, "The patch must be a JSON object of settings, not null")
    for body in (None, {}, {"a": None}):
        assert_refused(api.patch("/connectors/nobody/config", json=body), 404, "Connector nobody not found")


def test_a_patch_may_have_another_name_and_renames_nothing(api: Any) -> None:
    """Only the other requests compare the names, as in Java."""
    create(api)
    answer = api.patch("/connectors/a/config", json={"name": "b"})
    assert (answer.status_code, answer.json()["name"], answer.json()["config"]["name"]) == (200, "a", "b")
    assert api.get("/connectors").json() == ["a"]
    renamed = api.put("/connectors/a/config", json=answer.json()["config"])
    assert_refused(renamed, 400, "Connector name configuration (b) doesn't match connector name in the URL (a)")
    assert api.put("/connectors/a/config", json={**answer.json()["config"], "name": "a"}).status_code == 200


def test_an_existing_name_is_refused(api: Any) -> None:
    create(api)
    assert_refused(create(api), 409, "Connector a already exists")


def test_pause_resume_stop_delete(api: Any) -> None:
    create(api)
    for verb, status, state in [("pause", 202, "PAUSED"), ("resume", 202, "RUNNING"), ("stop", 204, "STOPPED")]:
        answer = api.put(f"/connectors/a/{verb}")
        assert (answer.status_code, answer.content) == (status, b"")
        assert api.get("/connectors/a/status").json()["connector"]["state"] == state
    answer = api.delete("/connectors/a?x=y", headers={"X": "y"})
    assert (answer.status_code, answer.content) == (204, b"")
    assert_refused(api.get("/connectors/a/status"), 404, "No status found for connector a")


@pytest.mark.parametrize("state", ["STOPPED", "stopped", "Paused", "RUNNING", None])
def test_initial_state(api: Any, state: str | None) -> None:
    create(api, initial_state=state)
    assert api.get("/connectors/a/status").json()["connector"]["state"] == (state or "RUNNING").upper()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 204),
        ("?includeTasks=true", 202),
        ("?includeTasks=TRUE", 202),
        ("?onlyFailed=True", 202),
        ("?includeTasks=1", 204),
        ("?includeTasks=yes", 204),
        ("?includeTasks", 204),
        ("?includeTasks=", 204),
        ("?includeTasks=%20true", 204),
        ("?includetasks=true", 204),
        ("?includeTasks=false&includeTasks=true", 204),
        ("?onlyFailed=false", 204),
        ("?forward=true", 204),
    ],
)
def test_restart(api: Any, query: str, status: int) -> None:
    create(api)
    answer = api.post(f"/connectors/a/restart{query}")
    assert answer.status_code == status
    assert (answer.content == b"") is (status == 204)


def test_restart_of_a_task(api: Any) -> None:
    create(api)
    assert api.post("/connectors/a/tasks/0/restart").status_code == 204
    assert_refused(api.post("/connectors/a/tasks/7/restart"), 404, "Unknown task: a-7")


def test_restart_of_a_removed_task_is_refused(api: Any) -> None:
    create(api)
    api.put("/connectors/a/stop")
    answer = api.post("/connectors/a/tasks/0/restart")
    reason = "no known leader URL, likely because a rebalance was underway."
    assert_refused(answer, 409, f"Cannot complete request momentarily due to {reason}")
    assert_refused(api.post("/connectors/a/tasks/1/restart"), 404, "Unknown task: a-1")


UNKNOWN = [
    ("GET", "", "Connector {} not found"),
    ("GET", "/config", "Connector {} not found"),
    ("GET", "/status", "No status found for connector {}"),
    ("GET", "/tasks", "Connector {} not found"),
    ("GET", "/tasks/0/status", "No status found for task {}-0"),
    ("GET", "/offsets", "Connector {} not found"),
    ("DELETE", "/offsets", "Connector {} not found"),
    ("POST", "/restart", "Unknown connector: {}"),
    ("POST", "/restart?includeTasks=true", "Unknown connector: {}"),
    ("POST", "/tasks/0/restart", "Unknown connector: {}"),
    ("PUT", "/pause", "Unknown connector {}"),
    ("PUT", "/resume", "Unknown connector {}"),
    ("PUT", "/stop", "Unknown connector {}"),
    ("DELETE", "", "Connector {} not found"),
]


@pytest.mark.parametrize(("method", "tail", "message"), UNKNOWN)
def test_unknown_connectors_are_404(api: Any, other: Any, method: str, tail: str, message: str) -> None:
    for client in (api, other):
        assert_refused(client(method, f"/connectors/nobody{tail}"), 404, message.format("nobody"))


def test_topics_of_nobody(api: Any) -> None:
    assert api.get("/connectors/nobody/topics").json() == {"nobody": {"topics": []}}
    answer = api.put("/connectors/nobody/topics/reset")
    assert (answer.status_code, answer.content) == (200, b"")


def test_offsets(api: Any) -> None:
    create(api, initial_state="STOPPED")
    pairs = [{"partition": {"filename": "f"}, "offset": {"position": 4, "share": 0.5, "big": 2**70, "text": "7"}}]
    answer = api.patch("/connectors/a/offsets", json={"offsets": pairs})
    assert (answer.status_code, answer.json()) == (200, {"message": "altered"})
    del pairs[0]["offset"]["big"]  # a number that the client cannot show
    api.patch("/connectors/a/offsets", json={"offsets": pairs})
    assert api.get("/connectors/a/offsets").json() == {"offsets": pairs}
    assert api.delete("/connectors/a/offsets", content=b"{}").json() == {"message": "reset"}
    assert api.get("/connectors/a/offsets").json() == {"offsets": []}


def test_initial_offsets(api: Any) -> None:
    pairs = [{"partition": {"filename": "f"}, "offset": {"position": 4}}]
    assert create(api, initial_state="STOPPED", initial_offsets=pairs).status_code == 201
    assert api.get("/connectors/a/offsets").json() == {"offsets": pairs}


@pytest.mark.parametrize("body", [{}, {"offsets": None}, {"offsets": []}])
def test_no_offsets_to_alter(api: Any, body: dict[str, Any]) -> None:
    message = "Partitions / offsets need to be provided for an alter offsets request"
    assert_refused(api.patch("/connectors/nobody/offsets", json=body), 400, message)


@pytest.mark.parametrize("path", ["/connectors/a/fence", "/connectors/nobody/fence"])
def test_requests_between_workers_need_a_signature(api: Any, path: str) -> None:
    assert_refused(api.put(path), 400, "Internal request missing required signature")


def test_task_configurations_from_strangers(api: Any) -> None:
    create(api)
    assert_refused(api.post("/connectors/a/tasks", json=[]), 400, "Internal request missing required signature")
    strange = {"X-Connect-Authorization": "AAAA", "X-Connect-Request-Signature-Algorithm": "HmacSHA256"}
    assert_refused(
        api.post("/connectors/a/tasks", json=[], headers=strange), 403, "Internal request contained invalid signature."
    )
    unknown = {**strange, "X-Connect-Request-Signature-Algorithm": "HmacMD5"}
    message = api.post("/connectors/a/tasks", json=[], headers=unknown).json()["message"]
    assert message.startswith(
        "This worker does not support the 'HmacMD5' key signing algorithm used by other workers. "
        "This worker is currently configured to use: [HmacSHA256]. "
    )
