"""The page when answers are unusual: numbers that JavaScript would round, a worker that refuses for a while."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.observe import LogLevels
from support.rest.cluster import RestCluster
from support.rest.server import serve
from support.rest.without_values import cluster_class
from ui.conftest import Open

LONG = 1234567890123456789


@pytest.fixture(scope="module")
def cluster(chromium: Browser) -> Iterator[RestCluster]:
    with ThreadPoolExecutor(2) as pool:
        cluster = RestCluster(pool, LogLevels())
        cluster.start("one")
        config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
        cluster.submit("one", m.CreateConnector("orders", {"name": "orders", **config}))
        yield cluster


@pytest.fixture(scope="module")
def url(cluster: RestCluster) -> Iterator[str]:
    with serve(cluster.app("one")) as url:
        yield f"{url}/ui"


def test_offsets_and_records_have_their_numbers_digit_by_digit(cluster: RestCluster, url: str, open_page: Open) -> None:
    partition, offset = {"table": LONG}, {"incrementing": LONG, "share": 1.0}
    cluster.offsets["orders"] = {repr(partition): {"partition": partition, "offset": offset}}
    cluster.submit("one", m.StopConnector("orders"))
    page = open_page(f"{url}#/connector/orders/offsets")
    shown = page.get_by_role("textbox", name=f'Offset of {{"table":{LONG}}}')
    expect(shown).to_have_value(f'{{"incrementing":{LONG},"share":1.0}}')
    page.get_by_role("button", name="Alter").click()
    expect(page.get_by_role("status")).to_contain_text("altered")
    (written,) = cluster.offsets["orders"].values()
    assert (str(written["partition"]["table"]), str(written["offset"]["incrementing"])) == (str(LONG), str(LONG))
    before = {"topic": "t", "key": LONG, "value": {"id": LONG}, "headers": [], "origin": {}}
    result = {**before, "bytes": {"key": None, "value": None}}
    cluster.previewed = {
        "kind": "source",
        "records": [{"before": before, "steps": [], "result": result, "error": None}],
        "error": None,
    }
    page.goto(f"{url}#/connector/orders/configuration")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator(".record .right code")).to_have_text([str(LONG), f'{{"id":{LONG}}}'])
    cluster.submit("one", m.SetTargetState("orders", "STARTED"))


def test_settings_without_a_value_in_the_validation_are_shown_and_kept(
    chromium: Browser, tmp_path: Path, open_page: Open
) -> None:
    with ThreadPoolExecutor(2) as pool:
        cluster = cluster_class(tmp_path, "shown_without_values")(pool, LogLevels())
        cluster.start("one")
        cluster.submit(
            "one",
            m.CreateConnector(
                "c", {"name": "c", "connector.class": "shown_without_values.WithoutValues", "place": "here"}
            ),
        )
        with serve(cluster.app("one")) as url:
            page = open_page(f"{url}/ui#/connector/c/configuration")
            expect(page.get_by_label("place", exact=True)).to_have_value("here")
            expect(page.locator("form").get_by_role("status")).to_contain_text("Valid")


def test_the_page_of_a_connector_shows_the_same_state_as_the_list(
    cluster: RestCluster, url: str, open_page: Open
) -> None:
    config = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    cluster.submit("one", m.CreateConnector("partly", {"name": "partly", **config}))
    cluster.fail(TaskId("partly", 0), "the disk is full")
    page = open_page(url)
    expect(page.locator("tr", has_text="partly").locator(".state")).to_have_text("FAILED")
    page.goto(f"{url}#/connector/partly")
    expect(page.locator("h1 .state")).to_have_text("FAILED")
    expect(page.locator("h1")).to_contain_text("1 of 1 tasks failed")
    cluster.submit("one", m.DeleteConnector("partly"))


def test_a_state_that_the_page_does_not_know_comes_before_running(
    cluster: RestCluster, url: str, open_page: Open
) -> None:
    page = open_page("about:blank")
    known = {"state": "RUNNING", "worker_id": "one"}

    def status(name: str, **task: str) -> dict[str, Any]:
        return {"status": {"name": name, "type": "source", "connector": known, "tasks": [{"id": 0, **known, **task}]}}

    page.route("**/connectors?*", lambda route: route.fulfill(json={"a": status("a"), "z": status("z", state="NEW")}))
    page.goto(url)
    expect(page.locator("tbody tr .state")).to_have_text(["NEW", "RUNNING"])


def refused(page: Page, path: str) -> list[Any]:
    """Refuses requests at this path while the list that it returns is not emptied."""
    reasons = ["too many"]

    def answer(route: Route) -> None:
        if reasons:
            route.fulfill(status=429, json={"error_code": 429, "message": reasons[0]})
        else:
            route.continue_()

    page.route(path, answer)
    return reasons


def test_logs_are_followed_again_after_a_refusal(url: str, open_page: Open) -> None:
    page = open_page("about:blank")
    reasons = refused(page, "**/logs/stream?*")
    page.goto(f"{url}#/connector/orders/logs")
    said = page.locator("section [role=status]")
    expect(said).to_have_text("The worker sends no log lines; trying again")
    reasons.clear()
    expect(said).to_have_text("")


def test_the_notice_of_an_absent_worker_is_cleared_when_it_answers(
    cluster: RestCluster, url: str, open_page: Open
) -> None:
    config = {"name": "full", "connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    assert cluster.submit("one", m.CreateConnector("full", config)).result() is not None
    page = open_page("about:blank")
    page.goto(f"{url}#/connector/full")
    expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
    notice = page.locator("#notice")
    reasons = refused(page, "**/connectors/full/status?*")
    expect(notice).to_have_text("too many")
    reasons.clear()
    expect(notice).to_have_text("")
    cluster.fail(TaskId("full", 0), "java.io.IOException: full")
    expect(page.locator(".failure h2")).to_have_text(["Task 0 failed"])


def test_buttons_pressed_by_keyboard_keep_the_focus(url: str, open_page: Open) -> None:
    page = open_page(f"{url}#/connector/orders")
    for verb, state in (("Pause", "PAUSED"), ("Resume", "RUNNING")):
        page.get_by_role("button", name=verb).focus()
        page.keyboard.press("Enter")
        expect(page.locator("h1 .state")).to_have_text(state)
        expect(page.get_by_role("button", name=verb, exact=True)).to_have_count(0)
        expect(page.locator("main > .controls button:focus")).to_have_count(1)


def test_a_setting_that_is_chosen_from_a_list_shows_what_it_is(cluster: RestCluster, url: str, open_page: Open) -> None:
    config = {"name": "orders", "connector.class": "FileStreamSource", "topic": "t", "file": "f"}
    cluster.submit("one", m.PutConfig("orders", {**config, "errors.log.enable": "TRUE"}))
    page = open_page(f"{url}#/connector/orders/configuration")
    expect(page.get_by_label("errors.log.enable", exact=True)).to_have_value("TRUE")
    expect(page.get_by_text("Nothing is changed.")).to_be_visible()


def test_a_value_may_be_empty(cluster: RestCluster, url: str, open_page: Open) -> None:
    page = open_page(f"{url}#/connector/orders/configuration")
    page.get_by_label("Name of another setting").fill("transforms")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_label("Changes").locator("li")).to_have_count(1)
    expect(page.get_by_text("Valid", exact=True)).to_be_visible()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Tasks")).to_be_visible()
    assert cluster.workers["one"].herder.state.connectors["orders"].config["transforms"] == ""


def test_a_password_is_not_shown_among_the_changes(cluster: RestCluster, url: str, open_page: Open) -> None:
    config = {
        "name": "database",
        "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "connection.url": "jdbc:sqlite:/nowhere",
        "connection.password": "canary-old",
        "mode": "bulk",
        "topic.prefix": "t",
    }
    assert cluster.submit("one", m.CreateConnector("database", config)).result() is not None
    page = open_page(f"{url}#/connector/database/configuration")
    page.get_by_label("connection.password", exact=True).fill("canary-new")
    changes = page.get_by_label("Changes")
    expect(changes).to_contain_text("connection.password: [hidden] [hidden]")
    page.get_by_label("topic.prefix", exact=True).fill("u")
    expect(changes).to_contain_text("topic.prefix: t u")
    assert "canary" not in changes.inner_text()


def test_the_notice_of_an_unknown_class_is_cleared_by_a_known_one(url: str, open_page: Open) -> None:
    page = open_page(f"{url}#/connector/orders/configuration")
    chosen, notice = page.get_by_label("connector.class", exact=True), page.locator("#notice")
    chosen.fill("Nonsense")
    expect(notice).to_contain_text("Nonsense")
    chosen.fill("FileStreamSource")
    expect(notice).to_have_text("")


def test_an_address_that_is_not_escaped_has_an_answer(url: str, open_page: Open) -> None:
    page = open_page(f"{url}#/connector/50%")
    expect(page.get_by_role("alert")).to_contain_text("there is no connector of this name")
