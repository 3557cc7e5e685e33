from __future__ import annotations

import pytest

from penstock.java.errors import JsonError
from penstock.java.jackson import compact


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "null"),
        (True, "true"),
        (-(2**63), "-9223372036854775808"),
        (2**70, "1180591620717411303424"),
        (1e10, "1.0E10"),
        (2.5, "2.5"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
        ("a/b", '"a/b"'),
        ('\x00\x1f\x7f\b\f\n\r\t"\\', '"\\u0000\\u001F\x7f\\b\\f\\n\\r\\t\\"\\\\"'),
        ("\\u00ab é\u2028", '"\\\\u00ab é\u2028"'),
        ("\U0001f600", '"\\uD83D\\uDE00"'),
        ("\ud800", '"\\uD800"'),
        ({"a": [1, {}], "b": ()}, '{"a":[1,{}],"b":[]}'),
        (b"\xff", '"/w=="'),
    ],
)
def test_encode(value: object, written: str):
    assert compact.encode(value) == written.encode()


@pytest.mark.parametrize("value", [{"a": "\ud800", "\udfff": 1.5}, [2**70, "\udc00\ud800"]])
def test_halves_of_surrogate_pairs_are_read_again(value: object):
    assert compact.decode(compact.encode(value)) == value


@pytest.mark.parametrize("data", [b"{", b"NaN", b'["\\ud800",NaN]', b'"\xed\xa0\x80"', b"[" * 100_000, b"\xff"])
def test_invalid_json_is_refused(data: bytes):
    with pytest.raises(ValueError):
        compact.decode(data)


def test_values_without_a_json_form_are_refused():
    with pytest.raises(JsonError, match="A value of type object"):
        compact.encode({"a": object()})
