"""Roles: permissions of each action, filters, masks and audit lines; with real herders and plugins."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

import bcrypt
import httpx
import pytest

from penstock.core.model import messages as m
from penstock.http.access import files
from penstock.http.access.authentication.htpasswd import Htpasswd
from penstock.http.access.gate import DEMANDS, OF_ALL, OF_WORKERS, authentication, gate
from penstock.http.access.listeners import RestSettingError
from penstock.http.access.roles import ACTIONS, Roles
from penstock.http.app import make_router
from penstock.http.forwarding import Peers
from penstock.http.routes.workers import Workers
from support.rest.cluster import RestCluster

ROLES = """
groups:
  operators: [oscar]
rules:
  - {users: [victor], connectors: ["orders-*"], actions: [view]}
  - {groups: [operators], connectors: ["orders-*"], actions: [view, operate]}
  - {users: [connie], connectors: ["orders-*"], actions: [view, view-config, configure]}
  - {users: [sam], connectors: ["orders-*"], actions: [skip]}
  - {users: [ada], actions: [view, view-config, operate, configure, offsets, dead-letters, records, skip, check, admin]}
"""
CANARY = "canary-7f3a"
CONFIG = {
    "connector.class": "FileStreamSource",
    "topic": "t",
    "file": "/tmp/x",
    "producer.override.ssl.key.password": CANARY,
}
PLUGIN = "/connector-plugins/FileStreamSource/config/validate"


@pytest.fixture
def setup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(files, "LOOK_S", 0.0)
    users = ["victor", "oscar", "connie", "sam", "ada", "nobody"]
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text("# users\n" + "".join(f"{user}:{hashed}\n" for user in users))
    (tmp_path / "roles.yaml").write_text(ROLES)
    return {
        "penstock.authentication.htpasswd": str(tmp_path / "htpasswd"),
        "penstock.authorization.file": str(tmp_path / "roles.yaml"),
    }


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[dict[str, Any]]]:
    caplog.set_level(logging.INFO, "penstock.audit")

    def taken() -> list[dict[str, Any]]:
        found = [json.loads(record.getMessage()) for record in caplog.records if record.name == "penstock.audit"]
        caplog.clear()
        return found

    return taken


class As:
    """A client of the leading worker."""

    def __init__(self, app: Any, name: str, password: str = "right") -> None:
        self._app, self._auth = app, (name, password)

    def __call__(self, method: str, path: str, body: Any = None) -> httpx.Response:
        async def ask() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://one:8083", auth=self._auth) as client:
                return (
                    await client.request(method, path, json=body)
                    if body is not None
                    else await client.request(method, path)
                )

        return asyncio.run(ask())


def passwords(config: Mapping[str, Any]) -> set[str]:
    """Return the names of passwords: ``batch.size``, as if FileStreamSource defined it as one."""
    return {"batch.size"} & config.keys() if config.get("connector.class") == "FileStreamSource" else set()


@pytest.fixture
def users(setup: dict[str, str], cluster: RestCluster) -> Callable[[str], As]:
    guard = authentication(setup, {})
    client = httpx.AsyncClient(verify=False)
    app = make_router(
        lambda request: cluster.submit("one", request),
        client,
        guard=guard,
        gate=gate(setup, guard, passwords),
        metrics=lambda: b"up 1\n",
        workers=Workers(cluster.metrics("one").about, Peers("http://one", client)),
    )
    ada = As(app, "ada")
    for name in ("orders-1", "payroll"):
        assert ada("PUT", f"/connectors/{name}/config", CONFIG).status_code == 201
    return lambda name: As(app, name)


def test_wrong_credentials_are_refused_and_audited(users: Callable[[str], As], lines: Any) -> None:
    app = users("ada")._app
    for name, password in (("ada", "wrong"), ("stranger", "right"), ("", "")):
        lines()
        assert As(app, name, password)("GET", "/connectors").status_code == 401
        (line,) = lines()
        assert (line["outcome"], line["status"], line["principal"]) == ("refused", 401, None)
        assert line.get("tried") == (name or None)
        assert "wrong" not in json.dumps(line)


REQUESTS: dict[str, list[tuple[str, str, Any]]] = {
    "view": [
        *(("GET", f"/connectors/{{}}{part}", None) for part in ("", "/config", "/tasks", "/topics", "/offsets")),
        ("GET", "/penstock/v1/connectors/{}/skips", None),
    ],
    "operate": [
        ("PUT", "/connectors/{}/pause", None),
        ("PUT", "/connectors/{}/resume", None),
        ("POST", "/connectors/{}/restart", None),
        ("PUT", "/connectors/{}/topics/reset", None),
        ("POST", "/connectors/{}/tasks/0/restart", None),
    ],
    "configure": [
        ("PUT", "/connectors/{}/config", CONFIG),
        ("PATCH", "/connectors/{}/config", {"topic": "u"}),
        ("POST", "/connectors", {"name": "{}", "config": CONFIG}),
        ("PUT", PLUGIN, {**CONFIG, "name": "{}"}),
    ],
    "offsets": [("DELETE", "/connectors/{}/offsets", None)],
    "records": [("GET", "/penstock/v1/connectors/{}/records", None)],
    "check": [("POST", "/penstock/v1/connectors/{}/check", None)],
    "skip": [
        ("POST", "/penstock/v1/connectors/{}/skips", {"topic": "t", "partition": 0, "offsets": [7], "to": "discard"}),
        ("DELETE", "/penstock/v1/connectors/{}/skips", None),
    ],
    "admin": [("GET", "/admin/loggers", None), ("PUT", "/admin/loggers/x", {"level": "INFO"})],
}
MAY = {
    "nobody": set(),
    "victor": {"view"},
    "oscar": {"view", "operate"},
    "connie": {"view", "configure"},
    "sam": {"skip"},
    "ada": set(REQUESTS),
}


@pytest.mark.parametrize("user", MAY)
def test_each_action(users: Callable[[str], As], user: str) -> None:
    for action, requests in REQUESTS.items():
        for method, path, body in requests:
            for name in ("orders-1", "payroll"):
                sent = None if body is None else json.loads(json.dumps(body).replace("{}", name))
                answer = users(user)(method, path.format(name), sent)
                allowed = action in MAY[user] and (name == "orders-1" or user == "ada")
                assert (answer.status_code != 403) is allowed, (user, method, path, name, answer.text)
                if not allowed and action != "admin":
                    assert answer.json()["message"] == f"{user} may not {action} connector {name}"


def test_lists_are_filtered(users: Callable[[str], As]) -> None:
    assert users("victor")("GET", "/connectors").json() == ["orders-1"]
    assert list(users("victor")("GET", "/connectors?expand=info&expand=status").json()) == ["orders-1"]
    assert sorted(users("ada")("GET", "/connectors").json()) == ["orders-1", "payroll"]
    assert users("nobody")("GET", "/connectors").status_code == 403
    assert users("nobody")("GET", "/health").status_code == 200
    assert users("victor")("GET", "/metrics").status_code == 403
    assert users("ada")("GET", "/metrics").status_code == 200
    assert users("victor")("GET", "/penstock/v1/workers?here=true").status_code == 403
    assert users("ada")("GET", "/penstock/v1/workers?here=true").status_code == 200


@pytest.mark.parametrize("user", ["victor", "oscar", "nobody"])
def test_no_canary_is_shown(users: Callable[[str], As], user: str) -> None:
    paths = [f"/connectors{part}" for part in ("", "?expand=info", "?expand=info&expand=status", "/orders-1")]
    paths += [f"/connectors/orders-1/{part}" for part in ("config", "tasks", "status", "topics", "offsets")]
    for path in paths:
        assert CANARY not in users(user)("GET", path).text
        assert CANARY in users("ada")("GET", "/connectors/orders-1/config").text
    assert users("connie")("GET", "/connectors/orders-1/config").json()["producer.override.ssl.key.password"] == CANARY


def test_settings_of_type_password_are_masked_whatever_their_names(
    users: Callable[[str], As], lines: Callable[[], list[dict[str, Any]]]
) -> None:
    path, secret = "/penstock/v1/connectors/orders-1/history", "987654"
    lines()
    for batch in (secret, "1"):
        assert users("connie")("PUT", "/connectors/orders-1/config", {**CONFIG, "batch.size": batch}).status_code == 200
    changed, again = (line["difference"] for line in lines())
    assert changed["added"] == {"batch.size": "[hidden]"}
    assert again["changed"] == {"batch.size": ["[hidden]", "[hidden]"]}
    assert users("connie")("PATCH", "/connectors/orders-1/config", {"batch.size": secret}).status_code == 200
    asked = ["/connectors?expand=info", "/connectors/orders-1", "/connectors/orders-1/config", path, f"{path}/2"]
    for each in [*asked, "/connectors/orders-1/tasks", f"{path}/2/diff", f"{path}/3/diff"]:
        shown = {name: users(name)("GET", each).text for name in ("victor", "connie")}
        assert (secret in shown["victor"], secret in shown["connie"]) == (False, True), each
    # A version with another class, which does not define this password
    other = {**CONFIG, "connector.class": "FileStreamSink", "topics": "t"}
    assert users("connie")("PUT", "/connectors/orders-1/config", other).status_code in (200, 400)
    assert secret not in users("victor")("GET", f"{path}/2/diff").text


def test_every_change_leaves_a_line(users: Callable[[str], As], lines: Any) -> None:
    lines()
    masked = {**CONFIG, "topic": "u", "producer.override.ssl.key.password": "another", "tasks.max": "1"}
    assert users("connie")("PUT", "/connectors/orders-1/config", masked).status_code == 200
    assert users("connie")("PATCH", "/connectors/orders-1/config", {"tasks.max": None}).status_code == 200
    assert users("oscar")("PUT", "/connectors/orders-1/pause").status_code == 202
    assert users("victor")("DELETE", "/connectors/orders-1").status_code == 403
    assert users("connie")("PUT", "/connectors/orders-2/config", {"connector.class": "No"}).status_code == 400
    assert users("ada")("GET", "/connectors").status_code == 200
    found = lines()
    assert [
        (each["principal"], each["action"], each["connector"], each["outcome"], each["status"]) for each in found
    ] == [
        ("connie", "configure", "orders-1", "done", 200),
        ("connie", "configure", "orders-1", "done", 200),
        ("oscar", "operate", "orders-1", "done", 202),
        ("victor", "configure", "orders-1", "refused", 403),
        ("connie", "configure", "orders-2", "refused", 400),
    ]
    assert found[0]["difference"] == {
        "added": {"tasks.max": "1"},
        "changed": {"topic": ["t", "u"], "producer.override.ssl.key.password": ["[hidden]", "[hidden]"]},
        "removed": {},
    }
    assert found[1]["difference"]["removed"] == {"tasks.max": "1"}
    assert not [each for each in found if "difference" in each and each["outcome"] != "done"]
    assert set(found[0]) >= {"time", "how", "address", "request"}
    assert CANARY not in json.dumps(found)


def test_a_mask_that_is_sent_back_is_recorded_as_no_change(users: Callable[[str], As], lines: Any) -> None:
    masked = {**CONFIG, "producer.override.ssl.key.password": "[hidden]"}
    lines()
    assert users("connie")("PUT", "/connectors/orders-1/config", {**masked, "topic": "u"}).status_code == 200
    assert users("connie")("PATCH", "/connectors/orders-1/config", {**masked, "topic": "v"}).status_code == 200
    put, patched = (line["difference"]["changed"] for line in lines())
    assert (put, patched) == ({"topic": ["t", "u"]}, {"topic": ["u", "v"]})


def test_a_rollback_leaves_what_it_changes(api: Any, other: Any, lines: Any) -> None:
    """A follower learns from the leader's answer what was changed."""
    for client in (api, other):
        for topic in ("t", "u"):
            api.put("/connectors/x/config", json={**CONFIG, "topic": topic})
        lines()
        assert client.post("/penstock/v1/connectors/x/rollback").status_code == 200
        found = lines()
        assert found
        assert all(each["difference"]["changed"] == {"topic": ["u", "t"]} for each in found)


def test_changes_are_recorded_without_roles_too(api: Any, lines: Any) -> None:
    assert api.put("/connectors/x/config", json=CONFIG).status_code == 201
    (line,) = lines()
    assert (line["principal"], line["action"], line["connector"], line["status"]) == (None, "configure", "x", 201)
    assert line["difference"]["added"]["producer.override.ssl.key.password"] == "[hidden]"


def test_a_name_without_measure_is_recorded_cut_off(api: Any, lines: Any) -> None:
    """The line is searched for secrets, and no request is answered meanwhile, so it must be short."""
    assert api.post("/connectors", json={"name": "n" * 2**20, "config": {}}).status_code == 400
    (line,) = lines()
    assert line["connector"] == "n" * 1000


def test_the_file_is_read_again(users: Callable[[str], As], setup: dict[str, str]) -> None:
    path = Path(setup["penstock.authorization.file"])
    for text, status in (
        ("rules: [{users: [nobody], actions: [view]}]", 200),
        ("rules: [{users: [nobody], actions: [fly]}]", 200),  # invalid: the previous roles stay in force
        ("rules: []", 403),
    ):
        path.write_text(text)
        os.utime(path, ns=(0, hash(text) % 10**15))
        assert users("nobody")("GET", "/connectors").status_code == status


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("- x", "the file must be a mapping"),
        ("rules: {}", "`rules` must be a list"),
        ("rules: [{users: [a], actions: [fly]}]", "there is no action fly; there are view, view-config, "),
        ("rules: [{actions: [view]}]", "a rule has neither `users` nor `groups`"),
        ("rules: [{users: a, actions: [view]}]", "`users` must be a list of texts"),
        ("rules: [{users: [a], action: [view]}]", "a rule has `action`; it may have"),
        ("rules: [", "it is no YAML"),
    ],
)
def test_mistakes_in_the_file(text: str, problem: str) -> None:
    with pytest.raises(RestSettingError) as error:
        Roles.parse(text)
    assert str(error.value).startswith(problem)


def test_settings(setup: dict[str, str], tmp_path: Path) -> None:
    without = {"penstock.authorization.file": setup["penstock.authorization.file"]}
    with pytest.raises(RestSettingError, match="needs a way to know who asks"):
        gate(without, authentication(without, {}))
    for wrong in ("$apr1$x", "$2y$05$tooshort", "$2y$99$" + "." * 53):
        (tmp_path / "wrong").write_text(f"a:{wrong}\n")
        with pytest.raises(RestSettingError, match=r"line 1 is not `name:hash` with a hash of bcrypt"):
            authentication({"penstock.authentication.htpasswd": str(tmp_path / "wrong")}, {})


def test_the_time_does_not_tell_which_users_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4))
    (tmp_path / "htpasswd").write_text(f"ada:{hashed.decode()}\n")
    htpasswd, check = Htpasswd(str(tmp_path / "htpasswd")), bcrypt.checkpw
    checked: list[bytes] = []

    def seen(given: bytes, known: bytes) -> bool:
        checked.append(known)
        return check(given, known)

    monkeypatch.setattr(bcrypt, "checkpw", seen)
    assert [asyncio.run(htpasswd.knows(name, "right")) for name in ("stranger", "ada")] == [False, True]
    assert [known[:7] for known in checked] == [b"$2b$04$"] * 2


def test_every_request_has_its_demand() -> None:
    """A new request needs ``admin`` until it has been added."""
    requests = set(get_args(m.Request)) - {m.ConfirmTask}
    assert requests == {*DEMANDS, *OF_ALL, *OF_WORKERS}
    assert set(DEMANDS.values()) <= set(ACTIONS)


def test_the_history_says_who_and_hides_secrets(users: Callable[[str], As]) -> None:
    path = "/penstock/v1/connectors/orders-1"
    assert users("connie")("PUT", "/connectors/orders-1/config", {**CONFIG, "topic": "u"}).status_code == 200
    users("oscar")("PUT", "/connectors/orders-1/pause")
    seen = {name: users(name)("GET", f"{path}/history") for name in ("victor", "connie")}
    assert [version["principal"] for version in seen["victor"].json()["versions"]] == ["oscar", "connie", "ada"]
    assert (CANARY in seen["victor"].text, CANARY in seen["connie"].text) == (False, True)
    for further in ("/history/1", "/history/1/diff"):
        shown = {name: users(name)("GET", f"{path}{further}").text for name in ("victor", "connie")}
        assert (CANARY in shown["victor"], CANARY in shown["connie"]) == (False, True), further
    preview = {"name": "orders-1", "patch": {}}
    for name, allowed in (("victor", False), ("oscar", False), ("connie", True)):
        for method, asked, body in (("POST", "/penstock/v1/preview", preview), ("POST", f"{path}/rollback", None)):
            assert (users(name)(method, asked, body).status_code == 403) is not allowed, (name, asked)
    for what in ("history", "events", "logs", "logs/stream"):
        assert users("victor")("GET", f"/penstock/v1/connectors/payroll/{what}").status_code == 403


def test_a_change_of_the_level_of_the_audit_log_is_recorded_before_it_is_carried_out(api: Any, lines: Any) -> None:
    for path in ("/admin/loggers/root", "/admin/loggers/org.apache.kafka.connect"):
        assert api.put(path, json={"level": "WARN"}).status_code == 200
    assert [(line["outcome"], line["status"]) for line in lines()] == [("done", 200)] * 2
    assert api.put("/admin/loggers/penstock.audit", json={"level": "WARN"}).status_code == 200
    (line,) = lines()
    assert (line["action"], line["outcome"], line["status"]) == ("admin", "asked", None)
    assert line["request"] == "PUT /admin/loggers/penstock.audit"
    assert api.put("/admin/loggers/penstock.audit", json={"level": "INFO"}).status_code == 200
    assert [line["outcome"] for line in lines()] == ["done"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/connectors/orders-1/config", {f"x{number}": "" for number in range(10_001)}),
        ("POST", "/connectors", {"name": "orders-1", "config": {f"x{number}": "" for number in range(10_001)}}),
        ("PATCH", "/connectors/orders-1/config", [1]),
        ("PUT", "/connectors/orders-1/config", {"name": "orders-2"}),
        ("PATCH", "/connectors/orders-1/offsets", {"offsets": 1}),
    ],
)
def test_a_change_whose_body_is_refused_has_one_line(
    users: Callable[[str], As], lines: Any, method: str, path: str, body: Any
) -> None:
    assert users("ada")(method, path, body).status_code == 400
    (line,) = lines()
    assert (line["principal"], line["request"], line["status"]) == ("ada", f"{method} {path}", 400)
