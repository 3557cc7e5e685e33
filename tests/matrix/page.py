"""The page of what works on which version of Spark, made of the results of ``make spark-matrix``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from matrix.differences import OBSERVES, differences
from penstock.spark.query.object_stores import coordinates
from penstock.spark.releases import RELEASES, SparkRelease, names
from penstock.spark.versions import refusal

RESULTS = Path(__file__).parent / "results"
"""Results by version: what was run, and the outcome of each test: passed, failed, refused or skipped."""
PAGE = Path(__file__).parents[2] / "docs" / "spark-versions.md"
FORMATS = ("delta", "iceberg", "xml")
"""Formats that not every version has."""


def outcomes(report: Path) -> dict[str, str]:
    """Return the outcomes of the tests in pytest's report; refused: Penstock's reason why the test was skipped."""
    found = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        bad, skipped = case.find("failure") is not None or case.find("error") is not None, case.find("skipped")
        why = "" if skipped is None else str(skipped.get("message"))
        outcome = "failed" if bad else "passed" if skipped is None else "refused" if "has no " in why else "skipped"
        found[str(case.get("name"))] = outcome
    return found


def kept(spark: SparkRelease) -> dict[str, Any]:
    """Return the results of a version; without tests if it has not been run."""
    file = RESULTS / f"{spark.name}.json"
    return dict(json.loads(file.read_text())) if file.exists() else {"tests": {}}


def cell(outcome: str | None) -> str:
    """Return the text of the page for an outcome."""
    return {"passed": "yes", "failed": "**fails**", "refused": "refused"}.get(outcome or "", "not run")


def label(test: str) -> str:
    """Return a test's name as words."""
    name, _, parameter = test.removeprefix("test_").partition("[")
    words = name.replace("_", " ").replace("sparksink", "SparkSink").replace("sparksource", "SparkSource")
    words = words.replace(" java ", " Java ").replace(" kafka ", " Kafka ").replace(" by merge", " by MERGE")
    words = words.replace("jdbcsink", "JdbcSink").replace("jdbcsource", "JdbcSource")
    return f"{words[0].upper()}{words[1:]}" + (f": {parameter.rstrip(']')}" if parameter else "")


def row(title: str, cells: list[str]) -> str:
    return f"| {title} | {' | '.join(cells)} |"


def java_range(spark: SparkRelease) -> str:
    oldest, newest = spark.java[0], spark.java[-1]
    return str(newest) if oldest == newest else f"{oldest} to {newest}"


def differing() -> list[str]:
    """Return the section of results that are not the same on all versions, as they were observed."""
    found, same = differences()
    return [
        "The same records become the same rows on all versions, since queries set what decides that themselves. What "
        "remains was observed by [`test_version_differences.py`](../tests/spark/query/test_version_differences.py):",
        "",
        row("Result", [each.name for each in RELEASES]),
        row("---", ["---"] * len(RELEASES)),
        *(row(title, [on.get(each.name) or "not run" for each in RELEASES]) for title, on in found.items()),
        "",
        "The same on all versions:",
        "",
        *(f"- {title}: {result}" for title, result in same.items()),
    ]


def page() -> str:
    """Return the text of the page."""
    results = [kept(each) for each in RELEASES]
    tests = dict.fromkeys(test for each in results for test in each["tests"])
    lines = [
        "# Versions of Spark",
        "",
        f"Penstock runs on Spark {names('and')}, and refuses others with a message. `make spark-matrix` runs the same",
        "tests on each version, and writes this page from their results. `make test` runs on one version, that of",
        "`requirements.lock`.",
        "",
        row("Spark", [each.name for each in RELEASES]),
        row("---", ["---"] * len(RELEASES)),
        row("Version that was tested", [each.get("spark", "none") for each in results]),
        row("on Java", [str(each.get("java", "")) for each in results]),
        row("on Python", [each.get("python", "") for each in results]),
        row("Java that it runs on", [java_range(each) for each in RELEASES]),
        row("Newest Python", [".".join(map(str, each.python)) for each in RELEASES]),
        row("Scala", [each.scala for each in RELEASES]),
        *(
            row(label(test), [cell(each["tests"].get(test)) for each in results])
            for test in tests
            if OBSERVES not in test
        ),
        "",
        "## Results that differ",
        "",
        *differing(),
        "",
        "## Formats that not every version has",
        "",
    ]
    for format in FORMATS:
        for each in RELEASES:
            if format in each.formats:
                lines.append(f"- {format} on {each.name}: `spark.jars.packages={each.formats[format]}`")
            elif (reason := refusal(format, None, each)) is not None:
                lines.append(f"- {format} on {each.name} is refused: {reason}")
    lines += [
        "",
        "## Connectors of object stores",
        "",
        *(f"- S3 on {each.name}: `spark.jars.packages={coordinates('s3a', each)}`" for each in RELEASES),
        "",
        "Penstock fetches the jars of Spark's Kafka source with which a version was tested. Code:",
        "[`spark/versions.py`](../src/penstock/spark/versions.py), tests: "
        "[`test_every_version.py`](../tests/spark/query/test_every_version.py).",
    ]
    return "\n".join(lines) + "\n"
