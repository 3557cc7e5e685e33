"""Archives of jars for the executors of a cluster: packed by the worker, unpacked where there is nothing yet."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.hosts.jvm import shipped
from penstock.hosts.jvm.plugins.locations import java_locations
from penstock.hosts.jvm.shipped import is_shipping, pack, unpack
from penstock.hosts.jvm.tasks.task_jvm import task_jvm
from support.tasks.specs import SOURCE


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    """A folder with a folder of jars, a jar, and a Python plugin, which is left alone."""
    for name in ("files/lib/one.jar", "files/two.jar", "files/more.zip", "alone.jar", "python/plugin.py"):
        file = tmp_path / "plugins" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(file, "w") as jar:
            jar.writestr("content", name)
    return tmp_path / "plugins"


def test_a_shipped_archive_is_unpacked_as_a_plugin_path(
    plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "here"))
    monkeypatch.setattr(shipped, "kafka_class_path", lambda kafka: [tmp_path / "here" / "jars" / "connect.jar"])
    (tmp_path / "here" / "jars").mkdir(parents=True)
    (tmp_path / "here" / "jars" / "connect.jar").write_bytes(b"classes")
    packed = pack([str(plugins)])
    assert len(packed) == 3
    received = tmp_path / "received"
    received.mkdir()
    for each in packed:
        (received / each.name).write_bytes(each.read_bytes())
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "there"))
    found = java_locations(unpack(received))
    assert sorted(each.name for each in found) == ["alone.jar", "files"]
    [folder] = [each for each in found if each.name == "files"]
    files = sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())
    assert files == ["lib/one.jar", "more.zip", "two.jar"]
    assert (tmp_path / "there" / "jars" / "connect.jar").read_bytes() == b"classes"
    # Once on a machine, though it is received by each executor.
    before = {each: each.stat().st_ino for each in found}
    assert {each: each.stat().st_ino for each in java_locations(unpack(received))} == before


def test_an_archive_is_that_of_its_content(plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(shipped, "kafka_class_path", lambda kafka: [])
    before = pack([str(plugins)])
    assert pack([str(plugins)]) == before
    (plugins / "alone.jar").write_bytes(b"changed")
    assert len(set(pack([str(plugins)])) - set(before)) == 1


def test_drafts_of_killed_processes_do_not_prevent_unpacking(
    plugins: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(shipped, "kafka_class_path", lambda kafka: [])
    for archive in pack([str(plugins)]):
        left = archive.with_name(f".{archive.stem}")
        left.mkdir()
        (left / "half.jar").write_bytes(b"half")
    found = java_locations(unpack(tmp_path / "home" / "hosts" / "shipped"))
    assert sorted(each.name for each in found) == ["alone.jar", "files"]
    assert not [each for each in found if list(each.parent.glob("half.jar"))]


def test_without_jars_nothing_is_sent(tmp_path: Path) -> None:
    assert pack([str(tmp_path)]) == []
    assert not is_shipping({})
    assert is_shipping({"penstock.java.ship": " True "})


def test_a_machine_without_the_jars_says_so(tmp_path: Path) -> None:
    spec = replace(SOURCE, plugin_path=(str(tmp_path),))
    with (
        task_jvm(spec) as jvm,
        pytest.raises(ConnectError, match=f"{tmp_path}.* have no jars on .*: put the same jars there, or set penstock"),
    ):
        jvm.session  # noqa: B018
