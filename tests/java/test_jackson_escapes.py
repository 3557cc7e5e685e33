"""The escapes of JSON that Jackson writes otherwise than orjson, against what each character is to become."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.java.jackson.reading import escaped, needs_escapes

_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
CHARACTERS = st.characters(exclude_categories=["Cs"]) | st.sampled_from(
    ["\x00", "\x1f", "\\", '"', "u", "0", "\n", "é", "\uffff", "😀", "\U00050000", "\U0010ffff"]
)


def as_jackson(text: str) -> str:
    return "".join(map(_as_jackson, text))


def _as_jackson(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    if character < " ":
        return f"\\u{ord(character):04X}"
    if character <= "\uffff":
        return character
    units = character.encode("utf-16-be").hex().upper()
    return f"\\u{units[:4]}\\u{units[4:]}"


@given(st.lists(CHARACTERS, max_size=8).map("".join))
def test_each_character_is_spelled_as_jackson_spells_it(text):
    written = orjson.dumps(text)
    assert escaped(written).decode() == f'"{as_jackson(text)}"'
    assert needs_escapes(written) or escaped(written) == written


@pytest.mark.parametrize("plane", range(1, 17))
def test_characters_of_all_planes(plane):
    text = chr(plane * 0x10000 + 0x123)
    assert needs_escapes(orjson.dumps(["é", text]))
    assert escaped(orjson.dumps(text)).decode() == f'"{as_jackson(text)}"'
