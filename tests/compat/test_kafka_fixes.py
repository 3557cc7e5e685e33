"""``kafka_fixes.toml``: fixes of Kafka Connect, and the tests which show that their faults do not occur here."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FIXES: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "kafka_fixes.toml").read_text())["fix"]


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text())
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, functions))


@pytest.mark.parametrize("fix", FIXES, ids=lambda fix: fix["key"])
def test_each_fix_has_an_outcome_that_existing_tests_show(fix: dict[str, Any]) -> None:
    assert re.fullmatch(r"KAFKA-[0-9]+|MINOR #[0-9]+", fix["key"])
    assert fix["title"]
    assert fix["outcome"] in ("holds", "differs", "does not apply")
    if fix["outcome"] == "holds":
        assert fix["tests"]
    else:
        assert fix["why"]
    for test in fix.get("tests", ()):
        file, name, case = re.fullmatch(r"(.*)::(\w+)(?:\[(.*)\])?", test).groups()
        assert name in names_in(file), f"{test} does not exist"
        if name == "test_scenario":
            assert (ROOT / file).parent.joinpath("scenarios", f"{case}.txt").exists(), f"{test} does not exist"


def test_each_fix_is_there_once() -> None:
    keys = [fix["key"] for fix in FIXES]
    assert sorted(keys) == sorted(set(keys))
