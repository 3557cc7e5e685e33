"""Passwords, with the files that Java Connect uses."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.http.access.authentication.basic_auth import EXTENSION, JAAS_FILE, LOGIN_MODULE, BasicAuth
from penstock.http.access.listeners import RestSettingError

NAMED = {"rest.extension.classes": EXTENSION}


@pytest.fixture
def files(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """The settings for these lines of properties files."""

    def write(*properties: str, jaas: str | None = None) -> dict[str, str]:
        modules = ""
        for number, text in enumerate(properties):
            file = tmp_path / f"{number}.properties"
            file.write_bytes(text.encode("latin-1"))
            modules += f'{LOGIN_MODULE} required\n  // a comment\n  file="{file}";\n'
        path = tmp_path / "jaas.conf"
        path.write_text(jaas or f"Other {{ a.B required; }};\nKafkaConnect {{\n{modules}}};\n")
        return {**NAMED, JAAS_FILE: str(path)}

    return write


@pytest.fixture
def guarded(files: Any, configured: Any) -> Any:
    return configured({}, guard=BasicAuth.of(files("# users\nann=secret:1\nbo\\ b: \\u00e9\n"), {}))


@pytest.mark.parametrize("user", [("ann", "secret:1"), ("bo b", "é")])
def test_users_are_let_in(guarded: Any, user: tuple[str, str]) -> None:
    token = base64.b64encode(":".join(user).encode()).decode()
    for header in (f"Basic {token}", f"basic {token}", f"Basic {token.rstrip('=')}"):
        assert guarded.get("/connectors", headers={"Authorization": header}).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Basic",
        "Basic !!!",
        "Bearer YW5uOnNlY3JldDox",
        "Basic YW5uOng=",
        "Basic YW5u",
        "Basic OnNlY3JldDox",
        "Basic eDpzZWNyZXQ6MQ==",
        "Basic /w==",
    ],
)
def test_others_are_not(guarded: Any, header: str | None) -> None:
    answer = guarded.get("/connectors", headers={} if header is None else {"Authorization": header})
    assert answer.status_code == 401
    assert answer.json() == {"error_code": 401, "message": "User cannot access the resource."}
    assert answer.headers["www-authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/health",
        "/health?live=false",
        "/health?live",
        "/?live=true",
        "/admin/loggers",
        "/connectors/x/tasks",
        "/metrics",
    ],
)
def test_every_path_is_guarded(guarded: Any, path: str) -> None:
    assert guarded.get(path).status_code == 401


def test_a_probe_of_liveness_is_exempt(guarded: Any) -> None:
    wrong = {"Authorization": "Basic YW5uOng="}
    for headers in ({}, wrong):
        answer = guarded.get("/health?live=true", headers=headers)
        assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    assert guarded.get("/health?live=false&live=true").status_code == 401
    assert guarded.delete("/health?live=true").status_code == 405


def test_requests_of_workers_are_exempt(guarded: Any) -> None:
    assert guarded.post("/connectors/x/tasks", json=[]).status_code == 200
    assert guarded.put("/connectors/x/fence").status_code == 200


def test_unknown_paths_come_first(guarded: Any) -> None:
    assert (guarded.get("/nothing").status_code, guarded.delete("/").status_code) == (404, 405)


def test_any_of_several_login_modules_authenticates(files: Any, configured: Any) -> None:
    api = configured({}, guard=BasicAuth.of(files("ann=1", "bob=2"), {}))
    assert api.get("/", auth=("bob", "2")).status_code == 200  # type: ignore[call-arg]
    assert api.get("/", auth=("bob", "1")).status_code == 401


def test_an_empty_file_lets_everybody_in(files: Any, configured: Any) -> None:
    api = configured({}, guard=BasicAuth.of(files("# nobody\n"), {}))
    assert api.get("/").status_code == 200


def test_the_file_by_java_options(files: Any) -> None:
    config = files("ann=1")
    found = BasicAuth.of(NAMED, {"KAFKA_OPTS": f"-Xmx1g -D{JAAS_FILE}={config[JAAS_FILE]} -Da=b"})
    assert found == BasicAuth.of(config, {})


def test_no_extension() -> None:
    assert BasicAuth.of({}, {}) is None
    assert BasicAuth.of({"rest.extension.classes": " "}, {}) is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"rest.extension.classes": "com.example.Mine"},
            "`rest.extension.classes` has com.example.Mine, but extensions in Java can't run here; "
            f"there is {EXTENSION}",
        ),
        (
            NAMED,
            f"`rest.extension.classes={EXTENSION}` needs a JAAS file; set `{JAAS_FILE}` to its path, "
            f"or `KAFKA_OPTS` in the environment to -D{JAAS_FILE}=<path>",
        ),
    ],
)
def test_wrong_settings(config: dict[str, str], message: str) -> None:
    with pytest.raises(RestSettingError) as error:
        BasicAuth.of(config, {})
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("jaas", "message"),
    [
        ("KafkaClient { a.B required; };", "has no section KafkaConnect"),
        ("KafkaConnect { };", "names no login module"),
        ("KafkaConnect { a.B; };", r"jaas\.conf can't be read: It should be `<login module> required"),
        ("KafkaConnect { com.example.Ldap required; };", "but modules in Java can't run here"),
        (f"KafkaConnect {{ {LOGIN_MODULE} required; }};", "Property Credentials file must be specified"),
        (f'KafkaConnect {{ {LOGIN_MODULE} required file="/no/such"; }};', "`file=/no/such` can't be read"),
    ],
)
def test_wrong_files(files: Any, jaas: str, message: str) -> None:
    with pytest.raises(RestSettingError, match=message):
        BasicAuth.of(files(jaas=jaas), {})
