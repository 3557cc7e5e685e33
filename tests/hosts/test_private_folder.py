"""The folder of a user's JVMs when another user has made one of its name before, and temporary files of all kinds."""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import penstock
from penstock.hosts.jvm.process import MAX_FOLDER_BYTES, JvmSpec, JvmStartError, base_folder

pytestmark = pytest.mark.security

NAME = f"penstock-jvm-{os.getuid()}"


def of_another_user(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    try:
        os.chown(folder, 12345, 12345)
    except PermissionError:
        pytest.skip("only root can make folders of others")


def open_to_all(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)


def link(folder: Path) -> None:
    (folder.parent / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(folder.parent / "elsewhere")


def in_a_folder_without_owner(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    folder.parent.chmod(0o777)


HOSTILE: list[Callable[[Path], None]] = [of_another_user, open_to_all, link, Path.touch, in_a_folder_without_owner]


@pytest.fixture
def shared(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("s")  # a short path
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.__name__)
def test_a_folder_that_is_not_private_is_not_used_and_does_not_stop_anything(
    shared: Path, attack: Callable[[Path], None]
) -> None:
    attack(shared / NAME)
    for folder in (base_folder(), JvmSpec("k", Path("/java"), ()).folder().parent):
        found = folder.lstat()
        assert folder.parent != shared
        assert stat.S_ISDIR(found.st_mode)
        assert (found.st_uid, found.st_mode & 0o077) == (os.getuid(), 0)


def test_a_folder_of_this_user_is_used_by_all_of_its_processes(shared: Path) -> None:
    assert base_folder() == base_folder() == shared / NAME
    assert (shared / NAME).stat().st_mode & 0o777 == 0o700


def test_a_socket_fits_into_the_longest_folder(tmp_path: Path) -> None:
    folder = Path("/" + "x" * (MAX_FOLDER_BYTES - 1)) / ("y" * 16) / ("z" * 8) / "socket"
    with socket.socket(socket.AF_UNIX) as connection, pytest.raises(FileNotFoundError):
        connection.connect(str(folder))


def test_no_place_is_a_sentence_that_names_them_all(
    shared: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 54321)  # so that no folder is this user's
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path_factory.mktemp("home")))
    with pytest.raises(JvmStartError) as raised:
        base_folder()
    assert "There is no private folder for JVMs of plugins" in str(raised.value)
    assert str(raised.value).count("penstock-jvm-54321") == 2
    Path("/tmp/penstock-jvm-54321").rmdir()


def test_no_module_makes_temporary_files_of_known_names() -> None:
    """`mktemp` gives a name that another may take first; a fixed name below `/tmp` may be there already."""
    pattern = re.compile(r"\bmktemp\(|[\"']/(tmp|var/tmp|dev/shm)/(?!lines.txt)|gettempdir\(\)\)? */")
    found = [
        f"{file.name}: {line.strip()}"
        for file in Path(penstock.__file__).parent.rglob("*.py")
        for line in file.read_text("utf-8").splitlines()
        if pattern.search(line)
    ]
    assert found == []
