from __future__ import annotations

import pytest

from penstock.java.text import java_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (7, "7"),
        ("x", "x"),
        (["g", None, False], "[g, null, false]"),
        ({"a": "b", "c": 1.0}, "{a=b, c=1.0}"),
        (2.0**60, "1.15292150460684698E18"),
    ],
)
def test_values_print_as_in_java(value: object, expected: str) -> None:
    assert java_text(value) == expected
