"""The file source, without Kafka."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.api.errors import ConfigError, ConnectError
from penstock.api.schema import BYTES, STRING
from penstock.api.source import SourceProgress
from penstock.api.testing import MemoryOffsets, MemorySourceContext, run_source
from penstock.connectors.file_source import FileStreamSourceTask


class Reading:
    """A task that reads a file."""

    def __init__(self, file: Path, position: int | None = None, **config: str) -> None:
        self.task = FileStreamSourceTask()
        pairs: list[Any] = [] if position is None else [({"filename": str(file)}, {"position": position})]
        self.task.context = MemorySourceContext({}, MemoryOffsets(pairs))
        self.task.start({"file": str(file), "topic": "t", **config})

    def lines(self) -> list[Any]:
        """Return the lines of two polls: only the second may find that the file was truncated or replaced."""
        return self._poll() + self._poll()

    def _poll(self) -> list[Any]:
        batch = self.task.poll()
        return [] if batch is None else batch.values


@pytest.fixture
def reading() -> Any:
    opened: list[Reading] = []

    def start(*args: Any, **config: str) -> Reading:
        opened.append(Reading(*args, **config))
        return opened[-1]

    yield start
    for each in opened:
        each.task.stop()


Start = Callable[..., Reading]


def test_records_are_those_of_java(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntwo\n")
    before = int(time.time() * 1000)
    one, two = run_source(FileStreamSourceTask, {"file": str(file), "topic": "t"})
    assert (one.topic, one.partition, one.key_schema, one.key, one.value_schema, one.value) == (
        "t",
        None,
        None,
        None,
        STRING,
        "one",
    )
    assert (one.source_partition, one.source_offset) == ({"filename": str(file)}, {"position": 4})
    assert (two.value, two.source_offset) == ("two", {"position": 8})
    assert before <= one.timestamp <= before + 60_000  # type: ignore[operator]


def test_reading_continues_at_the_stored_position(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntwo\nthree\n")
    partition = {"filename": str(file)}
    records = run_source(FileStreamSourceTask, {"file": str(file), "topic": "t"}, [(partition, {"position": 4})])
    assert [(r.value, r.source_offset["position"]) for r in records] == [("two", 8), ("three", 14)]


def test_a_stored_position_must_be_a_number(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    with pytest.raises(ConnectError, match=r"^Offset position is the incorrect type$"):
        run_source(
            FileStreamSourceTask,
            {"file": str(file), "topic": "t"},
            [({"filename": str(file)}, {"position": "4"})],
        )


def test_batches_have_at_most_the_size_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_text("".join(f"{i}\n" for i in range(10)))
    task = FileStreamSourceTask()
    task.context = MemorySourceContext({}, MemoryOffsets())
    task.start({"file": str(file), "topic": "t", "batch.size": "4"})
    batches: list[Batch | None] = [task.poll() for _ in range(4)]
    task.stop()
    assert [None if batch is None else len(batch) for batch in batches] == [4, 4, 2, None]


def test_how_far_it_is(tmp_path: Path, reading: Start) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntwo\nthree\n")
    task = reading(file, 4, **{"batch.size": "1"}).task
    partition = {"filename": str(file)}
    assert task.progress() == []
    shown = []
    for _ in range(2):
        task.poll()
        shown += task.progress()
    assert shown == [SourceProgress(partition, 8, 14, "bytes"), SourceProgress(partition, 14, 14, "bytes")]
    task.stop()
    assert task.progress() == []


def test_a_growing_file_is_followed(tmp_path: Path, reading: Start) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntw")
    task = reading(file)
    assert task.lines() == ["one"]
    with file.open("a") as out:
        out.write("o\nthree\n")
    assert task.lines() == ["two", "three"]
    assert task.lines() == []


def test_a_missing_file_is_waited_for(tmp_path: Path, reading: Start, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "in"
    task = reading(file)
    assert task.lines() == []
    message = f"Couldn't find file {file} for FileStreamSourceTask, sleeping to wait for it to be created"
    assert [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING] == [message]
    file.write_text("one\n")
    assert task.lines() == ["one"]


def test_a_replaced_file_is_read_to_its_end_and_then_the_new_one(tmp_path: Path, reading: Start) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    task = reading(file)
    assert task.lines() == ["one"]
    with file.open("a") as out:
        out.write("two\nlast without end")
    file.rename(tmp_path / "in.1")
    file.write_text("new\n")
    assert task.lines() == ["two", "last without end"]
    assert task.lines() + task.lines() == ["new"]


def test_lines_that_are_written_just_before_a_file_is_replaced_are_read(
    tmp_path: Path, reading: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, rotated = tmp_path / "in", tmp_path / "in.1"
    file.write_text("one\n")
    task = reading(file)
    assert task.lines() == ["one"]
    stat = os.stat

    def rotate(path: Any) -> Any:
        monkeypatch.setattr(os, "stat", stat)
        with file.open("a") as out:
            out.write("two\n")
        file.rename(rotated)
        file.write_text("new\n")
        return stat(path)

    monkeypatch.setattr(os, "stat", rotate)
    assert task.lines() == ["two"]
    assert task.lines() == ["new"]


def test_a_file_that_is_deleted_as_soon_as_it_has_replaced_another_is_waited_for(
    tmp_path: Path, reading: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    task = reading(file)
    assert task.lines() == ["one"]
    stat = os.stat

    def delete(path: Any) -> Any:
        monkeypatch.setattr(os, "stat", stat)
        file.rename(tmp_path / "in.1")
        file.write_text("lost\n")
        found = stat(path)
        file.unlink()
        return found

    monkeypatch.setattr(os, "stat", delete)
    assert task.lines() == []
    file.write_text("new\n")
    assert task.lines() == ["new"]


def test_a_truncated_file_is_read_from_its_beginning(tmp_path: Path, reading: Start) -> None:
    file = tmp_path / "in"
    file.write_text("one\ntwo\n")
    task = reading(file)
    assert task.lines() == ["one", "two"]
    os.truncate(file, 0)
    assert task.lines() == []
    with file.open("a") as out:
        out.write("new\n")
    assert task.lines() == ["new"]


@pytest.mark.parametrize("start", [None, 4])
@pytest.mark.parametrize("size", [1, 400])
def test_a_file_that_is_truncated_and_longer_again_is_read_from_its_beginning(
    tmp_path: Path, reading: Start, caplog: pytest.LogCaptureFixture, start: int | None, size: int
) -> None:
    """logrotate's copytruncate does that, between two polls of the source."""
    file = tmp_path / "in"
    before = ["one", "two" * size]
    file.write_text("".join(f"{line}\n" for line in before))
    task = reading(file, start)
    assert task.lines() == before[0 if start is None else 1 :]
    after = [f"{size}-{n}" for n in range(300)]
    with file.open("r+") as out:
        out.truncate()
        out.write("".join(f"{line}\n" for line in after))
    assert task.lines() == after
    assert "was truncated and written again; reading it again from its beginning" in caplog.text
    with file.open("a") as out:
        out.write("next\n")
    assert task.lines() == ["next"]
    assert caplog.text.count("written again") == 1


def test_a_position_beyond_the_end_waits_as_in_java(
    tmp_path: Path, reading: Start, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    task = reading(file, 8)
    assert task.lines() == []
    assert "beyond the end" in caplog.text
    with file.open("a") as out:
        out.write("two\nthree\n")
    assert task.lines() == ["three"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_bytes_that_are_no_text(tmp_path: Path, reading: Start, caplog: pytest.LogCaptureFixture, end: bytes) -> None:
    file = tmp_path / "in"
    lines = [b"ok", b"caf\xe9 cr\xe8me", b"\xe2\x82 \xed\xa0\x80 \xf0\x9f\x98", b"after"]
    file.write_bytes(b"".join(line + end for line in lines))
    # Decoded as by Java's InputStreamReader.
    expected = ["ok", "caf\ufffd cr\ufffdme", "\ufffd \ufffd \ufffd", "after"]
    batch = reading(file).task.poll()
    assert batch is not None
    assert batch.values == expected
    assert isinstance(batch.origin, SourceOrigin)
    ends = [sum(len(line + end) for line in lines[: n + 1]) for n in range(len(lines))]
    assert [offset["position"] for offset in batch.origin.offsets] == ends, "in bytes"
    [warning] = [r.getMessage() for r in caplog.records if "not UTF-8" in r.getMessage()]
    assert f"File {file} is not UTF-8: invalid continuation byte, byte 0xe9 at position {len(end) + 5}." in warning
    found = run_source(FileStreamSourceTask, {"file": str(file), "topic": "t", "value.format": "bytes"})
    assert [(r.value_schema, r.value) for r in found] == [(BYTES, line) for line in lines]


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConnectError, match=f"Couldn't open file {tmp_path}: Is a directory"):
        run_source(FileStreamSourceTask, {"file": str(tmp_path), "topic": "t"})


def test_a_pipe_is_refused_before_it_is_opened(tmp_path: Path, reading: Start) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ConnectError, match=f"{pipe} is a pipe or a device, which has no positions to go on from"):
        reading(pipe).lines()


def test_a_file_that_is_replaced_by_a_pipe_is_refused_without_waiting(tmp_path: Path, reading: Start) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    task = reading(file)
    assert task.lines() == ["one"]
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConnectError, match="is a pipe or a device"):
        task.lines()


def has_terminal() -> bool:
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY))
    except OSError:
        return False
    return True


def test_a_device_without_positions_is_refused(reading: Start) -> None:
    """Nor does it become the controlling terminal of a process without one, which would end with the terminal."""
    descriptors, before = os.openpty(), has_terminal()
    try:
        with pytest.raises(ConnectError, match="is a pipe or a device"):
            reading(Path(os.ttyname(descriptors[1]))).lines()
        assert has_terminal() == before
    finally:
        for each in descriptors:
            os.close(each)


def test_a_topic_is_needed() -> None:
    with pytest.raises(ConfigError, match=r'Missing required configuration "topic" which has no default value.'):
        run_source(FileStreamSourceTask, {"file": "f"})


def test_stop_ends_it_from_another_thread(tmp_path: Path, reading: Start) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    task = reading(file)
    task.task.stop()
    assert task.lines() == []


def test_idle_source_looks_less_often(reading: Start, tmp_path: Path) -> None:
    file = tmp_path / "in"
    file.write_text("one\n")
    one = reading(file)
    assert one.lines() == ["one"]
    soon = one.task.idle()
    for _ in range(100):
        assert one.task.poll() is None
    assert soon < one.task.idle() <= 1.0
    with file.open("a") as more:
        more.write("two\n")
    assert one.lines() == ["two"]
    assert one.task.idle() == soon
