"""Versions of Spark: which are refused and with what message, and which jars belong to the others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.embedded.jars import pinned
from penstock.spark.versions import (
    DEFAULT,
    RELEASES,
    InstalledSpark,
    SparkRelease,
    UnsupportedSparkError,
    check_jars,
    installed,
    names,
    package_version,
    refusal,
    release,
    release_of,
)

BY_NAME = {each.name: each for each in RELEASES}
REMEDY = (
    f"Run `pip install 'pyspark==4.2.*'` and unset SPARK_HOME, or set SPARK_HOME to the folder of a Spark {names('or')}"
)


def spark(folder: Path, jar: str) -> Path:
    (folder / "jars").mkdir()
    (folder / "jars" / jar).touch()
    return folder


def test_a_spark_is_recognised_by_its_jars(tmp_path: Path) -> None:
    home = spark(tmp_path, "spark-core_2.13-4.2.1-amzn-1.jar")
    assert installed(home) == InstalledSpark("4.2.1-amzn-1", "2.13", home)
    assert release_of(installed(home), "4.2.0") == BY_NAME["4.2"]


def test_a_spark_home_counts_more_than_the_installed_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark(tmp_path, "spark-core_2.13-4.9.1.jar")))
    assert installed().version == "4.9.1"
    with pytest.raises(UnsupportedSparkError, match=re.escape(f"Spark 4.9.1 in {tmp_path} is not supported")):
        release.__wrapped__()


def test_the_installed_pyspark_is_supported() -> None:
    assert release().scala == installed().scala
    assert package_version() == installed().version


@pytest.mark.parametrize("version", ["3.4.4", "4.4.0", "5.0.0-SNAPSHOT"])
def test_an_unsupported_version_is_refused_with_what_is_supported(version: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        release_of(InstalledSpark(version, "2.13", tmp_path), version)
    assert str(refused.value) == (
        f"Spark {version} in {tmp_path} is not supported; Penstock runs on Spark {names('and')}. {REMEDY}."
    )


def test_a_build_with_another_scala_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        release_of(InstalledSpark("4.2.0", "3.3", tmp_path), "4.2.0")
    assert str(refused.value) == (
        f"Spark 4.2.0 in {tmp_path} is built with Scala 3.3, which is not supported; Penstock runs on the build with "
        "Scala 2.13. Run `pip install 'pyspark==4.2.*'` and unset SPARK_HOME, or set SPARK_HOME to the folder of a "
        "Spark 4.2 with it."
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


def test_the_version_of_the_lock_file_is_supported() -> None:
    assert DEFAULT in BY_NAME
    lock = (Path(__file__).parents[2] / "requirements.lock").read_text()
    assert re.search(rf"^pyspark=={re.escape(DEFAULT)}\.", lock, re.MULTILINE)


def test_a_jar_for_another_scala_is_refused() -> None:
    check_jars(
        ["file:/j/delta-spark_4.2_2.13-4.4.0.jar", "a:b_2.13:1.0", "plain-1.0_2.jar", "driver_2.11.4.jar"],
        BY_NAME["4.2"],
    )
    with pytest.raises(ConnectError) as refused:
        check_jars(["/jars/spark-sql-kafka-0-10_2.12-3.5.7.jar"], BY_NAME["4.2"])
    assert str(refused.value) == (
        "spark-sql-kafka-0-10_2.12-3.5.7.jar is for Scala 2.12, but Spark 4.2 is built with Scala 2.13: replace it in "
        "spark.jars or spark.jars.packages with the build whose name has _2.13."
    )


def test_a_format_without_a_build_for_a_version_is_refused() -> None:
    built = ", ".join(each.name for each in RELEASES if each.delta is not None)
    assert refusal("delta", None, BY_NAME["4.3"]) == (
        f"Delta has no build for Spark 4.3: install a Spark that it is built for ({built}), for example "
        "`pip install 'pyspark==4.2.*'`, or use another format."
    )
    iceberg = str(refusal("iceberg", None, BY_NAME["4.2"]))
    assert iceberg.startswith("Iceberg has no build for Spark 4.2: ")
    assert iceberg.endswith(", or set `iceberg.catalog.type` and `iceberg.tables` in SparkSink, which needs no jar.")


def test_a_format_that_is_not_installed_is_refused_with_its_coordinates() -> None:
    assert refusal("delta", None, BY_NAME["4.2"]) == (
        "Delta is not installed in Spark 4.2: add it by `spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0`."
    )


def test_a_format_of_later_versions_is_refused() -> None:
    assert refusal("xml", None, BY_NAME["3.5"]) == (
        "Spark 3.5 has no format xml: run `pip install 'pyspark==4.2.*'`, or use another format."
    )
    assert refusal("xml", None, BY_NAME["4.0"]) is None


def test_a_format_built_for_another_version_is_refused() -> None:
    other = "io.delta_delta-spark_4.2_2.13-4.4.0.jar"
    assert refusal("delta", other, BY_NAME["4.2"]) is None
    assert str(refusal("delta", other, BY_NAME["4.1"])) == (
        f"{other} is Delta for Spark 4.2, and this is Spark 4.1: "
        "use `spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0`."
    )
    assert "there is none for it; install a Spark" in str(refusal("delta", other, BY_NAME["4.3"]))


@pytest.mark.parametrize("format", ["parquet", "delta"])
def test_a_format_that_fits_is_not_refused(format: str) -> None:
    assert refusal(format, "delta-spark_4.1_2.13-4.4.0.jar", BY_NAME["4.1"]) is None


@pytest.mark.parametrize("each", RELEASES, ids=list(BY_NAME))
def test_jars_of_a_version_are_those_of_its_scala(each: SparkRelease) -> None:
    for name in filter(None, (each.kafka, each.delta)):
        suffixes = {match[0] for jar in pinned(name) if (match := re.search(r"_2\.1\d$", jar.artifact))}
        assert suffixes == {f"_{each.scala}"}
    assert (each.delta is None) == ("delta" not in each.formats)
    if each.delta is not None:
        assert each.formats["delta"] in {f"{jar.group}:{jar.artifact}:{jar.version}" for jar in pinned(each.delta)}
