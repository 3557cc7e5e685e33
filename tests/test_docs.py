"""Files, tests and settings that the documentation names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from test_layers import MAY_IMPORT, names, section_rows

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def named_files(text: str) -> list[str]:
    """Return the paths in backquotes, such as `core/model/state.py`, `tests/core/scenarios/topics.txt`, `kafka/`;
    without paths in folders that the page itself creates.
    """
    made = tuple(f"{name}/" for name in re.findall(r"penstock new \w+ ([\w-]+)", text))
    return [name for name in re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text) if not name.startswith(made)]


def named_tests(text: str) -> list[tuple[str, str]]:
    """Return the tests, such as `tests/pipeline/sink/test_sink.py::test_pause_and_resume`, as a file and a name."""
    return re.findall(r"`(tests/[\w./-]+\.py)::(\w+)`", text)


def links(text: str) -> list[str]:
    return [link.partition("#")[0] for link in re.findall(r"]\(([^)\s]+)\)", text) if "://" not in link]


def exists(name: str) -> bool:
    return any((place / name).exists() for place in (ROOT, ROOT / "src" / "penstock", ROOT / "src"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_links_exist(page: Path) -> None:
    text = page.read_text()
    assert [name for name in named_files(text) if not exists(name)] == []
    assert [link for link in links(text) if link and not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tests_that_keep_promises_exist(page: Path) -> None:
    named = named_tests(page.read_text())
    assert [f"{file}::{test}" for file, test in named if f"\ndef {test}(" not in (ROOT / file).read_text()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_values_of_examples_end_with_their_lines(page: Path) -> None:
    """In a properties file `#` begins a comment only at the beginning of a line; elsewhere it is part of a value."""
    assert re.findall(r"^ {4,}[\w-]+(?:\.[\w<>-]+)+=\S*[ \t]+#.*", page.read_text(), re.MULTILINE) == []


def promises(text: str) -> list[str]:
    """Return the rows of tables and items of lists, except heads of tables and sections of what is not promised."""
    kept, found = True, []
    for paragraph in re.split(r"\n(?=\n|[-|#])", text):
        line = paragraph.strip()
        if line.startswith("#") or line.endswith("romised:"):
            kept = "not promised" not in line.lower()
        elif kept and (line.startswith("- ") or (line.startswith("| ") and "| kept by |" not in line)):
            found.append(line)
    return found


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "guarantees").glob("*.md")), ids=lambda page: page.name)
def test_every_promise_names_its_test(page: Path) -> None:
    made = promises(page.read_text())
    assert made
    assert [each for each in made if not re.search(r"`tests/|`make ", each)] == []


def test_a_promise_without_a_test_is_found() -> None:
    table = "# Title\n\n| promise | kept by |\n|---|---|\n| A | `tests/a.py` |\n| B | |\n"
    items = "- C\n  goes on (`make c`).\n- D\n"
    assert promises(f"{table}\n{items}\nNot promised:\n\n- E\n\n## More\n\n- F\n") == [
        *("| A | `tests/a.py` |", "| B | |", "- C\n  goes on (`make c`).", "- D", "- F")
    ]


def test_a_walk_is_five_files_at_most() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    walks = re.split(r"^## ", text, flags=re.MULTILINE)[1:5]
    for walk in walks:
        steps = re.findall(r"^(\d)\. `([\w/.]+)`", walk, re.MULTILINE)
        assert [number for number, _ in steps] == ["1", "2", "3", "4", "5"]


def test_every_package_has_its_row() -> None:
    rows = {name for package, _ in section_rows("The packages") for name in names(package)}
    assert rows | {"__main__", "cli"} == set(MAY_IMPORT)
