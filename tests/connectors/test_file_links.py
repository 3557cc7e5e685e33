"""The file connectors open no file out of the allowed folders, whenever a link to it was made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.api.paths import limit_to_folders
from penstock.api.testing import run_sink, run_source, sink_record
from penstock.connectors.file_sink import FileStreamSinkTask
from penstock.connectors.file_source import FileStreamSourceTask

pytestmark = pytest.mark.security
REFUSED = r"is not in the folders of `penstock\.paths\.allowed` of the worker"


@pytest.fixture
def inside(tmp_path: Path) -> Iterator[Path]:
    """The only allowed folder; beside it is a file with a secret."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("secret\n")
    limit_to_folders([str(tmp_path / "in")])
    yield tmp_path / "in"
    limit_to_folders(None)


def test_a_source_does_not_read_what_a_link_leads_to(inside: Path) -> None:
    (inside / "file").symlink_to(inside.parent / "secret")
    (inside / "folder").symlink_to(inside.parent)
    for name in ("file", "folder/secret", "../secret"):
        with pytest.raises(ConnectError, match=r"`penstock\.paths\.allowed` of the worker"):
            run_source(FileStreamSourceTask, {"file": f"{inside}/{name}", "topic": "t"})


def test_a_source_does_not_follow_a_file_that_is_replaced_by_a_link(inside: Path) -> None:
    (inside / "file").write_text("one\n")
    task = FileStreamSourceTask()
    found = run_source(FileStreamSourceTask, {"file": f"{inside}/file", "topic": "t"})
    assert [record.value for record in found] == ["one"]
    task.start({"file": f"{inside}/file", "topic": "t"})
    task._file = (inside / "file").open("rb", 0)
    task._seen = 4
    task._file.seek(4)
    (inside / "file").unlink()
    (inside / "file").symlink_to(inside.parent / "secret")
    with pytest.raises(ConnectError, match=REFUSED):
        task.poll()
    task.stop()


def test_a_sink_does_not_write_what_a_link_leads_to(inside: Path) -> None:
    (inside / "file").symlink_to(inside.parent / "secret")
    (inside / "new").symlink_to(inside.parent / "new")
    for name in ("file", "new"):
        with pytest.raises(ConnectError, match=REFUSED):
            run_sink(FileStreamSinkTask, {"file": f"{inside}/{name}"}, [sink_record("x")])
    assert (inside.parent / "secret").read_text() == "secret\n"
    assert not (inside.parent / "new").exists()


def test_files_and_links_inside_are_used(inside: Path) -> None:
    (inside / "link").symlink_to(inside / "file")
    run_sink(FileStreamSinkTask, {"file": f"{inside}/file"}, [sink_record("x")])
    run_sink(FileStreamSinkTask, {"file": f"{inside}/link"}, [sink_record("y")])
    found = run_source(FileStreamSourceTask, {"file": f"{inside}/link", "topic": "t"})
    assert [record.value for record in found] == ["x", "y"]
