"""Versions of Spark: which are refused and with what message, and which jars belong to the one that is not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.embedded.jars import pinned
from penstock.spark.versions import (
    SUPPORTED,
    InstalledSpark,
    UnsupportedSparkError,
    installed,
    package_version,
    release,
    release_of,
)

REMEDY = "Run `pip install 'pyspark==4.2.*'` and unset SPARK_HOME, or set SPARK_HOME to the folder of a Spark 4.2"


def spark(folder: Path, jar: str) -> Path:
    (folder / "jars").mkdir()
    (folder / "jars" / jar).touch()
    return folder


def test_a_spark_is_recognised_by_its_jars(tmp_path: Path) -> None:
    home = spark(tmp_path, "spark-core_2.13-4.2.1-amzn-1.jar")
    assert installed(home) == InstalledSpark("4.2.1-amzn-1", "2.13", home)
    assert release_of(installed(home), "4.2.0") == SUPPORTED


def test_a_spark_home_counts_more_than_the_installed_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark(tmp_path, "spark-core_2.13-4.0.1.jar")))
    assert installed().version == "4.0.1"
    with pytest.raises(UnsupportedSparkError, match=re.escape(f"Spark 4.0.1 in {tmp_path} is not supported")):
        release.__wrapped__()


def test_the_installed_pyspark_is_supported() -> None:
    assert release().scala == installed().scala
    assert package_version() == installed().version


@pytest.mark.parametrize("version", ["3.5.9", "4.1.3", "4.3.0", "5.0.0-SNAPSHOT"])
def test_an_unsupported_version_is_refused_with_what_is_supported(version: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        release_of(InstalledSpark(version, "2.13", tmp_path), version)
    assert str(refused.value) == (
        f"Spark {version} in {tmp_path} is not supported; Penstock runs on Spark 4.2. {REMEDY}."
    )


def test_a_build_with_another_scala_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        release_of(InstalledSpark("4.2.0", "3.3", tmp_path), "4.2.0")
    assert str(refused.value) == (
        f"Spark 4.2.0 in {tmp_path} is built with Scala 3.3, which is not supported; Penstock runs on the build with "
        f"Scala 2.13. {REMEDY} with it."
    )


@pytest.mark.parametrize("package", ["4.1.2", "4.3.0"])
def test_a_pyspark_of_another_minor_version_than_the_jars_is_refused(package: str, tmp_path: Path) -> None:
    home = spark(tmp_path, "spark-core_2.13-4.2.0.jar")
    (tmp_path / "version.py").write_text(f"__version__: str = '{package}'\n")
    with pytest.raises(UnsupportedSparkError) as refused:
        release_of(installed(home), package_version(tmp_path))
    assert str(refused.value) == (
        f"Spark 4.2.0 in {tmp_path} does not work with the installed PySpark {package}. "
        "Run `pip install 'pyspark==4.2.*'`."
    )


def test_a_python_that_is_too_new_for_spark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=r"does not run on Python 3\.15\. Use Python 3\.14 or older\."):
        release_of(InstalledSpark("4.2.0", "2.13", tmp_path), "4.2.0", (3, 15))


def test_a_folder_without_a_spark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        installed(tmp_path)
    assert str(refused.value) == (
        f"There is no Spark in {tmp_path}: {tmp_path / 'jars'} has no spark-core jar. {REMEDY}."
    )


@pytest.mark.parametrize("name", [SUPPORTED.kafka, SUPPORTED.delta])
def test_pinned_jars_are_those_of_its_scala(name: str) -> None:
    suffixes = {match[0] for jar in pinned(name) if (match := re.search(r"_2\.1\d$", jar.artifact))}
    assert suffixes == {f"_{SUPPORTED.scala}"}
