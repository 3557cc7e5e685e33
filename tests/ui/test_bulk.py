"""Actions on many connectors from the list: selection, preview, progress and causes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, Page, expect

from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.observe import LogLevels
from support.rest.cluster import RestCluster
from support.rest.server import serve
from ui.conftest import Open
from ui.looks import looks_right, picture
from ui.sizes import PHONE

CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}
NAMES = ("crm-in", "crm-out", "orders", "odd*")


@pytest.fixture
def cluster(chromium: Browser) -> Iterator[RestCluster]:
    with ThreadPoolExecutor(2) as pool:
        cluster = RestCluster(pool, LogLevels())
        cluster.now = int(time.time() * 1000) - 300_000
        cluster.start("one")
        for name in NAMES:
            cluster.submit("one", m.CreateConnector(name, {"name": name, **CONFIG}))
        yield cluster


@pytest.fixture
def url(cluster: RestCluster) -> Iterator[str]:
    with serve(cluster.app("one")) as url:
        yield f"{url}/ui"


def targets(cluster: RestCluster) -> dict[str, str]:
    state = cluster.workers["one"].herder.state
    return {name: state.target_state(name) for name in state.connectors}


def preview(page: Page, action: str) -> None:
    page.get_by_label("Action").select_option(action)
    page.get_by_role("button", name="Preview…").click()


def test_a_pause_of_what_the_filter_shows_and_its_resume(
    cluster: RestCluster, url: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    cluster.submit("one", m.SetTargetState("crm-out", "PAUSED"))
    page = open_page(url)
    expect(page.locator("tbody tr")).to_have_count(4)
    page.get_by_label("Filter").fill("crm")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.get_by_label("Select all shown").check()
    expect(page.get_by_text("2 selected")).to_be_visible()
    preview(page, "Pause")
    dialog = page.get_by_role("dialog", name="Pause: 2 connectors")
    rows = dialog.locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="crm-in")).to_contain_text("would change")
    expect(rows.filter(has_text="crm-out")).to_contain_text("It is to be paused already")
    assert targets(cluster)["crm-in"] == "STARTED"
    looks_right(page)
    picture(page, "bulk", request)
    dialog.get_by_role("button", name="Pause: 1 connector").click()
    expect(dialog.get_by_role("status")).to_contain_text("Ended: 1 of 1, none has failed")
    expect(rows).to_contain_text(["done"])
    looks_right(page)
    dialog.get_by_role("button", name="Resume what this has changed…").click()
    resume = page.get_by_role("dialog", name="Resume: 1 connector")
    resume.get_by_role("button", name="Resume: 1 connector").click()
    expect(resume.get_by_role("status")).to_contain_text("Ended: 1 of 1, none has failed")
    resume.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert targets(cluster) == {"crm-in": "STARTED", "crm-out": "PAUSED", "orders": "STARTED", "odd*": "STARTED"}


def test_failures_show_their_causes(cluster: RestCluster, url: str, open_page: Open) -> None:
    cluster.submit("one", m.SetTargetState("orders", "PAUSED"))
    cluster.fail(TaskId("orders", 0), "x.Y: no\nCaused by: java.io.IOException: disk full")
    page = open_page(url)
    page.get_by_label("Select orders").check()
    preview(page, "Resume")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Resume: 1 connector").click()
    expect(dialog.get_by_role("status")).to_contain_text("Ended: 1 of 1, 1 not done")
    expect(dialog.locator("tbody tr")).to_contain_text(["java.io.IOException: disk full"])
    looks_right(page)


def test_by_keyboard_a_setting_is_changed_on_a_phone(cluster: RestCluster, url: str, open_page: Open) -> None:
    page = open_page(url, PHONE)
    for name in ("odd*", "orders"):
        page.get_by_label(f"Select {name}", exact=True).focus()
        page.keyboard.press("Space")
    preview(page, "Change a setting")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Setting")).to_be_focused()
    page.keyboard.type("topic")
    dialog.get_by_label("New value").fill("u")
    looks_right(page)
    dialog.get_by_role("button", name="Preview").focus()
    page.keyboard.press("Enter")
    expect(dialog.locator("tbody tr")).to_contain_text(["topic from t to u", "topic from t to u"])
    expect(dialog.get_by_role("button", name="Change a setting: 2 connectors")).to_be_focused()
    cluster.now += 1000
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("status")).to_contain_text("Ended: 2 of 2, none has failed")
    state = cluster.workers["one"].herder.state
    assert {name: each.config["topic"] for name, each in state.connectors.items()} == {
        "crm-in": "t", "crm-out": "t", "orders": "u", "odd*": "u"
    }  # fmt: skip
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_an_error_is_shown_in_the_dialog(url: str, open_page: Open) -> None:
    page = open_page(url)
    page.get_by_label("Select orders").check()
    preview(page, "Change a setting")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Setting").fill("topic")
    dialog.get_by_label("New value").fill("[hidden]")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.get_by_role("alert")).to_contain_text("has a mask in place of a secret")
    looks_right(page)
    dialog.get_by_label("New value").fill("u")
    dialog.get_by_role("button", name="Preview").click()
    expect(dialog.locator("tbody tr")).to_contain_text(["topic from t to u"])
    expect(dialog.get_by_role("alert")).to_be_empty()


def test_progress_goes_on_after_a_poll_that_fails(cluster: RestCluster, url: str, open_page: Open) -> None:
    cluster.hanging.add(TaskId("orders", 0))
    page = open_page(url)
    page.get_by_label("Select orders").check()
    preview(page, "Pause")
    dialog = page.get_by_role("dialog")
    polls = "**/penstock/v1/bulk/*"
    page.route(polls, lambda route: route.fulfill(status=429, json={"error_code": 429, "message": "too many"}))
    dialog.get_by_role("button", name="Pause: 1 connector").click()
    expect(dialog.get_by_role("alert")).to_have_text("The progress can't be read at the moment: too many")
    cluster.submit("one", m.DeleteConnector("orders"))
    page.unroute(polls)
    expect(dialog.get_by_role("status")).to_contain_text("Ended: 1 of 1, 1 not done")
    expect(dialog.get_by_role("alert")).to_be_empty()


@pytest.mark.parametrize("action", ["Stop", "Delete"])
def test_by_keyboard_a_second_enter_does_not_stop_or_delete(
    cluster: RestCluster, url: str, open_page: Open, action: str
) -> None:
    page = open_page(url)
    page.get_by_label("Select orders").check()
    page.get_by_label("Action").select_option(action)
    page.get_by_role("button", name="Preview…").focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("button", name=f"{action}: 1 connector")).to_be_visible()
    expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert targets(cluster)["orders"] == "STARTED"


def test_a_check_box_below_the_first_rows_keeps_the_focus(cluster: RestCluster, url: str, open_page: Open) -> None:
    for number in range(80):
        cluster.submit("one", m.CreateConnector(f"x{number:02}", {"name": f"x{number:02}", **CONFIG}))
    page = open_page(url)
    box = page.get_by_label("Select x79")
    box.focus()
    cluster.submit("one", m.SetTargetState("x00", "PAUSED"))
    expect(page.locator("tbody tr").filter(has_text="x00")).to_contain_text("PAUSED")
    expect(page.locator("tbody tr")).to_have_count(84)
    expect(box).to_be_focused()
