"""The page of what works on which version of Spark, and that each supported version has passed."""

from __future__ import annotations

import pytest

from matrix.page import FORMATS, PAGE, kept, page
from penstock.spark.releases import RELEASES, SparkRelease


def test_the_page_is_the_one_of_the_kept_results() -> None:
    assert PAGE.read_text() == page(), "run `make spark-matrix`, or only write the page: ARGS=--write"


@pytest.mark.parametrize("each", RELEASES, ids=[each.name for each in RELEASES])
def test_a_supported_version_has_passed_the_tests_of_all_formats_that_it_has(each: SparkRelease) -> None:
    results = kept(each)
    assert results["spark"].startswith(f"{each.name}.")
    assert results["java"] in each.java
    assert set(results["tests"]) == {test for other in RELEASES for test in kept(other)["tests"]}
    absent = (*each.lacks, *(format for format in FORMATS if format not in each.formats))
    for test, outcome in results["tests"].items():
        assert outcome == "passed" or (outcome == "refused" and any(format in test for format in absent)), test
