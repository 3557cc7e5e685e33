from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.java.serialization import dump, load
from penstock.kafka.background import await_done
from penstock.kafka.offsets.entries import Change, StoredOffset
from penstock.kafka.offsets.file import OffsetFile

GOLDEN = Path(__file__).parents[2] / "java" / "golden"


def opened(path: Path) -> OffsetFile:
    file = OffsetFile(path)
    file.start()
    return file


def write(file: OffsetFile, connector: str, *changes: Change) -> None:
    await_done(lambda done: file.write(connector, changes, done), "write", 5)


def offsets(file: OffsetFile, connector: str) -> dict[str, object]:
    return {s.partition["filename"]: s.offset["position"] for s in file.snapshot(connector)}


def test_a_file_of_java_is_taken_over_and_given_back(tmp_path: Path):
    path = tmp_path / "offsets"
    shutil.copy(GOLDEN / "java-offsets.ser", path)
    file = opened(path)
    assert offsets(file, "file") == {"a.txt": 8, "b.txt": 16}
    assert file.snapshot("other") == []

    write(file, "file", ({"filename": "a.txt"}, {"position": 9}), ({"filename": "b.txt"}, None))
    assert offsets(file, "file") == {"a.txt": 9}
    assert offsets(opened(path), "file") == {"a.txt": 9}
    assert dict(load(path.read_bytes()))[b'["file",{"filename":"b.txt"}]'] is None
    assert [p.name for p in tmp_path.iterdir()] == ["offsets"]


def test_a_file_that_does_not_exist_is_made_by_the_first_write(tmp_path: Path):
    file = opened(tmp_path / "offsets")
    assert file.snapshot("c") == []
    assert not file.path.exists()
    write(file, "c", ({"filename": "x"}, {"position": 1}))
    assert opened(file.path).snapshot("c") == [
        StoredOffset({"filename": "x"}, {"position": 1}, "WyJjIix7ImZpbGVuYW1lIjoieCJ9XQ==")
    ]


def test_the_stored_bytes_of_a_key_are_written_again(tmp_path: Path):
    file = opened(tmp_path / "offsets")
    write(file, "c", ({"b": 1, "a": 2}, {"position": 1}))
    write(file, "c", ({"a": 2, "b": 1}, {"position": 2}))
    assert load(file.path.read_bytes()) == [(b'["c",{"b":1,"a":2}]', b'{"position":2}')]


def test_an_empty_file_holds_nothing(tmp_path: Path):
    (tmp_path / "offsets").touch()
    assert opened(tmp_path / "offsets").snapshot("c") == []


def test_a_file_of_something_else_is_refused(tmp_path: Path):
    (tmp_path / "offsets").write_text("hello")
    with pytest.raises(ConnectError, match=r"can't be read: it does not begin with a serialized java.util.HashMap"):
        opened(tmp_path / "offsets")


def test_a_folder_that_is_gone_fails_the_write(tmp_path: Path):
    file = opened(tmp_path / "gone" / "offsets")
    with pytest.raises(ConnectError, match=r"offset.storage.file.filename"):
        write(file, "c", ({"filename": "x"}, {"position": 1}))
    assert file.snapshot("c") == []


def test_a_link_and_the_rights_of_its_file_stay(tmp_path: Path):
    (tmp_path / "volume").mkdir()
    kept, link = tmp_path / "volume" / "offsets", tmp_path / "offsets"
    kept.touch(mode=0o600)
    kept.chmod(0o640)
    link.symlink_to(kept)
    write(opened(link), "c", ({"filename": "x"}, {"position": 1}))
    assert link.is_symlink()
    assert kept.stat().st_mode & 0o777 == 0o640
    assert offsets(opened(kept), "c") == {"x": 1}


@pytest.mark.parametrize(
    ("operation", "number"), [("open", errno.EACCES), ("open", errno.EROFS), ("replace", errno.EBUSY)]
)
def test_a_file_that_can_not_be_replaced_is_written_in_its_place(
    tmp_path: Path, operation: str, number: int, monkeypatch: pytest.MonkeyPatch
):
    """One that is mounted alone into a container, or whose folder belongs to somebody else: Java writes it, too."""
    shutil.copy(GOLDEN / "java-offsets.ser", tmp_path / "offsets")
    file, real = opened(tmp_path / "offsets"), getattr(Path, operation)

    def refused(path: Path, *args: object, **more: object) -> object:
        if path.name.endswith(".new"):
            raise OSError(number, os.strerror(number))
        return real(path, *args, **more)

    monkeypatch.setattr(Path, operation, refused)
    write(file, "file", ({"filename": "a.txt"}, {"position": 9}))
    assert offsets(opened(file.path), "file") == {"a.txt": 9, "b.txt": 16}
    assert [p.name for p in tmp_path.iterdir()] == ["offsets"]
    file.path.unlink()
    with pytest.raises(ConnectError, match=os.strerror(number)):
        write(file, "file", ({"filename": "a.txt"}, {"position": 10}))


def test_a_full_disk_fails_the_write_and_keeps_what_was_there(full_disk: Path):
    file = opened(full_disk / "offsets")
    write(file, "c", ({"filename": "x"}, {"position": 1}))
    filler = full_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(b"x" * 100_000)
    with pytest.raises(ConnectError, match=r"can't be written to .*offset.storage.file.filename.*No space left"):
        write(file, "c", *(({"filename": str(i)}, {"position": i}) for i in range(2000)))
    assert offsets(file, "c") == offsets(opened(file.path), "c") == {"x": 1}
    assert sorted(p.name for p in full_disk.iterdir()) == ["filler", "offsets"]
    filler.unlink()
    write(file, "c", ({"filename": "x"}, {"position": 2}))
    assert offsets(opened(file.path), "c") == {"x": 2}


FILE = {"filename": "x"}
IDENTITY = {"position": 4, "head": "é"}


def test_identities_of_origins_are_kept_beside_their_offsets_and_not_shown(tmp_path: Path):
    file = opened(tmp_path / "offsets")
    write(file, "c", (FILE, {"position": 4}, IDENTITY), ({"filename": "y"}, {"position": 1}))
    again = opened(file.path)
    for each in (file, again):
        assert [(found.offset, found.identity) for found in each.snapshot("c")] == [
            ({"position": 4}, IDENTITY),
            ({"position": 1}, None),
        ]
        assert again.partitions("c") == [FILE, {"filename": "y"}]
    raw = dict(load(file.path.read_bytes()))
    assert raw[b'["c",{"filename":"x"}]'] == b'{"position":4}'
    for change in ((FILE, {"position": 5}), (FILE, None)):
        write(again, "c", change)
        assert [found.identity for found in opened(file.path).snapshot("c")] == [None] * len(again.snapshot("c"))
        assert len(load(file.path.read_bytes())) == 2


def test_an_identity_does_not_belong_to_an_offset_that_java_has_written_since(tmp_path: Path):
    file = opened(tmp_path / "offsets")
    write(file, "c", (FILE, {"position": 4}, IDENTITY))
    raw = dict(load(file.path.read_bytes()))
    raw[b'["c",{"filename":"x"}]'] = b'{"position":9}'
    file.path.write_bytes(dump(list(raw.items())))
    [found] = opened(file.path).snapshot("c")
    assert (found.offset, found.identity) == ({"position": 9}, None)
