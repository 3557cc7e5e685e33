from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from support.together import TOGETHER, rank, scope

ROOT = Path(__file__).parents[2]


def test_a_folder_whose_tests_share_something_is_one_piece_of_work() -> None:
    assert [folder for folder in TOGETHER if not (ROOT / folder).is_dir()] == []
    jdbc = "tests/spark/query/jdbc/"
    assert scope(f"{jdbc}test_jdbc_sink.py::test_a[b::c]") == scope(f"{jdbc}test_jdbc_mariadb.py::test_d") == jdbc


def test_any_other_file_is_one() -> None:
    assert scope("tests/http/test_server.py::test_a[b::c]") == "tests/http/test_server.py"


def test_what_takes_minutes_begins_first() -> None:
    files = ["tests/http/test_server.py::test_a", *(f"{folder}test_a.py::test_b" for folder in reversed(TOGETHER))]
    assert sorted(files, key=rank) == [*(f"{folder}test_a.py::test_b" for folder in TOGETHER), files[0]]


DATABASES = ROOT / "tests" / "spark" / "query" / "jdbc"
CREATED = re.compile(r'CREATE TABLE (?:IF NOT EXISTS )?(\w+)|"table\.name\.format": "(\w+)"')


@pytest.mark.parametrize("server", ["postgres", "mariadb"])
def test_tests_that_share_a_database_have_tables_of_their_own(server: str) -> None:
    tests_of = defaultdict[str, set[str]](set)
    for path in DATABASES.glob("test_*.py"):
        text = path.read_text()
        for each in ast.parse(text).body:
            if isinstance(each, ast.FunctionDef) and server in {argument.arg for argument in each.args.args}:
                for names in CREATED.findall(ast.get_source_segment(text, each) or ""):
                    tests_of["".join(names)].add(each.name)
    assert len(tests_of) > 10
    assert {table: tests for table, tests in tests_of.items() if len(tests) > 1} == {}
