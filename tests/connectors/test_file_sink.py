"""The file sink, without Kafka."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError
from penstock.api.schema import FLOAT64, INT64, STRING, struct
from penstock.api.testing import run_sink, sink_record
from penstock.connectors.file_sink import FileStreamSinkTask

ROW = struct(("a", INT64), ("b", STRING.with_(optional=True)))


def test_values_are_printed_as_java_does(tmp_path: Path) -> None:
    file = tmp_path / "out"
    records = [
        sink_record("text", value_schema=STRING),
        sink_record(None),
        sink_record(1e10, value_schema=FLOAT64),
        sink_record({"a": 1, "b": "x"}, value_schema=ROW),
        sink_record({"a": 1}, value_schema=ROW),
        sink_record({"k": [1, True, None, "é"]}),
    ]
    run_sink(FileStreamSinkTask, {"file": str(file)}, records)
    assert file.read_text() == "text\nnull\n1.0E10\nStruct{a=1,b=x}\nStruct{a=1}\n{k=[1, true, null, é]}\n"


def test_lines_are_appended_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "out"
    file.write_text("before\n")
    run_sink(FileStreamSinkTask, {"file": str(file)}, [sink_record("after")])
    assert file.read_text() == "before\nafter\n"


def test_without_a_file_the_standard_output_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    run_sink(FileStreamSinkTask, {}, [sink_record("a"), sink_record("b")])
    assert capsys.readouterr().out == "a\nb\n"


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "no such folder" / "out"
    with pytest.raises(ConnectError, match=f"^Couldn't find or create file '{file}' for FileStreamSinkTask$"):
        run_sink(FileStreamSinkTask, {"file": str(file)}, [])


def started(file: Path) -> FileStreamSinkTask:
    task = FileStreamSinkTask()
    task.start({"file": str(file)})
    return task


def test_lines_are_there_when_put_returns(tmp_path: Path) -> None:
    task = started(tmp_path / "out")
    task.put_batch(Batch.of_sink_records([sink_record("a")]))
    assert (tmp_path / "out").read_text() == "a\n"
    task.stop()


def test_a_deleted_file_fails_the_task_before_offsets_are_committed(tmp_path: Path) -> None:
    task = started(tmp_path / "out")
    task.put_batch(Batch.of_sink_records([sink_record("a")]))
    os.remove(tmp_path / "out")
    with pytest.raises(ConnectError, match="was deleted while it was written to"):
        task.pre_commit({})
    with pytest.raises(ConnectError, match="was deleted while it was written to"):
        task.put_batch(Batch.of_sink_records([sink_record("b")]))
    task.stop()


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    task = started(tmp_path / "out")
    task.put_batch(Batch.of_sink_records([sink_record("a" * 10)]))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, limits[1]))
    try:
        with pytest.raises(ConnectError, match=r"Couldn't write 101 bytes to file .*: File too large"):
            task.put_batch(Batch.of_sink_records([sink_record("b" * 100)]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)
        task.stop()
    assert (tmp_path / "out").read_text() == "a" * 10 + "\n"
