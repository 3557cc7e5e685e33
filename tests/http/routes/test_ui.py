"""``/ui`` without a browser: answers to each user, and their headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import bcrypt
import httpx
import pytest

from penstock.http.access.gate import authentication, gate
from penstock.http.app import make_router
from penstock.http.routes.ui import FOLDER, HEADERS
from support.rest.cluster import RestCluster

NAMES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
ACTIONS = [
    "view",
    "view-config",
    "operate",
    "configure",
    "offsets",
    "dead-letters",
    "records",
    "skip",
    "check",
    "admin",
]


def test_the_page(api: Any) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
    for path in ("/ui", "/ui/", "/ui/index.html"):
        answer = api.get(path, headers=browser)
        assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert '<script type="module" src="/ui/page.js">' in answer.text
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")


@pytest.mark.parametrize("name", NAMES)
def test_files_are_served_with_their_types(api: Any, name: str) -> None:
    kinds = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
    answer = api.get(f"/ui/{name}", headers={"Accept": "*/*"})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == f"{kinds[name.rpartition('.')[2]]}; charset=utf-8"
    assert answer.content == (FOLDER / name).read_bytes()
    assert answer.headers.items() >= {key.lower(): value for key, value in HEADERS.items()}.items()
    assert api("HEAD", f"/ui/{name}").status_code == 200


def test_nothing_of_it_is_inline_or_elsewhere() -> None:
    page = (FOLDER / "index.html").read_text()
    assert "<style" not in page
    assert " style=" not in page
    assert "<script>" not in page
    for name in NAMES:
        text = (FOLDER / name).read_text().replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, name
        assert "innerHTML" not in text, name


@pytest.mark.parametrize(
    "path",
    [
        *("/ui/nothing.js", "/ui/connector", "/ui/connector/nothing.js", "/ui/a/b/c", "/ui/page.js/x"),
        *("/ui/..%2froutes%2fui.py", "/ui/%2e%2e/app.py", "/ui/connector/..%2f..%2fapp.py", "/ui/%2fetc%2fpasswd"),
        *("/ui/__init__.py", "/ui/./page.js%00", "/ui/connector/..%2findex.html"),
    ],
)
def test_nothing_else_is_served(api: Any, path: str) -> None:
    """The path is sent as it is, not normalized by the client."""
    answer = api.get(httpx.URL("http://one:8083").copy_with(raw_path=path.encode()))
    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["error_code"] == answer.status_code


@pytest.mark.parametrize(("method", "status"), [("POST", 405), ("PUT", 405), ("DELETE", 405)])
def test_it_can_only_be_read(api: Any, method: str, status: int) -> None:
    assert api(method, "/ui").status_code == status


def test_it_can_be_switched_off(cluster: RestCluster) -> None:
    off = make_router(lambda _: pytest.fail("not called"), httpx.AsyncClient(verify=False), page=False)
    assert not any(path.startswith("/ui") for path, _ in off.paths())
    assert "/penstock/v1/principal" in dict(off.paths())


def test_without_roles_anybody_may_do_everything(api: Any) -> None:
    assert api.get("/penstock/v1/principal?connector=c").json() == {
        "name": None,
        "groups": [],
        "authentication": "none",
        "connector": "c",
        "actions": ACTIONS,
        "actions_on_some": ACTIONS,
    }


@pytest.fixture
def guarded(tmp_path: Any, cluster: RestCluster) -> Callable[..., httpx.Response]:
    """Return a function that sends requests of users, whose password is ``right``."""
    import asyncio

    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (tmp_path / "htpasswd").write_text(f"reader:{hashed}\nada:{hashed}\n")
    (tmp_path / "roles.yaml").write_text(
        "rules:\n"
        '  - {users: [reader], connectors: ["orders-*"], actions: [view]}\n'
        "  - {users: [ada], actions: [view, configure]}\n"
    )
    config = {
        "penstock.authentication.htpasswd": str(tmp_path / "htpasswd"),
        "penstock.authorization.file": str(tmp_path / "roles.yaml"),
    }
    guard = authentication(config, {})
    app: Any = make_router(
        lambda request: cluster.submit("one", request),
        httpx.AsyncClient(verify=False),
        guard=guard,
        gate=gate(config, guard),
    )

    def get(path: str, user: str | None = None) -> httpx.Response:
        async def ask() -> httpx.Response:
            auth = None if user is None else (user, "right")
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(app), base_url="http://one", auth=auth
            ) as client:
                return await client.get(path)

        return asyncio.run(ask())

    return get


def test_the_page_obeys_authentication(guarded: Callable[..., httpx.Response]) -> None:
    for path in ("/ui", "/ui/page.js", "/penstock/v1/principal"):
        refused = guarded(path)
        assert (refused.status_code, refused.headers["www-authenticate"][:5]) == (401, "Basic")
        assert guarded(path, "stranger").status_code == 401
        assert guarded(path, "reader").status_code == 200


def test_the_principal_has_the_actions_of_its_roles(guarded: Callable[..., httpx.Response]) -> None:
    reader = guarded("/penstock/v1/principal", "reader").json()
    assert (reader["name"], reader["authentication"]) == ("reader", "basic")
    assert (reader["actions"], reader["actions_on_some"]) == ([], ["view"])
    assert guarded("/penstock/v1/principal?connector=orders-1", "reader").json()["actions"] == ["view"]
    assert guarded("/penstock/v1/principal?connector=payroll", "reader").json()["actions"] == []
    assert guarded("/penstock/v1/principal", "ada").json()["actions"] == ["view", "configure"]
