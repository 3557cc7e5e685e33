from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError
from penstock.embedded.java import Java, bundled, java
from penstock.hosts.jvm.build import SOURCES, class_path, jar_of

GREETING = 'package test; public class Greeting { public static void main(String[] a) { System.out.print("hello"); } }'

pytestmark = pytest.mark.integration


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one class and one resource; what is built of it is kept nowhere else."""
    monkeypatch.setattr("penstock.hosts.jvm.build.home", lambda: tmp_path / "home")
    folder = tmp_path / "sources"
    (folder / "test").mkdir(parents=True)
    (folder / "META-INF" / "services").mkdir(parents=True)
    (folder / "test" / "Greeting.java").write_text(GREETING)
    (folder / "META-INF" / "services" / "test.Greeting").write_text("test.Greeting\n")
    return folder


def compilers() -> list[Java]:
    """Return the Java in use, which may have ``javac``, and the wheel's, which has none."""
    wheel = bundled()
    assert wheel is not None
    assert not (wheel.home / "bin" / "javac").exists()
    return [java(), wheel]


@pytest.mark.parametrize("runtime", compilers(), ids=["in use", "without javac"])
def test_sources_become_a_jar_that_runs(sources: Path, runtime: Java) -> None:
    jar = jar_of(sources, "greeting", [], runtime)
    command = [str(java().executable), "-cp", str(jar), "test.Greeting"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "hello"
    with zipfile.ZipFile(jar) as archive:
        assert sorted(archive.namelist()) == ["META-INF/services/test.Greeting", "test/Greeting.class"]
        # 61 is the class file format of Java 17.
        assert int.from_bytes(archive.read("test/Greeting.class")[6:8], "big") == 61


def test_a_jar_is_built_once_for_the_same_sources(sources: Path) -> None:
    first = jar_of(sources, "greeting", [])
    built = first.stat().st_mtime_ns
    assert (jar_of(sources, "greeting", []), first.stat().st_mtime_ns) == (first, built)
    (sources / "test" / "Greeting.java").write_text(GREETING.replace("hello", "good bye"))
    assert jar_of(sources, "greeting", []) != first


def test_an_error_of_the_compiler_is_shown(sources: Path) -> None:
    (sources / "test" / "Greeting.java").write_text(GREETING.replace("System.out", "System.nowhere"))
    with pytest.raises(EmbeddedError, match=r"(?s)greeting-\w+\.jar can't be compiled: .*nowhere"):
        jar_of(sources, "greeting", [])
    assert [file.name for file in (sources.parent / "home" / "hosts").iterdir()] == [".lock"]


def test_the_host_is_compiled_against_java_connect() -> None:
    jars = class_path()
    with zipfile.ZipFile(jars[0]) as archive:
        compiled = {name.partition(".")[0].partition("$")[0] for name in archive.namelist()}
    assert {file.relative_to(SOURCES).with_suffix("").as_posix() for file in SOURCES.rglob("*.java")} <= compiled
    assert "connect-runtime-4.3.1.jar" in {jar.name for jar in jars}
