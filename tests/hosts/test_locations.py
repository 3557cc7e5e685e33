"""Java plugins among the files of ``plugin.path``."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.hosts.jvm.plugins.catalogue import find
from penstock.hosts.jvm.plugins.locations import Checksums, java_files, java_locations
from penstock.hosts.jvm.shipped import pack


@pytest.fixture
def location(tmp_path: Path) -> Path:
    folder = tmp_path / "plugins" / "one"
    (folder / "lib").mkdir(parents=True)
    (folder / "lib" / "a.jar").write_bytes(b"a")
    return folder


def files(location: Path) -> list[str]:
    return [each.relative_to(location).as_posix() for each in java_files(location)]


def test_links_that_lead_in_a_circle_are_followed_once(location: Path) -> None:
    (location / "lib" / "self").symlink_to(".")
    (location / "lib" / "up").symlink_to("..")
    assert files(location) == ["lib/a.jar"]


def test_a_link_that_leads_nowhere_is_not_there(location: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(location.parent.parent / "home"))
    (location / "gone.jar").symlink_to("nowhere.jar")
    assert files(location) == ["lib/a.jar"]
    assert Checksums().of(location)


def test_names_may_be_in_capitals(location: Path) -> None:
    (location / "B.JAR").write_bytes(b"b")
    (location.parent / "C.Jar").write_bytes(b"c")
    assert files(location) == ["B.JAR", "lib/a.jar"]
    assert [each.name for each in java_locations([str(location.parent)])] == ["C.Jar", "one"]


def test_a_jar_that_can_not_be_read_is_left_out(
    location: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def denied(_: Checksums, file: Path) -> str:
        raise PermissionError(13, "Permission denied", str(file))

    monkeypatch.setenv("PENSTOCK_HOME", str(location.parent.parent / "home"))
    monkeypatch.setattr(Checksums, "_of_file", denied)
    assert find([str(location.parent)]) is None
    assert pack([str(location.parent)]) == []
    why = f"{location}/lib/a.jar can't be read: Permission denied"
    assert f"The plugins of {location} can't be used, since {why}" in caplog.text
