"""What Java 17 prints; more of its answers are in pipeline/converters/test_golden.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.java.numbers import double_text, float32, float_text


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
        (2.0**60, "1.15292150460684698E18"),
        (5e-324, "4.9E-324"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
    ],
)
def test_doubles_print_as_in_java(value: float, expected: str) -> None:
    assert double_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(6.0e13, "6.0000001E13"), (1e10, "1.0E10"), (1.4e-45, "1.4E-45"), (0.1, "0.1")]
)
def test_floats_print_as_in_java(value: float, expected: str) -> None:
    assert float_text(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_printed_so_that_they_can_be_read_again(number):
    assert float(double_text(number)) == number


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_are_printed_so_that_they_can_be_read_again(number):
    assert float32(float(float_text(number))) == number
