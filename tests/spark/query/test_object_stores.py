"""Sentences about object stores, without Spark."""

from __future__ import annotations

import pytest

from penstock.spark.query.object_stores import missing_connector, scheme_of
from penstock.spark.releases import RELEASES, SparkRelease

BY_NAME = {each.name: each for each in RELEASES}


@pytest.mark.parametrize(
    ("path", "spark", "coordinates"),
    [
        ("s3a://lake/t", "4.2", "org.apache.hadoop:hadoop-aws:3.5.0"),
        ("S3A://lake/t", "3.5", "org.apache.hadoop:hadoop-aws:3.3.4"),
        ("abfss://c@a.dfs.core.windows.net/t", "4.1", "org.apache.hadoop:hadoop-azure:3.4.2"),
        ("gs://lake/t", "4.0", "com.google.cloud.bigdataoss:gcs-connector:hadoop3-2.2.26"),
    ],
)
def test_a_store_without_connector_is_refused_with_its_coordinates(path: str, spark: str, coordinates: str) -> None:
    assert missing_connector("path", path, BY_NAME[spark]) == (
        f"path={path}: Spark {spark} has no connector for {scheme_of(path)}: add it to the worker by "
        f"`spark.jars.packages={coordinates}`."
    )


@pytest.mark.parametrize(
    ("path", "scheme"), [("/data/t", ""), ("file:/t", "file"), ("S3a://b/t", "s3a"), ("a.b.c", ""), (None, "")]
)
def test_the_scheme_of_a_path_is_in_lower_case(path: str | None, scheme: str) -> None:
    assert scheme_of(path) == scheme


@pytest.mark.parametrize("each", RELEASES, ids=list(BY_NAME))
def test_each_spark_has_a_hadoop(each: SparkRelease) -> None:
    assert each.hadoop.startswith("3.")
