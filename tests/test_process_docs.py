"""The threads that ``docs/processes.md`` names are those that the code starts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROW = re.compile(r"^\| ([^|]*`[^|]*) \|", re.MULTILINE)
SOURCES = "\n".join(path.read_text() for path in (ROOT / "src" / "penstock").rglob("*.py"))


def threads() -> list[str]:
    """Return the names in the first column of the tables of threads, without parts that differ from thread to
    thread.
    """
    text = (ROOT / "docs" / "processes.md").read_text().partition("## Who watches whom")[0]
    tables = text.partition("## The worker")[2]
    names = [name for row in ROW.findall(tables) for name in re.findall(r"`([^`]+)`", row)]
    return [re.split(r"[A-Z…]", name)[0] for name in names]


@pytest.mark.parametrize("name", threads())
def test_a_thread_of_the_documented_name_is_started(name: str) -> None:
    assert re.search(rf'(?:name ?= ?|thread=|CallPeer\(\w+, |Executor\(\d, )f?"{re.escape(name)}', SOURCES), name


def test_the_tables_have_threads() -> None:
    assert {"worker", "http", "hosted-tasks", "channel", "stall-watch", "connector-"} <= set(threads())
