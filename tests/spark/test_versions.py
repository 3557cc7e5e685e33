"""Versions of Spark: which are refused and with what message, and what belongs to which."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock.api.errors import ConnectError
from penstock.embedded.jars import pinned
from penstock.spark.versions import (
    RELEASES,
    InstalledSpark,
    SparkRelease,
    UnsupportedSparkError,
    check_jars,
    installed,
    refusal,
    release,
    release_of,
)

BY_NAME = {each.name: each for each in RELEASES}


def spark(folder: Path, jar: str) -> Path:
    (folder / "jars").mkdir()
    (folder / "jars" / jar).touch()
    return folder


def test_a_spark_is_recognised_by_its_jars(tmp_path: Path) -> None:
    home = spark(tmp_path, "spark-core_2.12-3.5.2-amzn-1.jar")
    assert installed(home) == InstalledSpark("3.5.2-amzn-1", "2.12", home)
    assert release_of(installed(home), (3, 11)).name == "3.5"


def test_a_spark_home_counts_more_than_the_installed_pyspark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", str(spark(tmp_path, "spark-core_2.13-4.0.1.jar")))
    assert installed().version == "4.0.1"


def test_the_installed_pyspark_is_supported() -> None:
    assert release().scala == installed().scala


@pytest.mark.parametrize("version", ["3.4.4", "4.4.0", "5.0.0-SNAPSHOT"])
def test_an_unsupported_version_is_refused_with_what_is_supported(version: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError) as refused:
        release_of(InstalledSpark(version, "2.13", tmp_path))
    assert str(refused.value) == (
        f"Spark {version} in {tmp_path} is not supported; Penstock runs on Spark 3.5, 4.0, 4.1, 4.2 and 4.3: "
        "`pip install 'pyspark==4.2.*'`."
    )


def test_a_build_of_spark_3_5_with_scala_2_13_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=r"is built with Scala 2\.13, which is not supported") as refused:
        release_of(installed(spark(tmp_path, "spark-core_2.13-3.5.2.jar")), (3, 11))
    assert "`pip install 'pyspark==3.5.*'`, with SPARK_HOME unset" in str(refused.value)


def test_a_python_that_is_too_new_for_a_spark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=r"does not run on Python 3\.12, but on 3\.11 and older"):
        release_of(InstalledSpark("3.5.9", "2.12", tmp_path), (3, 12))


def test_a_folder_without_a_spark_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedSparkError, match=re.escape(f"There is no Spark in {tmp_path}")):
        installed(tmp_path)


def test_a_jar_for_another_scala_is_refused() -> None:
    check_jars(["file:/j/delta-spark_4.2_2.13-4.4.0.jar", "a:b_2.13:1.0", "plain-1.0_2.jar"], BY_NAME["4.2"])
    with pytest.raises(ConnectError) as refused:
        check_jars(["/jars/spark-sql-kafka-0-10_2.12-3.5.7.jar"], BY_NAME["4.2"])
    assert str(refused.value) == (
        "spark-sql-kafka-0-10_2.12-3.5.7.jar is for Scala 2.12, but Spark 4.2 is built with Scala 2.13: replace it in "
        "spark.jars or spark.jars.packages with the build whose name has _2.13."
    )
    with pytest.raises(ConnectError, match=r"Scala 2\.13, but Spark 3\.5 is built with Scala 2\.12"):
        check_jars(["io.delta:delta-spark_2.13:3.3.3"], BY_NAME["3.5"])


def test_a_format_without_a_build_for_a_version_is_refused() -> None:
    assert refusal("delta", None, BY_NAME["4.3"]) == (
        "Delta has no build for Spark 4.3: install a Spark that it is built for (3.5, 4.0, 4.1, 4.2), for example "
        "`pip install 'pyspark==4.2.*'`, or use another format."
    )
    assert "Iceberg has no build for Spark 4.2: " in str(refusal("iceberg", None, BY_NAME["4.2"]))


def test_a_format_that_is_not_installed_is_refused_with_its_coordinates() -> None:
    assert refusal("delta", None, BY_NAME["4.2"]) == (
        "Delta is not installed in Spark 4.2: add it by `spark.jars.packages=io.delta:delta-spark_4.2_2.13:4.4.0`."
    )


def test_a_format_of_later_versions_is_refused() -> None:
    assert refusal("xml", None, BY_NAME["3.5"]) == (
        "Spark 3.5 has no format xml: `pip install 'pyspark==4.2.*'`, or use another format."
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
    assert refusal(format, "delta-spark_2.12-3.3.3.jar", BY_NAME["3.5"]) is None


@pytest.mark.parametrize("each", RELEASES, ids=list(BY_NAME))
def test_jars_of_a_version_are_those_of_its_scala(each: SparkRelease) -> None:
    for name in filter(None, (each.kafka, each.delta)):
        suffixes = {match[0] for jar in pinned(name) if (match := re.search(r"_2\.1\d$", jar.artifact))}
        assert suffixes == {f"_{each.scala}"}
    assert (each.delta is None) == ("delta" not in each.formats)
    if each.delta is not None:
        assert each.formats["delta"] in {f"{jar.group}:{jar.artifact}:{jar.version}" for jar in pinned(each.delta)}
