"""Files that appear whole and once, by Hadoop's own file systems, without Spark."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.spark.query.folder import HadoopFolder

pytestmark = pytest.mark.slow
WAYS = ["publish_by_link", "publish_by_create", "publish_by_rename"]


@pytest.fixture
def folder(java: Any, tmp_path: Path) -> HadoopFolder:
    return HadoopFolder(java, java.org.apache.hadoop.conf.Configuration(), tmp_path.as_uri())


@pytest.mark.parametrize("way", WAYS)
def test_a_file_is_published_whole_and_once(folder: HadoopFolder, way: str) -> None:
    publish = getattr(folder, way)
    assert folder.read("a/b.json") is None
    assert publish("a/b.json", "one")
    assert not publish("a/b.json", "two")
    assert folder.read("a/b.json") == "one"
    assert folder.children("a") == ["b.json"]


def test_only_one_of_many_publishes_on_a_local_disk(folder: HadoopFolder) -> None:
    for number in range(20):
        together, won = threading.Barrier(4), []

        def publish(name: str, number: int = number, together: Any = together, won: list[str] = won) -> None:
            together.wait()
            if folder.publish(f"lists/{number}", name):
                won.append(name)

        threads = [threading.Thread(target=publish, args=(f"run {each}",)) for each in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert [folder.read(f"lists/{number}")] == won


def test_a_file_that_another_run_has_moved_is_in_its_place(folder: HadoopFolder, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "x=1").write_text("rows")
    folder.move("new/x=1", "x=1")
    folder.move("new/x=1", "x=1")
    assert folder.data_files("") == ["x=1"]
    with pytest.raises(ConnectError, match="can't be moved"):
        folder.move("new/none", "none")
    folder.delete("new")
    folder.delete("new")
    assert folder.children("") == ["x=1"]
