"""The page over a cluster in memory, with real herders and plugins: 500 connectors, and users with roles."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bcrypt
import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, expect

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.http.access.gate import authentication, gate
from penstock.http.app import make_router
from penstock.http.forwarding import Peers
from penstock.http.routes.workers import Workers
from penstock.observe import LogLevels
from support.rest.cluster import RestCluster
from support.waiting import until
from ui.conftest import Open
from ui.looks import looks_right
from ui.sizes import PHONE

MANY = 500
ROLES = """
rules:
  - {users: [reader], connectors: ["orders-*"], actions: [view]}
  - {users: [operator], actions: [view, operate]}
  - {users: [ada], actions: [view, view-config, operate, configure, offsets, dead-letters, admin]}
"""


class Served:
    """An ASGI application on a port of its own."""

    def __init__(self, app: Any) -> None:
        config = uvicorn.Config(app, port=0, log_config=None, lifespan="off", ws="none")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> str:
        self.thread.start()
        until(lambda: self.server.started, "the server")
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}/ui"

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join()


@pytest.fixture(scope="module")
def cluster(chromium: Browser) -> Iterator[RestCluster]:
    with ThreadPoolExecutor(2) as pool:
        cluster = RestCluster(pool, LogLevels())
        cluster.start("one")
        for i in range(MANY):
            name, config = f"orders-{i}", {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
            labels = {"penstock.labels.team": f"team-{i % 5}"}
            cluster.submit("one", m.CreateConnector(name, {"name": name, **config, **labels}))
        cluster.submit("one", m.CreateConnector("payroll", {"name": "payroll", **config}))
        yield cluster


@pytest.fixture(scope="module")
def url(cluster: RestCluster) -> Iterator[str]:
    with Served(cluster.app("one")) as url:
        yield url


@pytest.fixture(scope="module")
def guarded(cluster: RestCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("roles")
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    (folder / "htpasswd").write_text("".join(f"{user}:{hashed}\n" for user in ("reader", "operator", "ada")))
    (folder / "roles.yaml").write_text(ROLES)
    config = {
        "penstock.authentication.htpasswd": str(folder / "htpasswd"),
        "penstock.authorization.file": str(folder / "roles.yaml"),
    }
    guard = authentication(config, {})
    access = gate(config, guard)
    client = httpx.AsyncClient()
    workers = Workers(cluster.metrics("one").about, Peers("http://one", client))
    app = make_router(lambda request: cluster.submit("one", request), client, guard=guard, gate=access, workers=workers)
    with Served(app) as url:
        yield url


def test_many_connectors_come_with_one_request(url: str, open_page: Open) -> None:
    page = open_page("about:blank")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(url.removesuffix("/ui"))))
    with page.expect_response(lambda answer: "/connectors?" in answer.url) as listed:
        page.goto(url)
    expect(page.locator("tbody tr")).to_have_count(MANY + 1)
    assert [path for path in asked if path.startswith("/connectors")] == [
        "/connectors?expand=status&expand=info&penstock=true"
    ]
    assert len(asked) == len(set(asked))
    assert len(listed.value.body()) < 600 * (MANY + 1)
    page.get_by_label("Filter").press_sequentially("orders-49")
    expect(page.locator("tbody tr")).to_have_count(11)
    page.get_by_label("Group by label").select_option("team")
    expect(page.locator("h2", has_text="team=")).to_have_count(5)
    looks_right(page)


def test_stalled_and_retrying_tasks_are_not_shown_as_failed(cluster: RestCluster, url: str, open_page: Open) -> None:
    stalled, retrying = TaskId("orders-300", 0), TaskId("orders-200", 0)
    cluster.stall(stalled, "The task is stalled: poll has not returned since 2026. It is at\n  line 7")
    cluster.degrade(retrying, "java.io.IOException: no disk")
    cluster.fail(TaskId("orders-400", 0), "java.io.IOException: the disk is full")
    cluster.figures["one"] = {0: {"records_behind": 1200, "retrying": False}}
    page = open_page(url)
    first = page.locator("tbody tr")
    for i, (name, trouble) in enumerate(
        (("orders-400", ""), ("orders-200", "1 retrying"), ("orders-300", "1 stalled"))
    ):
        expect(first.nth(i)).to_contain_text(f"{name}")
        expect(first.nth(i)).to_contain_text(trouble)
    expect(first.nth(3).locator("td").nth(3)).to_have_text("1,200")
    page.get_by_label("Filter").fill("stalled")
    expect(first).to_have_count(1)
    looks_right(page)
    first.get_by_role("link", name="orders-300").click()
    expect(page.locator(".failure h2")).to_have_text(["Task 0 is stalled"])
    expect(page.locator(".root")).to_contain_text("poll has not returned")
    page.goto(f"{url}#/connector/orders-200")
    expect(page.locator(".failure h2")).to_have_text(["Task 0 retries"])
    cluster.figures.clear()
    cluster.stall(stalled, None)
    cluster.degrade(retrying, None)
    cluster.submit("one", m.RestartConnector("orders-400", True, False))


def test_by_keyboard_alone(url: str, open_page: Open) -> None:
    page = open_page(url)
    expect(page.locator("tbody tr")).to_have_count(MANY + 1)
    expect(page.get_by_text("Nothing needs attention.")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    for _ in range(5):
        page.keyboard.press("Tab")  # the filter, the groups, all, the first box, the first connector
    expect(page.get_by_role("link", name="orders-0", exact=True)).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("orders-0")


def test_on_a_phone_nothing_is_wider_than_it(url: str, open_page: Open) -> None:
    for hash in ("connector/orders-0", "connector/orders-0/configuration", "create"):
        page = open_page(f"{url}#/{hash}", PHONE)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        looks_right(page)


def test_an_unknown_connector_is_said_to_be_unknown(url: str, open_page: Open) -> None:
    page = open_page(f"{url}#/connector/nothing")
    expect(page.get_by_role("alert")).to_contain_text("nothing")


OFFERED = {
    "reader": [],
    "operator": ["Restart with tasks", "Pause", "Stop"],
    "ada": ["Restart with tasks", "Pause", "Stop", "Delete"],
}


@pytest.mark.parametrize("user", OFFERED)
def test_forbidden_actions_are_not_offered(guarded: str, open_page: Open, user: str) -> None:
    page = open_page(guarded, http_credentials={"username": user, "password": "right"})
    expect(page.locator("tbody tr")).to_have_count(MANY if user == "reader" else MANY + 1)
    expect(page.locator("#user")).to_have_text(user)
    configures = user == "ada"
    expect(page.get_by_role("link", name="Create")).to_be_visible(visible=configures)
    page.get_by_role("link", name="orders-7", exact=True).click()
    expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
    assert page.locator("main > .controls button").all_text_contents() == OFFERED[user]
    expect(page.get_by_role("button", name="Restart task 0")).to_have_count(0 if user == "reader" else 1)
    expect(page.get_by_role("link", name="Dead letters")).to_have_count(int(user == "ada"))
    page.get_by_role("link", name="Configuration").click()
    expect(page.get_by_role("button", name="Save")).to_have_count(int(configures))
    if not configures:
        expect(page.get_by_text("but not change it")).to_be_visible()
    page.get_by_role("link", name="Workers").click()
    runs = page.get_by_role("region", name="Workers").locator("tbody tr")
    expect(runs).to_contain_text(["500 connectors" if user == "reader" else "one (leader)"])
    runs.locator("summary").click()
    expect(runs.get_by_role("link", name="orders-7", exact=True)).to_be_visible()
    expect(runs.get_by_role("link")).to_have_count(MANY if user == "reader" else MANY + 1)
    expect(page.get_by_role("heading", name="Loggers")).to_have_count(int(configures))
    expect(page.get_by_role("alert")).to_have_count(0)
