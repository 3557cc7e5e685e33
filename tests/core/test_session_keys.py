"""Keys are as long as Java's: a leader replaces one of another length (KIP-507)."""

from __future__ import annotations

import pytest

from penstock.core.session_keys import key_bytes


@pytest.mark.parametrize(("bits", "length"), [(None, 32), (40, 5), (41, 6), (100, 13), (256, 32)])
def test_key_sizes_are_rounded_up_to_bytes(bits: int | None, length: int) -> None:
    assert key_bytes("HmacSHA256", bits) == length
