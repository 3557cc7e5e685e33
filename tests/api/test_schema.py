"""Schemas are equal if Java's are."""

from __future__ import annotations

import pytest

from penstock.api.schema import FLOAT64, STRING, Schema


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        (FLOAT64.with_(default=0.0), FLOAT64.with_(default=-0.0), False),
        (FLOAT64.with_(default=float("nan")), FLOAT64.with_(default=float("nan")), True),
        (FLOAT64.with_(default=1.0), FLOAT64.with_(default=1.0), True),
        (STRING.with_(default="a"), STRING.with_(default="b"), False),
    ],
)
def test_equality_of_defaults(one: Schema, other: Schema, equal: bool) -> None:
    assert (one == other) is equal
