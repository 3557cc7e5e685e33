"""Records of a preview as JSON."""

from __future__ import annotations

import math

import orjson

from penstock.preview.shown import value


def test_nan_and_infinity_are_not_shown_as_null() -> None:
    shown = orjson.dumps(value({"ratio": math.nan, "limits": [-math.inf, math.inf], "rest": 1.5}))
    assert orjson.loads(shown) == {"ratio": "NaN", "limits": ["-Infinity", "Infinity"], "rest": 1.5}
