from __future__ import annotations

from penstock.java.hash_map import copy_order, hash_code, hash_code_of_float, hash_order


def test_hash_codes_are_those_of_java() -> None:
    assert [hash_code(text) for text in ("", "a", "name", "héllo", "😀")] == [0, 97, 3373707, 103094734, 1772899]


def test_hash_codes_of_floats_are_those_of_32_bits() -> None:
    assert [hash_code_of_float(value) for value in (0.0, -0.0, 0.1, 1e300)] == [0, 1 << 31, 0x3DCCCCCD, 0x7F800000]


def test_sets_are_enumerated_as_in_java() -> None:
    assert hash_order(["POLL", "INTERVAL", "CONNECTOR"]) == ["INTERVAL", "POLL", "CONNECTOR"]
    assert hash_order(["REQUESTED", "REQUIRED"]) == ["REQUIRED", "REQUESTED"]


def test_copies_of_maps_are_enumerated_as_in_java() -> None:
    config = ["a", "zz", "connector.classs", "tasks.max", "name"]
    assert copy_order(config) == ["zz", "connector.classs", "name", "a", "tasks.max"]
