"""The block about what needs attention, on top of the list of connectors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import Browser, expect

from penstock.core.attention.rows import NextStep, Row
from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId
from penstock.observe import LogLevels
from penstock.worker.monitoring.attention import OwnRows
from support.rest.cluster import RestCluster
from support.rest.server import serve
from ui.conftest import Open
from ui.looks import looks_right, picture
from ui.sizes import PHONE

MINUTE_MS = 60_000
CONFIG = {"connector.class": "FileStreamSource", "topic": "t", "file": "f"}


@pytest.fixture
def cluster(chromium: Browser) -> Iterator[RestCluster]:
    with ThreadPoolExecutor(2) as pool:
        cluster = RestCluster(pool, LogLevels())
        cluster.now = int(time.time() * 1000) - 5 * MINUTE_MS
        cluster.start("one")
        for name in ("orders", "payroll", "stock"):
            cluster.submit("one", m.CreateConnector(name, {"name": name, **CONFIG}))
        yield cluster


@pytest.fixture
def url(cluster: RestCluster) -> Iterator[str]:
    with serve(cluster.app("one")) as url:
        yield f"{url}/ui"


def test_nothing_needs_attention(url: str, open_page: Open) -> None:
    page = open_page(url)
    expect(page.get_by_role("region", name="Needs attention")).to_contain_text("Nothing needs attention.")
    looks_right(page)


def test_problems_causes_and_next_steps_from_the_first_view(
    cluster: RestCluster, url: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    cause = "java.io.IOException: No space left on device"
    cluster.fail(TaskId("orders", 0), f"org.apache.kafka.connect.errors.ConnectException: stopped\nCaused by: {cause}")
    cluster.submit("one", m.SetTargetState("payroll", "PAUSED"))
    why = "The topic stock-raw does not exist on the cluster of its consumer, so nothing is read of it"
    step = NextStep("Create the topics, or correct the setting", "penstock get config stock", "configuration")
    since = int(time.time() * 1000) - 150 * MINUTE_MS
    cluster.own_rows["one"] = OwnRows((Row("missing-topics", why, step, "stock", since_ms=since),))
    cluster.workers["one"].herder.state.target_times["payroll"] = since - 5 * 24 * 60 * MINUTE_MS
    page = open_page(url)
    rows = page.locator(".attention li")
    expect(rows).to_have_count(3)
    expect(rows.locator(".state")).to_have_text(["Failed", "Missing topics", "Paused"])
    expect(rows.nth(0)).to_contain_text("orders task 0")
    expect(rows.nth(0).locator(".why")).to_have_text(cause)
    expect(rows.nth(0).locator("code")).to_have_text("penstock restart orders --include-tasks --only-failed")
    expect(rows.nth(1).locator(".why")).to_have_text(why)
    expect(rows.nth(1).locator(".since")).to_contain_text("for 3 h")
    expect(rows.nth(2).locator(".since")).to_contain_text("for 5 days")
    looks_right(page)
    picture(page, "attention", request)
    page.get_by_role("button", name="Resume: payroll").click()
    expect(page.get_by_role("status")).to_have_text("Resuming payroll")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Restart failed: orders").click()
    expect(rows).to_have_count(1)
    rows.get_by_role("link", name="Configuration").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("stock")


def test_by_keyboard_a_row_keeps_the_focus_when_others_come(cluster: RestCluster, url: str, open_page: Open) -> None:
    cluster.submit("one", m.SetTargetState("payroll", "PAUSED"))
    page = open_page(url, PHONE)
    resume = page.get_by_role("button", name="Resume: payroll")
    resume.focus()
    cluster.fail(TaskId("orders", 0), "java.io.IOException: full")
    expect(page.locator(".attention li")).to_have_count(2)
    expect(resume).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".attention li")).to_have_count(1)


def test_many_rows_are_folded(cluster: RestCluster, url: str, open_page: Open) -> None:
    step = NextStep("Look", None, "logs")
    cluster.own_rows["one"] = OwnRows(tuple(Row("unknown", f"reason {i}", step, "stock") for i in range(30)))
    page = open_page(url)
    rows = page.locator(".attention li")
    expect(rows).to_have_count(10)
    page.get_by_role("button", name="Show all 30").click()
    expect(rows).to_have_count(30)


def test_rows_that_could_not_be_read_are_not_shown_as_none(url: str, open_page: Open) -> None:
    page = open_page("about:blank")
    refusal = {"error_code": 500, "message": "Request timed out"}
    page.route("**/penstock/v1/attention", lambda route: route.fulfill(status=429, json=refusal))
    page.goto(url)
    expect(page.get_by_role("alert")).to_have_text("What needs attention is not known: Request timed out")
    expect(page.get_by_text("Nothing needs attention")).to_have_count(0)
    expect(page.locator("tbody tr")).to_have_count(3)
