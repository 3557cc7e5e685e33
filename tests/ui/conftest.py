"""The page in a real Chromium, which Debian's package ``chromium`` provides; ``scripts/browser`` installs it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, expect, sync_playwright

from support.machine import missing
from ui.sizes import WIDE

expect.set_options(timeout=900_000)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic")
QUIET = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for one module: while it is open, Playwright's event loop runs on this thread, and excludes others."""
    path = os.environ.get("PENSTOCK_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        missing("tests of the page need Chromium: run `make browser`, or `apt-get install chromium`")
    with sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=path, headless=True, args=[*FLAGS, *QUIET])
        except Error as error:
            missing(f"Chromium at {path} can't be started: {error}")
        yield browser
        browser.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Open]:
    """Open a URL in a separate context. Errors in the console and exceptions of scripts fail the test."""
    contexts = []
    wrong: list[str] = []

    def opened(url: str, size: Any = WIDE, **options: Any) -> Page:
        context = chromium.new_context(viewport=size, **options)
        context.set_default_timeout(900_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        page.goto(url)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert [text for text in wrong if "the server responded with a status of 4" not in text] == []
