"""A worker's answers about the settings of plugins from jars equal those of Java Connect 4.3.1, member for member.

``golden/definitions.json.gz`` has the answers of Java Connect, recorded by ``definitions.py``.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hosts.definitions import answers
from hosts.plugins import plugin_path
from support.worker_process import QUICK_JAVA, WorkerProcess

pytestmark = pytest.mark.integration

GOLDEN = Path(__file__).parent / "golden" / "definitions.json.gz"
JAVAS: dict[str, Any] = json.loads(gzip.decompress(GOLDEN.read_bytes()))
NULL = "must return a ConfigDef that is not null."


@pytest.fixture(scope="module")
def ours(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("definitions")
    settings = {"plugin.path": plugin_path(folder, "defined"), "penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"}
    with WorkerProcess(bootstrap, folder, **settings) as worker:
        yield answers(worker.http)


BETTER: dict[str, tuple[int, str]] = {
    "definitions of Source Null": (400, f"penstock.tests.defined.DefinedSource$Null.config() {NULL}"),
    "definitions of Transform Null": (500, f"penstock.tests.defined.DefinedTransform$Null.config() {NULL}"),
    "definitions of Predicate Null": (500, f"penstock.tests.defined.DefinedPredicate$Null.config() {NULL}"),
    "definitions of Converter Null": (400, f"penstock.tests.defined.DefinedConverter$Null.config() {NULL}"),
    "definitions of Source Failing": (500, "no definitions at all"),
    "definitions of Transform Failing": (500, "no definitions at all"),
    "definitions of Predicate Failing": (500, "no definitions at all"),
    "definitions of Converter Failing": (500, "no definitions at all"),
    "creation: connector, error": (500, "no shades at all"),
}
"""Cases in which Java Connect fails on a null, or answers an Error only with a page of Jetty's."""

CONVERTERS = {
    f"validation: {use} converter{case}": f"Failed to {what} {use} converter: {message}"
    for use in ("key", "header")
    for case, what, message in (
        (" Failing", "load ConfigDef from", "no definitions at all"),
        (", error", "perform config validation for", "no shades at all"),
        (", lambda error", "perform config validation for", "not checked at all"),
    )
}
"""Errors thrown by converters are reported at the converter's setting, like exceptions; Java Connect answers 500."""

TRACELESS = ("validation: validate, null values", "validation: validate, hole")
"""Cases in which both have a NullPointerException, each in its own code."""


def test_answers_are_javas(ours: dict[str, Any]) -> None:
    apart = {*BETTER, *CONVERTERS, *TRACELESS}
    assert ours.keys() == JAVAS.keys() > apart
    assert {case: ours[case] for case in JAVAS if case not in apart} == {
        case: answer for case, answer in JAVAS.items() if case not in apart
    }


@pytest.mark.parametrize("case", BETTER)
def test_sentences_where_java_connect_has_none(ours: dict[str, Any], case: str) -> None:
    status, message = BETTER[case]
    assert ours[case] == [status, {"error_code": status, "message": message}]
    assert JAVAS[case][0] == 500


@pytest.mark.parametrize("case", CONVERTERS)
def test_errors_of_converters_are_said_at_the_converter(ours: dict[str, Any], case: str) -> None:
    status, found = ours[case]
    assert (status, found["error_count"]) == (200, 1)
    assert [CONVERTERS[case]] in [errors for _, *errors in found["configs"]]
    assert JAVAS[case][0] == 500


@pytest.mark.parametrize("case", TRACELESS)
def test_nulls_in_what_validate_returns(ours: dict[str, Any], case: str) -> None:
    for status, found in (ours[case], JAVAS[case]):
        assert status == 500
        assert found["message"].startswith("java.lang.NullPointerException: ")
