from __future__ import annotations

from pathlib import Path

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
