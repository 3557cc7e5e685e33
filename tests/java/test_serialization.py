"""``golden/java-offsets.ser`` is what Java's ObjectOutputStream wrote for a HashMap of three entries, one of them
null.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.java.serialization import dump, load

GOLDEN = Path(__file__).parent / "golden"


def test_bytes_written_by_java_survive_a_round_trip():
    stream = (GOLDEN / "java-offsets.ser").read_bytes()
    pairs = load(stream)
    assert sorted(pairs) == [
        (b'["file",{"filename":"a.txt"}]', b'{"position":8}'),
        (b'["file",{"filename":"b.txt"}]', b'{"position":16}'),
        (b'["other",{"x":1}]', None),
    ]
    assert dump(pairs) == stream


def test_an_empty_map():
    assert dump([]) == (GOLDEN / "java-offsets-empty.ser").read_bytes()
    assert load(dump([])) == []


@given(st.lists(st.tuples(st.none() | st.binary(), st.none() | st.binary()), max_size=60))
def test_whatever_is_written_is_read(pairs: list[tuple[bytes | None, bytes | None]]):
    assert load(dump(pairs)) == pairs


@pytest.mark.parametrize("length", [0, 3, 60, 90, 110, 125])
def test_a_stream_that_is_cut_off(length: int):
    with pytest.raises(ValueError, match=r"too early|does not begin|no byte array|something else"):
        load((GOLDEN / "java-offsets.ser").read_bytes()[:length])
