"""Numbers as Java 17 prints them; more of its answers are in pipeline/converters/test_golden.py."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.java.numbers import double_text, float32, float32_of, float_text


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


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1152921573326323713, 2.0**60 + 2.0**37),
        (-1152921573326323713, -(2.0**60) - 2.0**37),
        (1152921573326323712, 2.0**60),
        (Decimal("1.0000000596046447753906251"), 1 + 2.0**-23),
        (Decimal("1.0000000596046447753906250"), 1.0),
        (Decimal("1.0000000596046447753906249"), 1.0),
        (Decimal("1.000000178813934326171874999"), 1 + 2.0**-23),
        (Decimal(2) ** -150 + Decimal(2) ** -210, 2.0**-149),
        (2**128 - 2**103, float("inf")),
        (2**128 - 2**103 - 1, 2.0**128 - 2.0**104),
        (10**400, float("inf")),
        (Decimal("-1E+400"), float("-inf")),
        (Decimal("1E-400"), 0.0),
    ],
)
def test_numbers_of_any_length_are_rounded_once(value: int | Decimal, expected: float) -> None:
    assert float32_of(value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_doubles_are_printed_so_that_they_can_be_read_again(number):
    assert float(double_text(number)) == number


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_floats_are_printed_so_that_they_can_be_read_again(number):
    assert float32(float(float_text(number))) == number
