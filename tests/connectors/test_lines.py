"""Lines and their positions out of blocks, whatever the blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.connectors.lines import LineReader


def read(blocks: list[bytes], text: bool = True, limit: int = 1000) -> list[tuple[object, int]]:
    """Return all lines with the positions after them."""
    reader, found = LineReader("f", text), []
    for block in blocks:
        reader.feed(block)
        while reader.ready:
            values, positions = reader.take(limit)
            assert [positions[i] for i in range(len(values))] == list(positions)
            assert positions[-1] == list(positions)[-1]
            found += [(value, position["position"]) for value, position in zip(values, positions, strict=True)]
    return found


def test_lines_end_as_in_java() -> None:
    assert read([b"a\nb\r\nc\rd\n\ne"]) == [("a", 2), ("b", 5), ("c", 7), ("d", 9), ("", 10)]


def test_a_return_at_the_end_waits_for_what_follows() -> None:
    assert read([b"a\r"]) == []
    assert read([b"a\r", b"\nb\n"]) == [("a", 3), ("b", 5)]
    assert read([b"a\r", b"b\n"]) == [("a", 2), ("b", 4)]


def test_positions_count_bytes() -> None:
    assert read(["é\n€\n".encode()]) == [("é", 3), ("€", 7)]


def test_other_line_separators_of_unicode_are_text() -> None:
    line = "a\x0b\x0c\x1c\x85\u2028b"
    assert read([f"{line}\n".encode()])[0][0] == line


def test_bytes_need_not_be_text() -> None:
    assert read([b"\xff\xfe\nb\n"], text=False) == [(b"\xff\xfe", 3), (b"b", 5)]


def test_lines_are_given_up_to_a_limit() -> None:
    assert read([b"a\nb\nc\nd\ne\n"], limit=2) == [("a", 2), ("b", 4), ("c", 6), ("d", 8), ("e", 10)]


def test_bytes_that_are_no_text_are_replaced_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    lines = read([b"good\nb\xe9d\nmore\n", b"b\xe9d\r\nend\n"])
    assert lines == [("good", 5), ("b\ufffdd", 9), ("more", 14), ("b\ufffdd", 19), ("end", 23)]
    [warning] = caplog.messages
    assert "is not UTF-8: invalid continuation byte, byte 0xe9 at position 6." in warning


def test_a_line_of_ten_megabytes_in_small_blocks() -> None:
    line = b"x" * 10_000_000
    blocks = [line[i : i + 10_000] for i in range(0, len(line), 10_000)]
    assert read([*blocks, b"\n"]) == [(line.decode(), len(line) + 1)]


def test_last_line_without_a_line_end_is_taken_at_the_end() -> None:
    reader = LineReader("f", text=True)
    reader.feed(b"a\nrest")
    reader.end()
    values, positions = reader.take(10)
    assert (values, list(positions)) == (["a", "rest"], [{"position": 2}, {"position": 6}])


@given(st.text(st.sampled_from("aé\r\n"), max_size=40), st.lists(st.integers(0, 60), max_size=6))
def test_blocks_make_no_difference(text: str, cuts: list[int]) -> None:
    data = text.encode() + b"\nend\n"
    ends = [*sorted(cuts), len(data)]
    blocks = [data[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    found = read([block for block in blocks if block])
    assert found == read([data])
    assert [value for value, _ in found] == data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")[:-1]
    assert found[-1][1] == len(data)
