"""Checks of a page's layout in all its forms: nothing is wider than the window, and axe-core finds no serious fault."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, ViewportSize

from ui.sizes import PHONE, WIDE

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def looks_right(page: Page) -> None:
    """Check the page on a phone in the dark theme, and on a wide screen in the light theme."""
    schemes: list[tuple[ViewportSize, Literal["dark", "light"]]] = [(PHONE, "dark"), (WIDE, "light")]
    for size, scheme in schemes:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        found = Axe().run(page).response["violations"]
        grave = [each for each in found if each["impact"] in ("serious", "critical")]
        where = [(each["id"], [node["html"] for node in each["nodes"]][:3]) for each in grave]
        assert not where, (page.url, size, scheme, where)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, (page.url, size)


def picture(page: Page, name: str, request: pytest.FixtureRequest, part: Locator | None = None) -> None:
    """With ``--rewrite``, take the documentation's picture from this part of the page on, or from its top."""
    if request.config.getoption("--rewrite"):
        PICTURES.mkdir(exist_ok=True)
        page.set_viewport_size({"width": 1000, "height": 640})
        if part is not None:
            part.evaluate("part => part.scrollIntoView()")
        page.screenshot(path=PICTURES / f"page-{name}.png")
