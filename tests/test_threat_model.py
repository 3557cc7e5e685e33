"""docs/threat-model.md and docs/security.md name tests that exist, for every attack; `make security` runs them."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.marking import security_tests

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "threat-model.md").read_text("utf-8")
pytestmark = pytest.mark.security


def table(title: str) -> list[list[str]]:
    section = PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line] for line in lines]


ATTACKS = table("Attacks and boundaries")


def functions(file: Path) -> set[str]:
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    return {each.name for each in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(each, kinds)}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: f"{attack[0]}-{attack[2]}"[:60])
def test_each_attack_names_tests_that_exist(attack: list[str]) -> None:
    _, actor, what, boundary, named = attack
    assert what
    assert boundary
    tests = re.findall(r"`(tests/[^`]+)`", named)
    assert tests
    for test in tests:
        path, _, function = test.partition("::")
        assert (ROOT / path).is_file(), test
        assert not function or function in functions(ROOT / path), test
    known = tuple(row[0].split(" of ")[0] for row in table("Actors"))
    for each in actor.split(", "):
        assert each.startswith((*known, "who", "in a cluster", "other user", "writer", "member")), each


def test_attacks_are_numbered() -> None:
    assert [row[0] for row in ATTACKS] == [str(number) for number in range(1, len(ATTACKS) + 1)]


def test_every_test_that_the_page_of_security_names_exists() -> None:
    named = security_tests()
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []
    assert len(named) > 40


def test_make_security_runs_the_tests_that_are_named(tmp_path: Path) -> None:
    """Files that the two pages name are marked when they are collected."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-m", "security"]
    files = ["tests/java/test_regex_time.py", "tests/core/test_secrets.py", "tests/java/test_hash_map.py"]
    there = [file for file in files if (ROOT / file).exists()]
    bare = {name: text for name, text in os.environ.items() if name != "PYTEST_ADDOPTS"}
    said = subprocess.run([*command, *there], cwd=ROOT, env=bare, capture_output=True, text=True, check=False).stdout
    assert {each for each in there if f"{each}::" in said} == {each for each in there if each in security_tests()}
    assert "tests/java/test_regex_time.py::" in said
