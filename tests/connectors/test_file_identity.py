"""The file source after a restart: a file that was replaced, truncated or rotated while no task ran."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import SourceOrigin
from penstock.api.errors import ConnectError
from penstock.api.origin import IdentifiedDict, OriginChangedError, identity_of
from penstock.api.paths import limit_to_folders
from penstock.api.testing import MemoryOffsets, MemorySourceContext
from penstock.connectors import file_blocks
from penstock.connectors.file_source import FileStreamSourceTask

LONG = [f"line {n:06} {'x' * 40}" for n in range(100)]


def text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


class Runs:
    """Runs of a task, one after the other, with the offset that the one before has left."""

    def __init__(self, file: Path) -> None:
        self.file, self.stored = file, list[Any]()

    def run(self, polls: int = 6, **config: str) -> list[str]:
        task = FileStreamSourceTask()
        task.context = MemorySourceContext({}, MemoryOffsets(self.stored))
        task.start({"file": str(self.file), "topic": "t", **config})
        try:
            return self.poll(task, polls)
        finally:
            task.stop()

    def poll(self, task: FileStreamSourceTask, polls: int = 6) -> list[str]:
        values: list[str] = []
        for _ in range(polls):
            batch = task.poll()
            if batch is not None:
                values += batch.values
                assert isinstance(batch.origin, SourceOrigin)
                self.stored.append((batch.origin.partitions[-1], batch.origin.offsets[-1]))
            self.stored += task.uncarried_offsets()
        return values


@pytest.fixture(params=["in", "in.log"])
def runs(tmp_path: Path, request: pytest.FixtureRequest) -> Runs:
    return Runs(tmp_path / str(request.param))


def replaced(file: Path, lines: list[str]) -> None:
    new = file.with_name("new of it")
    new.write_text(text(lines))
    new.replace(file)


def rewritten(file: Path, lines: list[str]) -> None:
    file.write_text(text(lines))


CHANGES = [replaced, rewritten]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("before", [["one", "two"], LONG])
@pytest.mark.parametrize("after", [["x"], [], ["other", *LONG], [*LONG[:50], "other", *LONG]])
def test_another_file_under_the_same_name_fails_the_task(
    runs: Runs, change: Callable[[Path, list[str]], None], before: list[str], after: list[str]
) -> None:
    rewritten(runs.file, before)
    assert runs.run() == before
    change(runs.file, after)
    why = r"(was truncated or replaced|was replaced or rewritten)\. .*restart.*continue.*or correct the offset"
    with pytest.raises(OriginChangedError, match=why):
        runs.run()


@pytest.mark.parametrize("change", CHANGES)
def test_restart_reads_another_file_from_its_beginning_once(
    runs: Runs, change: Callable[[Path, list[str]], None]
) -> None:
    rewritten(runs.file, LONG)
    runs.run()
    change(runs.file, [])
    assert runs.run(**{"on.origin.changed": "restart"}) == []
    assert runs.stored[-1][1] == {"position": 0}
    with runs.file.open("a") as out:
        out.write("new\n")
    assert runs.run() == ["new"]
    assert runs.run() == []


def test_continue_reads_another_file_from_the_position(runs: Runs) -> None:
    rewritten(runs.file, ["one"])
    runs.run()
    rewritten(runs.file, ["ONE", "two"])
    assert runs.run(**{"on.origin.changed": "continue"}) == ["two"]
    with runs.file.open("a") as out:
        out.write("three\n")
    assert runs.run() == ["three"], "the identity is that of the new file"


@pytest.mark.parametrize("size", [1, 30, 255, 256, 257, 600, 3000])
def test_a_file_that_was_only_appended_to_or_restored_from_a_copy_is_the_same(runs: Runs, size: int) -> None:
    rewritten(runs.file, ["x" * (size - 1)])
    assert len(runs.run()) == 1
    with runs.file.open("a") as out:
        out.write("two\n")
    shutil.copy(runs.file, runs.file.with_name("a copy"))
    runs.file.with_name("a copy").replace(runs.file)
    assert runs.run() == ["two"]
    assert runs.run() == []


@pytest.mark.parametrize("batch", ["1", "7", "2000"])
def test_the_identity_of_each_batch_is_that_of_its_position(runs: Runs, batch: str) -> None:
    rewritten(runs.file, LONG)
    for polls in range(1, 9):
        runs.stored.clear()
        values = runs.run(polls, **{"batch.size": batch})
        assert values + runs.run(200) == LONG


def test_offsets_inside_of_a_batch_have_the_identity_of_its_beginning(runs: Runs) -> None:
    rewritten(runs.file, LONG)
    task = FileStreamSourceTask()
    task.context = MemorySourceContext({}, MemoryOffsets())
    task.start({"file": str(runs.file), "topic": "t", "batch.size": "10"})
    first, second = task.poll(), task.poll()
    task.stop()
    assert first is not None
    assert second is not None
    assert isinstance(first.origin, SourceOrigin)
    part = second.select(range(4))
    assert isinstance(part.origin, SourceOrigin)
    assert identity_of(part.origin.offsets[-1]) is None
    assert identity_of(part.origin.partitions[-1]) == identity_of(first.origin.offsets[-1])


def test_an_offset_of_another_position_than_the_identity_is_used_as_it_is(runs: Runs) -> None:
    rewritten(runs.file, LONG)
    runs.run()
    partition, offset = runs.stored[-1]
    rewritten(runs.file, ["one", "two"])
    for altered in ({"position": 4}, IdentifiedDict({"position": 4}, identity_of(offset) or {})):
        runs.stored[:] = [(partition, altered)]
        assert runs.run() == ["two"]


@pytest.mark.parametrize("identity", [{}, {"position": 4}, {"position": 4, "head": 1, "tail": None}])
def test_an_identity_of_another_form_is_none(runs: Runs, identity: dict[str, Any]) -> None:
    rewritten(runs.file, ["one", "two"])
    runs.stored.append(({"filename": str(runs.file)}, IdentifiedDict({"position": 4}, identity)))
    assert runs.run() == ["two"]


ROTATIONS = ["{}.1", "{}-20261129", "{}.2026-11-29", "{}.old"]


@pytest.mark.parametrize("name", ROTATIONS)
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("policy", ["fail", "restart"])
def test_the_rest_of_a_rotated_file_is_read_before_the_new_file(
    runs: Runs, name: str, copied: bool, policy: str
) -> None:
    rewritten(runs.file, LONG[:50])
    assert runs.run() == LONG[:50]
    with runs.file.open("a") as out:
        out.write(text(LONG[50:]) + "no end")
    moved = runs.file.with_name(name.format(runs.file.name))
    if copied:
        shutil.copy(runs.file, moved)
    else:
        runs.file.rename(moved)
    rewritten(runs.file, ["new 1", "new 2"])
    (runs.file.with_name(f"{runs.file.name}.7")).write_text("another\n")
    assert runs.run(3, **{"on.origin.changed": policy}) == [*LONG[50:], "no end"]
    assert runs.run(**{"on.origin.changed": policy}) == ["new 1", "new 2"]
    assert runs.run() == []


@pytest.mark.parametrize("polls", [1, 2, 3, 4, 5, 6, 20])
def test_all_files_of_several_rotations_are_read_in_their_order(runs: Runs, polls: int) -> None:
    rewritten(runs.file, LONG[:50])
    runs.run()
    with runs.file.open("a") as out:
        out.write(text(LONG[50:]))
    runs.file.rename(runs.file.with_name(f"{runs.file.name}.3"))
    for number in (2, 1):
        runs.file.with_name(f"{runs.file.name}.{number}").write_text(text([f"of {number}", f"of {number}, too"]))
    rewritten(runs.file, ["new"])
    expected = [*LONG[50:], "of 2", "of 2, too", "of 1", "of 1, too", "new"]
    assert runs.run(polls) + runs.run(20) == expected
    assert runs.run() == []


def test_a_gap_between_rotated_files_fails_the_task(runs: Runs) -> None:
    rewritten(runs.file, LONG)
    runs.run()
    runs.file.rename(runs.file.with_name(f"{runs.file.name}.3"))
    runs.file.with_name(f"{runs.file.name}.1").write_text("of 1\n")
    rewritten(runs.file, ["new"])
    with pytest.raises(OriginChangedError):
        runs.run()


@pytest.mark.parametrize(("name", "neighbour"), [("in1.csv", "in10.csv"), ("in.csv", "in2.csv"), ("in", "input-1")])
def test_a_neighbour_that_begins_alike_is_no_rotated_file(tmp_path: Path, name: str, neighbour: str) -> None:
    runs = Runs(tmp_path / name)
    rewritten(runs.file, ["id;name"])
    assert runs.run() == ["id;name"]
    runs.file.with_name(neighbour).write_text("id;name\n7;of another file\n")
    replaced(runs.file, ["name;id", "new;1"])
    with pytest.raises(OriginChangedError):
        runs.run()


def test_the_rest_of_a_rotated_file_is_read_while_there_is_no_new_one(runs: Runs) -> None:
    rewritten(runs.file, LONG)
    runs.run()
    with runs.file.open("a") as out:
        out.write("rest\n")
    runs.file.rename(runs.file.with_name(f"{runs.file.name}.1"))
    assert runs.run() == ["rest"]
    rewritten(runs.file, ["new"])
    assert runs.run() == ["new"]


def test_a_missing_file_is_waited_for_and_compared(runs: Runs) -> None:
    rewritten(runs.file, ["one"])
    runs.run()
    runs.file.unlink()
    assert runs.run() == []
    rewritten(runs.file, ["ONE"])
    with pytest.raises(OriginChangedError):
        runs.run()


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    token = limit_to_folders([str(allowed)])
    yield allowed
    token.var.reset(token)


@pytest.mark.security
def test_a_rotated_file_is_opened_in_allowed_folders_only(tmp_path: Path, folders: Path) -> None:
    runs = Runs(folders / "in.log")
    rewritten(runs.file, LONG)
    runs.run()
    moved = tmp_path / "elsewhere"
    runs.file.rename(moved)
    runs.file.with_name("in.log.1").symlink_to(moved)
    rewritten(runs.file, ["new"])
    with pytest.raises(ConnectError, match="replaced"):
        runs.run()


def test_a_replaced_file_that_is_still_empty_is_the_one_of_the_position_after_a_restart(runs: Runs) -> None:
    """The old one was read to its end by a running task, and is gone."""
    rewritten(runs.file, LONG)
    task = FileStreamSourceTask()
    task.context = MemorySourceContext({}, MemoryOffsets(runs.stored))
    task.start({"file": str(runs.file), "topic": "t"})
    assert runs.poll(task) == LONG
    replaced(runs.file, [])
    assert runs.poll(task) == []
    task.stop()
    rewritten(runs.file, ["new"])
    assert runs.run() == ["new"]


def test_room_of_nul_bytes_is_filled_while_the_task_runs(runs: Runs) -> None:
    room = 3 << 20
    runs.file.write_bytes(b"\0" * room)
    task = FileStreamSourceTask()
    task.context = MemorySourceContext({}, MemoryOffsets(runs.stored))
    task.start({"file": str(runs.file), "topic": "t"})
    written = 0
    with runs.file.open("r+b", 0) as out:
        for n in range(20):
            lines = [f"{n}: {each}" for each in LONG[:n]]
            half = text(lines).encode()
            out.write(half[: len(half) // 2])
            found = runs.poll(task, 2)
            out.write(half[len(half) // 2 :])
            assert found + runs.poll(task, 2) == lines
            written += len(half)
        out.truncate(written + 3)
        assert runs.poll(task) == []
        out.write(b"\0\0a\n")
    assert runs.poll(task) == ["\0\0a"]
    task.stop()


def test_nul_bytes_with_text_after_them_are_read(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_blocks, "SCAN_SECONDS", 0.0)
    hole = (1 << 20) + 10
    runs.file.write_bytes(b"a\n" + b"\0" * (3 * hole) + b"b\n" + b"\0" * (3 * hole))
    assert runs.run(12) == ["a", "\0" * (3 * hole) + "b"]


def test_an_incomplete_line_that_is_changed_in_place_is_not_a_truncation(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    runs.file.write_text(text(LONG) + "....")
    task = FileStreamSourceTask()
    task.context = MemorySourceContext({}, MemoryOffsets(runs.stored))
    task.start({"file": str(runs.file), "topic": "t"})
    assert runs.poll(task) == LONG
    with runs.file.open("r+b") as out:
        out.seek(-4, os.SEEK_END)
        out.write(b"last line\n")
    assert runs.poll(task) == ["last line"]
    assert "beginning" not in caplog.text
    task.stop()


def test_an_incomplete_line_that_is_cut_off_is_not_a_truncation(runs: Runs, caplog: pytest.LogCaptureFixture) -> None:
    runs.file.write_text(text(LONG) + "half of a li")
    task = FileStreamSourceTask()
    task.context = MemorySourceContext({}, MemoryOffsets(runs.stored))
    task.start({"file": str(runs.file), "topic": "t"})
    assert runs.poll(task) == LONG
    os.truncate(runs.file, len(text(LONG)))
    assert runs.poll(task) == []
    with runs.file.open("a") as out:
        out.write("whole\n")
    assert runs.poll(task) == ["whole"]
    assert "beginning" not in caplog.text
    task.stop()
