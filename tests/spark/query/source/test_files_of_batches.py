"""The files that a batch of a source is read from, by Spark's notes in the checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.spark.query.limits import QueryLimits
from penstock.spark.query.source.checkpoint import files_of_batch

pytestmark = pytest.mark.security


def entry(path: str, list: int) -> str:
    return f'{{"path":"{path}","timestamp":1,"batchId":{list}}}'


NOTES = {
    "offsets/0": 'v1\n{"conf":{}}\n{"logOffset":0}',
    "offsets/1": 'v1\n{"conf":{}}\n{"logOffset":2}',
    "offsets/2": 'v1\n{"conf":{}}\n{"logOffset":9}',
    "offsets/3": 'v1\n{"conf":{}}\n17',
    "sources/0/0": f"v1\n{entry('file:///in/a%20b', 0)}\n{entry('file:///in/c', 0)}",
    "sources/0/1": f"v1\n{entry('file:///in/d', 1)}",
    "sources/0/2": f"v1\n{entry('file:///in/e', 2)}",
    **{f"sources/0/{number}": "v1" for number in range(3, 9)},
    "sources/0/9.compact": f"v1\n{entry('file:///in/c', 0)}\n{entry('file:///in/f', 9)}",
}


def test_files_are_those_of_all_lists_of_the_batch() -> None:
    assert files_of_batch(NOTES.get, 0) == ["file:///in/a%20b", "file:///in/c"]
    assert files_of_batch(NOTES.get, 1) == ["file:///in/d", "file:///in/e"]
    assert files_of_batch(NOTES.get, 2) == ["file:///in/f"]


def test_sources_without_files_have_none() -> None:
    assert files_of_batch(NOTES.get, 3) == []
    assert files_of_batch({"offsets/0": 'v1\n{}\n{"sourceVersion":1,"reservoirId":"x"}'}.get, 0) == []


def test_a_missing_list_is_an_error() -> None:
    with pytest.raises(ConnectError, match="The files of batch 0 can't be checked"):
        files_of_batch({"offsets/0": NOTES["offsets/0"]}.get, 0)


def test_files_that_are_links_are_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a b").write_text("x")
    (tmp_path / "in" / "link").symlink_to("/etc/hostname")
    limits = QueryLimits(folders=(str(tmp_path / "in"),))
    limits.check_files([(tmp_path / "in" / "a b").as_uri()])
    for bad in ("file:///etc/hostname", (tmp_path / "in" / "link").as_uri()):
        with pytest.raises(ConnectError, match=r"is not in the folders of `penstock\.paths\.allowed`"):
            limits.check_files([bad])
