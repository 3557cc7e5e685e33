"""Discovery of Java plugins in real jars, with Java Connect's own scanners."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from hosts.plugins import plugin_path
from penstock.embedded.home import EmbeddedError
from penstock.embedded.jars import pinned
from penstock.embedded.java import java
from penstock.hosts.jvm.plugins import catalogue
from penstock.hosts.jvm.plugins.catalogue import Catalogue, JavaPlugin, find, java_executable
from penstock.hosts.jvm.plugins.control import ControlJvm
from penstock.hosts.jvm.plugins.locations import write_json
from penstock.observe import LogLevels
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, java_plugins, plugin_classes
from support.rest.cluster import RestCluster

pytestmark = pytest.mark.integration


@pytest.fixture
def scans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[Path]]:
    """Locations that a JVM has scanned, starting with an empty cache."""
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


def test_another_version_of_connect_looks_at_all_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many plugins report as their version that of Kafka's clients, which are on their class path."""
    before = catalogue._salt(None, None)
    assert catalogue._salt(None, "4.3") == before
    assert catalogue._salt(None, "4.4") != before
    other = [replace(jar, sha256="0" * 64) for jar in pinned("connect")]
    monkeypatch.setattr(catalogue, "pinned", lambda name: other)
    assert catalogue._salt(None, None) != before


def listed(path: str, query: str = "") -> list[dict[str, str]]:
    """Start a worker and return its answer to ``/connector-plugins``."""
    _, jars = java_plugins(JavaSettings.of({}, (path,)))

    class Cluster(RestCluster):
        plugins = Plugins.discover((path,), jars)

    async def ask(app: Any) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://one:8083") as client:
            return await client.get(f"/connector-plugins{query}")

    with ThreadPoolExecutor(1) as pool:
        cluster = Cluster(pool, LogLevels())
        cluster.start("one")
        answer: list[dict[str, str]] = asyncio.run(ask(cluster.app("one"))).json()
        return answer


def test_thirty_connectors_are_listed_at_the_second_start_without_a_jvm(
    tmp_path: Path, scans: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have the same content, so that a JVM scans one; each is cached by the checksums of its files."""
    plugin_path(tmp_path / "other", "conduct")
    (jar,) = (tmp_path / "other").rglob("*.jar")
    path = tmp_path / "plugins"
    for i in range(30):
        (path / f"connector-{i}").mkdir(parents=True)
        shutil.copyfile(jar, path / f"connector-{i}" / "plugin.jar")
    first = listed(str(path))
    assert {each["class"] for each in first} >= {"penstock.tests.ConductSource", "penstock.tests.ConductSink"}
    assert [len(each) for each in scans] == [1]
    monkeypatch.setattr(subprocess, "Popen", None)  # whatever starts a process fails
    assert listed(str(path)) == first
    assert len({each.location for each in found(str(path)).plugins}) == 30
    assert len(scans) == 1


def test_a_process_below_sparks_looks_at_nothing_again(
    tmp_path: Path, scans: list[list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Penstock sets ``JAVA_HOME`` for these processes."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    path = plugin_path(tmp_path / "plugins", "connect-file")
    found(path)
    monkeypatch.setenv("JAVA_HOME", str(java().home))
    found(path)
    assert len(scans) == 1


def test_only_changed_locations_are_scanned_again(tmp_path: Path, scans: list[list[Path]]) -> None:
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
    (left_out,) = there.newer
    name = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    assert (left_out.name, left_out.kinds) == (name, ("source",))
    assert left_out.problem.startswith(f"{name} of {newer} can't be used: it is compiled for Java 99, and this is Java")
    moved = newer.rename(tmp_path / "plugins" / "moved.jar")
    (left_out,) = found(str(newer.parent)).newer
    assert left_out.problem.startswith(f"{name} of {moved} ")
    assert len(scans) == 1
    shown = {"class": name, "type": "source", "problem": left_out.problem}
    assert listed(str(newer.parent), "?penstock=true")[-1] == shown
    assert shown not in listed(str(newer.parent))
    assert name in {each["class"] for each in listed(str(newer.parent))}, "the built-in one is not hidden"


def test_a_file_that_is_no_jar_is_reported(
    tmp_path: Path, scans: list[list[Path]], caplog: pytest.LogCaptureFixture
) -> None:
    path = plugin_path(tmp_path / "plugins", "connect-file")
    (tmp_path / "plugins" / "broken.jar").write_bytes(b"no archive")
    assert {each.name.rpartition(".")[2] for each in found(path).plugins} == {
        "FileStreamSinkConnector",
        "FileStreamSourceConnector",
    }


def test_modes_of_discovery(tmp_path: Path, scans: list[list[Path]]) -> None:
    """A scan finds all classes, service loading only those that manifests list."""
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


def test_extensions_of_the_rest_interface_are_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kinds = ("rest_extension",)
    extension = JavaPlugin("org.example.Extension", "1.0", tmp_path, f"file:{tmp_path}/", kinds, kinds, {})
    catalogue = Catalogue((extension,), (), tmp_path / "loaders.json")
    assert plugin_classes(catalogue, "hybrid_warn", ControlJvm(lambda: pytest.fail("a JVM is asked for"))) == []
    assert f"org.example.Extension of {tmp_path} is left out: REST extensions can't be used" in caplog.messages


def test_a_java_that_does_not_run_is_refused_by_the_name_of_its_setting(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=re.escape(f"penstock.java.home is {tmp_path}, but")):
        java_executable(str(tmp_path))


def test_tasks_of_one_process_may_write_the_catalogue_at_once(tmp_path: Path) -> None:
    file, content = tmp_path / "found.json", {"text": "x" * 100_000}

    def write(_: int) -> bool:
        write_json(file, content)
        read: object = orjson.loads(file.read_bytes())
        return read == content

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(write, range(100)))
    assert list(tmp_path.iterdir()) == [file]
