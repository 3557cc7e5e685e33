"""The page of what works on which version of Spark, and that each supported version has passed."""

from __future__ import annotations

import pytest

from matrix.page import PAGE, kept, page
from penstock.spark.versions import RELEASES, SparkRelease


def test_the_page_is_the_one_of_the_kept_results() -> None:
    assert PAGE.read_text() == page(), "run `make spark-matrix`, or only write the page: ARGS=--write"


@pytest.mark.parametrize("each", RELEASES, ids=[each.name for each in RELEASES])
def test_a_supported_version_has_passed_all_tests_of_the_matrix(each: SparkRelease) -> None:
    results = kept(each)
    assert results["spark"].startswith(f"{each.name}.")
    assert results["java"] in each.java
    assert "passed" in results["tests"].values()
    assert "failed" not in results["tests"].values()
