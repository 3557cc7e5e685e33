"""Files of a sink's runs: a run that wakes up after its successor has written leaves the successor's files alone."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.api.query import BatchVersion
from penstock.connectors.spark.sink_settings import SinkSettings
from penstock.spark.query.sink.tables.files import Files, folder_name


class LocalFolder:
    """A local ``Folder`` that can call a function just before a list is published."""

    copies = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.before_publishing: Callable[[], None] = lambda: None

    def full(self, path: str) -> str:
        return str(self.root / path)

    def children(self, path: str) -> list[str]:
        return sorted(os.listdir(self.root / path)) if (self.root / path).exists() else []

    def data_files(self, path: str) -> list[str]:
        return sorted(str(file.relative_to(self.root / path)) for file in (self.root / path).rglob("*.txt"))

    def read(self, path: str) -> str | None:
        return (self.root / path).read_text() if (self.root / path).exists() else None

    def publish(self, path: str, text: str) -> bool:
        self.before_publishing()
        try:
            with (self.root / path).open("x") as file:
                file.write(text)
        except FileExistsError:
            return False
        return True

    def move(self, source: str, target: str) -> None:
        if (self.root / source).exists():
            (self.root / source).rename(self.root / target)
        assert (self.root / target).exists()

    def delete(self, path: str) -> None:
        where = self.root / path
        if where.is_dir():
            for child in where.iterdir():
                self.delete(str(child.relative_to(self.root)))
            where.rmdir()
        else:
            where.unlink(missing_ok=True)


class Rows:
    """A data frame of one row that calls a function while Spark writes it."""

    def __init__(self, name: str, run: str, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.name, self.run, self.meanwhile = name, run, meanwhile

    @property
    def write(self) -> Rows:
        return self

    def format(self, _: str) -> Rows:
        return self

    def options(self, **_: str) -> Rows:
        return self

    def save(self, path: str) -> None:
        Path(path).mkdir(parents=True)
        (Path(path) / f"part-{self.run}-{self.name}.txt").write_text(self.name)
        self.meanwhile()


class Run:
    """A run of one connector."""

    def __init__(self, root: Path, name: str) -> None:
        self.name, self.folder = name, LocalFolder(root)
        self.files = Files(SinkSettings.of({"path": str(root)}), "connector", self.folder)
        self.fenced = False

    def add(self, number: int, meanwhile: Callable[[], None] = lambda: None, epoch: str = "e") -> None:
        frame: Any = Rows(f"{epoch}{number}", self.name, meanwhile)
        self.files.add(frame, BatchVersion(epoch, number), self._confirm)

    def _confirm(self) -> None:
        if self.fenced:
            raise ConnectError("fenced")


@pytest.fixture
def frozen(tmp_path: Path) -> Run:
    return Run(tmp_path, "frozen")


@pytest.fixture
def successor(tmp_path: Path) -> Run:
    return Run(tmp_path, "successor")


def rows(root: Path) -> list[str]:
    return sorted(file.read_text() for file in root.glob("*.txt"))


def all_files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*"))


def test_a_batch_is_added_once_and_the_list_of_the_last_one_remains(tmp_path: Path, successor: Run) -> None:
    for number in (1, 2, 2, 3):
        successor.add(number)
    assert rows(tmp_path) == ["e1", "e2", "e3"]
    assert os.listdir(tmp_path / ".penstock" / "connector") == ["e-3.list"]
    assert successor.files.last() == BatchVersion("e", 3)


@pytest.mark.parametrize("ahead", [1, 2, 3])
def test_a_run_that_wakes_while_it_writes_adds_nothing(tmp_path: Path, frozen: Run, successor: Run, ahead: int) -> None:
    def succeed() -> None:
        for number in range(1, ahead + 1):
            successor.add(number)

    if ahead == 1:
        frozen.add(1, succeed)  # the same batch: its successor's files count
    else:
        with pytest.raises(ConnectError, match=f"Another run of this task has written batch e-{ahead}"):
            frozen.add(1, succeed)
    assert rows(tmp_path) == [f"e{number}" for number in range(1, ahead + 1)]
    assert successor.files.last() == BatchVersion("e", ahead)


@pytest.mark.parametrize("epoch", ["e", "other"])
def test_a_run_that_wakes_before_it_writes_deletes_nothing(
    tmp_path: Path, frozen: Run, successor: Run, epoch: str
) -> None:
    successor.add(1)
    successor.add(2)

    def wake() -> None:
        before = all_files(tmp_path)
        with pytest.raises(ConnectError, match="Another run of this task"):
            frozen.add(2 if epoch == "other" else 1, epoch=epoch)
        assert all_files(tmp_path) == before

    successor.add(3, meanwhile=wake)
    assert rows(tmp_path) == ["e1", "e2", "e3"]


def test_a_run_that_wakes_before_it_publishes_withdraws_its_list(tmp_path: Path, frozen: Run, successor: Run) -> None:
    def succeed() -> None:
        successor.add(1)
        successor.add(2)

    frozen.folder.before_publishing = succeed
    with pytest.raises(ConnectError, match="Another run of this task has written batch e-2"):
        frozen.add(1)
    assert rows(tmp_path) == ["e1", "e2"]
    assert successor.files.last() == BatchVersion("e", 2)
    successor.add(3)
    assert rows(tmp_path) == ["e1", "e2", "e3"]


def test_a_fenced_run_publishes_nothing(tmp_path: Path, frozen: Run, successor: Run) -> None:
    def fence() -> None:
        frozen.fenced = True

    with pytest.raises(ConnectError, match="fenced"):
        frozen.add(1, fence)
    assert rows(tmp_path) == []
    successor.add(1)
    assert rows(tmp_path) == ["e1"]


def test_the_table_is_ahead_of_a_group_that_was_reset(tmp_path: Path, successor: Run) -> None:
    for number in (1, 2):
        successor.add(number)
    assert successor.files.later(BatchVersion("new", 1)) == BatchVersion("e", 2)
    assert successor.files.later(BatchVersion("new", 2)) == BatchVersion("e", 2)
    assert successor.files.later(BatchVersion("e", 2)) is None
    assert successor.files.later(BatchVersion("e", 3)) is None
    assert successor.files.later(BatchVersion("new", 3)) is None


def test_no_list_has_a_name_that_a_reader_takes_for_data(tmp_path: Path, successor: Run) -> None:
    successor.add(1)
    suffixes = {Path(name).suffix for name in all_files(tmp_path) if (tmp_path / name).is_file()}
    assert suffixes == {".txt", ".list"}


def test_lists_of_earlier_versions_are_renamed_and_still_count(tmp_path: Path, successor: Run) -> None:
    successor.add(1)
    own = tmp_path / ".penstock" / "connector"
    (own / "e-1.list").rename(own / "e-1.json")
    later = Run(tmp_path, "later")
    assert later.files.later(BatchVersion("e", 1)) is None
    assert os.listdir(own) == ["e-1.list"]
    later.add(1)
    assert rows(tmp_path) == ["e1"]
    (own / "e-1.list").rename(own / "e-1.json")
    with pytest.raises(ConnectError, match="Another run of this task has written batch e-1"):
        Run(tmp_path, "third").add(0)


def test_what_a_killed_attempt_has_left_is_gone_with_its_batch(tmp_path: Path, successor: Run) -> None:
    left = tmp_path / ".penstock" / "connector" / "e-1-0a0b0c0d" / "_temporary"
    left.mkdir(parents=True)
    (left / "part-0.txt").write_text("e1")
    successor.add(1)
    assert [file.name for file in tmp_path.rglob("*.txt")] == ["part-successor-e1.txt"]


def test_a_list_that_is_not_complete_is_not_taken_for_a_batch(tmp_path: Path, successor: Run) -> None:
    (tmp_path / ".penstock" / "connector").mkdir(parents=True)
    (tmp_path / ".penstock" / "connector" / "e-1.list").write_text("")
    with pytest.raises(ConnectError, match="is not complete"):
        successor.add(1)


def test_each_connector_of_each_cluster_has_a_folder_of_its_own() -> None:
    owners = [
        ("k1", "connect-c", "c"),
        ("k2", "connect-c", "c"),
        ("k1", "connect-d", "c"),
        ("k1", "connect-c", "d"),
        ("k1", "connect-..", ".."),
        ("k1", "connect-.", "."),
        ("k1", "connect- ac", " AC"),
        ("k1", "connect- ac", "€"),
        ("k1", "x", "/" * 300),
    ]
    names = [folder_name(*owner) for owner in owners]
    assert len(set(names)) == len(owners)
    assert all(set(name) - set("./") == set(name) and len(name) < 120 for name in names)
