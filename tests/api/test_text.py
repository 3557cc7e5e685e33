from __future__ import annotations

import pytest

from penstock.java.text import copy_order, hash_code, hash_order, java_double, java_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        ("x", "x"),
        (["g", None, False], "[g, null, false]"),
        ({"a": "b", "c": 1.0}, "{a=b, c=1.0}"),
    ],
)
def test_values_print_as_in_java(value: object, expected: str) -> None:
    assert java_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (100.0, "100.0"),
        (0.001, "0.001"),
        (0.00015, "1.5E-4"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (-2.5e-10, "-2.5E-10"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_print_as_in_java(value: float, expected: str) -> None:
    assert java_double(value) == expected


def test_hash_codes_are_those_of_java() -> None:
    assert [hash_code(text) for text in ("", "a", "name", "héllo", "😀")] == [0, 97, 3373707, 103094734, 1772899]


def test_sets_are_enumerated_as_in_java() -> None:
    assert hash_order(["POLL", "INTERVAL", "CONNECTOR"]) == ["INTERVAL", "POLL", "CONNECTOR"]
    assert hash_order(["REQUESTED", "REQUIRED"]) == ["REQUIRED", "REQUESTED"]


def test_copies_of_maps_are_enumerated_as_in_java() -> None:
    config = ["a", "zz", "connector.classs", "tasks.max", "name"]
    assert copy_order(config) == ["zz", "connector.classs", "name", "a", "tasks.max"]
