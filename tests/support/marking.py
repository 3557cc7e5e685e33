"""Marks of tests that need a JVM, a broker, Spark or a browser: tests with the fixtures that start one are marked, and
a test of ``make fast`` that starts a JVM or a browser fails.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

STARTING = frozenset({"bootstrap", "registry_url", "jvm", "jvm_spec"})
"""The fixtures that start a JVM or a broker, used directly or through other fixtures."""
MAKING = frozenset({"chromium", "installed"})
"""Fixtures of browsers and of environments made by pip: tests with these are marked ``slow``."""
NOT_FAST = ("integration", "slow")
"""Marks of tests that ``make fast`` leaves out."""
FAST = " and ".join(f"not {mark}" for mark in NOT_FAST)
"""Expression with which ``make fast`` selects tests."""
_ROOT = Path(__file__).parents[2]
_MARKED = re.compile(rf"^pytestmark = .*\bpytest\.mark\.(?:{'|'.join(NOT_FAST)})\b", re.MULTILINE)
_JAVAS = frozenset({"java", "spark-submit"})
_IVY = re.compile(r"ivy-[\d.]+\.jar")
_BROWSERS = ("/playwright/driver/node", "chromium", "google-chrome")
_running: list[str] = []
"""The node ID of the running test, if it is not marked, and then the JVMs and browsers that it has started."""


def security_tests() -> frozenset[str]:
    """Return the files and folders of tests that the pages about security name."""
    pages = [(_ROOT / "docs" / name).read_text("utf-8") for name in ("security.md", "threat-model.md")]
    return frozenset(found for page in pages for found in re.findall(r"`(tests/[\w./-]+)(?:::\w+)?`", page))


def mark(items: Sequence[pytest.Item]) -> None:
    """Mark tests by the fixtures that they use, directly or not, and the tests that the pages about security name.
    Called before tests are selected.
    """
    boundaries = {_ROOT / path for path in security_tests()}
    files = {item.path for item in items}
    of_boundaries = {file for file in files if not boundaries.isdisjoint((file, *file.parents))}
    for item in items:
        if item.path in of_boundaries:
            item.add_marker(pytest.mark.security)
        for mark, fixtures in ((pytest.mark.integration, STARTING), (pytest.mark.slow, MAKING)):
            if not item.get_closest_marker(mark.name) and fixtures.intersection(getattr(item, "fixturenames", ())):
                item.add_marker(mark)


def is_left_out(path: Path, expression: str) -> bool:
    """Return whether all tests of a file are marked and none is selected, so that it need not be imported."""
    return expression == FAST and path.suffix == ".py" and _MARKED.search(path.read_text("utf-8")) is not None


def begin(item: pytest.Item) -> None:
    """Called before the fixtures of a test are made."""
    _running[:] = [] if any(map(item.get_closest_marker, NOT_FAST)) else [item.nodeid]


def end() -> None:
    """Called after a test. Fails if it was not marked and has started a JVM or a browser."""
    test, *started = _running or [""]
    _running.clear()
    if started:
        what, mark = ("a browser", "slow") if starts_browser(started[0].split()) else ("a JVM", "integration")
        pytest.fail(f"{test} starts {what} ({started[0]}), so it has to be marked `{mark}`", pytrace=False)


def watch() -> None:
    """Begin to watch the processes that this one starts. Called once."""
    sys.addaudithook(_look)


def _look(event: str, arguments: Any) -> None:
    if event == "subprocess.Popen" and _running:
        given = arguments[1]
        words = [given] if isinstance(given, str | bytes | os.PathLike) else list(given)
        command = [os.fsdecode(word) for word in words]
        if starts_java(command) or starts_browser(command):
            _running.append(" ".join(command)[:100])


def starts_java(command: Sequence[str]) -> bool:
    """Return whether a command starts a JVM to do more than print its version or, by Ivy, fetch jars: that happens in
    the first run on a machine, whichever test comes first.
    """
    names = [os.path.basename(word) for word in command]
    return not _JAVAS.isdisjoint(names) and "-version" not in names and not any(map(_IVY.fullmatch, names))


def starts_browser(command: Sequence[str]) -> bool:
    """Return whether a command starts a browser, or Playwright's Node, which starts one."""
    return command[0].endswith(_BROWSERS)
