"""Discovery of Java plugins: by real jars, with Java Connect's own scanners."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hosts.plugins import plugin_path
from penstock.embedded.java import java_home
from penstock.hosts.jvm.plugins import catalogue
from penstock.hosts.jvm.plugins.catalogue import Catalogue, find

pytestmark = pytest.mark.integration


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[Path]]:
    """What was looked at by a JVM; nothing is known from before."""
    monkeypatch.setattr(catalogue, "home", lambda: tmp_path / "home")
    looked: list[list[Path]] = []
    run = catalogue._run

    def counted(executable: Path, jars: Sequence[Path], locations: list[Path]) -> Any:
        looked.append(locations)
        return run(executable, jars, locations)

    monkeypatch.setattr(catalogue, "_run", counted)
    return looked


def found(path: str) -> Catalogue:
    there = find([path])
    assert there is not None
    return there


def test_folders_without_jars_cost_nothing(tmp_path: Path, scans: list[list[Path]]) -> None:
    (tmp_path / "python").mkdir()
    (tmp_path / "python" / "plugin.py").write_text("raise SystemExit")
    assert find([str(tmp_path), str(tmp_path / "missing")]) is None
    assert scans == []


def test_plugins_are_found_once(tmp_path: Path, scans: list[list[Path]]) -> None:
    path = plugin_path(tmp_path / "plugins", "connect-file", "chain")
    first = found(path)
    names = {(each.name, each.version, each.kinds("hybrid_warn")) for each in first.plugins}
    assert ("org.apache.kafka.connect.file.FileStreamSourceConnector", "4.3.1", ("source",)) in names
    assert {name.rpartition(".")[2] for name, _, _ in names} >= {"Mark", "ValueContains", "Backwards"}
    assert [len(each) for each in scans] == [2]
    assert found(path) == first
    assert len(scans) == 1
    source = next(each for each in first.plugins if each.name.endswith("FileStreamSourceConnector"))
    assert [key["name"] for key in source.document["config"]] == ["file", "topic", "batch.size"]


def test_a_process_below_sparks_looks_at_nothing_again(
    tmp_path: Path, scans: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Penstock sets ``JAVA_HOME`` for them."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    path = plugin_path(tmp_path / "plugins", "connect-file")
    found(path)
    monkeypatch.setenv("JAVA_HOME", str(java_home()))
    found(path)
    assert len(scans) == 1


def test_only_what_has_changed_is_looked_at_again(tmp_path: Path, scans: list[list[Path]]) -> None:
    path = plugin_path(tmp_path / "plugins", "connect-file")
    found(path)
    (jar,) = (tmp_path / "plugins").rglob("connect-file*.jar")
    copy = tmp_path / "plugins" / "copy.jar"
    shutil.copyfile(jar, copy)
    assert len(found(path).plugins) == 4, "the same classes in two places"
    os.utime(copy, (1, 1))
    assert len(found(path).plugins) == 4
    (location,) = {each.location for each in found(path).plugins} - {copy}
    assert scans == [[location]] or scans == [[location], [copy]], "a folder of one jar is not that jar"
    looked = len(scans)
    location.rename(location.with_name("moved"))
    moved = found(path)
    assert len(scans) == looked, "the same content in another place"
    assert {each.url for each in moved.plugins} == {f"file:{copy}", f"file:{location.with_name('moved')}/"}


def test_a_class_for_a_newer_java_is_named(tmp_path: Path, scans: list[list[Path]]) -> None:
    plugin_path(tmp_path / "other", "connect-file")
    (jar,) = (tmp_path / "other").rglob("connect-file*.jar")
    newer = tmp_path / "plugins" / "newer.jar"
    newer.parent.mkdir()
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(newer, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("FileStreamSourceConnector.class"):
                content = content[:6] + (44 + 99).to_bytes(2, "big") + content[8:]  # Java 99
            new.writestr(name, content)
    there = found(str(newer.parent))
    assert [each.name.rpartition(".")[2] for each in there.plugins] == ["FileStreamSinkConnector"]
    (problem,) = [each for each in there.problems if "99" in each]
    assert problem.startswith(
        f"org.apache.kafka.connect.file.FileStreamSourceConnector of {newer} can't be used: it is compiled for Java 99"
    )


def test_what_is_no_jar_is_reported_and_stops_nothing(
    tmp_path: Path, scans: list[list[Path]], caplog: pytest.LogCaptureFixture
) -> None:
    path = plugin_path(tmp_path / "plugins", "connect-file")
    (tmp_path / "plugins" / "broken.jar").write_bytes(b"no archive")
    assert {each.name.rpartition(".")[2] for each in found(path).plugins} == {
        "FileStreamSinkConnector",
        "FileStreamSourceConnector",
    }


def test_modes_of_discovery(tmp_path: Path, scans: list[list[Path]]) -> None:
    """The scan sees all classes, service manifests what they list."""
    plugin_path(tmp_path / "other", "connect-file")
    (jar,) = (tmp_path / "other").rglob("connect-file*.jar")
    bare = tmp_path / "plugins" / "bare.jar"
    bare.parent.mkdir()
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(bare, "w") as new:
        for name in old.namelist():
            if "SinkConnector" not in name or "services" not in name:
                new.writestr(name, old.read(name))
    kinds = {
        each.name.rpartition(".")[2]: [each.kinds(mode) for mode in ("only_scan", "service_load", "hybrid_warn")]
        for each in found(str(bare.parent)).plugins
    }
    assert kinds == {
        "FileStreamSourceConnector": [("source",)] * 3,
        "FileStreamSinkConnector": [("sink",), (), ("sink",)],
    }
