"""``penstock plugins`` where its user may not write."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.cli import app
from penstock.hosts.python.environment import Environment


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one plugin that belongs to another user; since root may write everywhere, that is simulated."""
    folder = tmp_path / "plugins"
    (folder / "one-1").mkdir(parents=True)
    connector = {"class": "one.One", "version": "1", "kind": "source"}
    Environment(folder / "one-1", "one", "1", "3.11", (connector,), ()).write()
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "two.py").touch()

    def denied(path: Path, *_: object, exist_ok: bool = False, **__: object) -> None:
        if not exist_ok:
            raise PermissionError(13, "Permission denied", str(path))

    for name in ("mkdir", "rename"):
        monkeypatch.setattr(Path, name, denied)
    monkeypatch.setattr(tarfile, "open", denied)
    return folder


@pytest.mark.parametrize(
    ("words", "place"),
    [(["install", "{}/two"], "{}/plugins"), (["remove", "one"], "{}/plugins"), (["pack", "{}/a.tgz"], "{}/a.tgz")],
)
def test_an_unwritable_folder_is_named(plugins: Path, words: list[str], place: str) -> None:
    given = [word.format(plugins.parent) for word in ["plugins", *words, "--plugin-path", "{}/plugins"]]
    done = CliRunner().invoke(app, given, env={"COLUMNS": "500"})
    assert done.exit_code == 2
    assert f"{place.format(plugins.parent)} can't be written: Permission denied" in done.stderr
