import errno
from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError, folder, home, refusal


def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("PENSTOCK_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert home() == tmp_path / ".cache" / "penstock"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert home() == tmp_path / "xdg" / "penstock"
    monkeypatch.setenv("PENSTOCK_HOME", "~/mine")
    assert home() == tmp_path / "mine"


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(EmbeddedError, match="taken can't be a folder, since a file is in the way"):
        folder(tmp_path / "taken")
    with pytest.raises(EmbeddedError, match="taken/below can't be a folder"):
        folder(tmp_path / "taken" / "below")


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space is left on the disk of /x"),
        (errno.EACCES, "/x can't be written by this user"),
        (errno.EIO, "/x can't be written: Input/output error."),
    ],
)
def test_the_systems_refusal_is_a_sentence(number: int, words: str) -> None:
    said = refusal(OSError(number, "Input/output error"), Path("/x"))
    assert words in said
    assert said.endswith(".")
