from __future__ import annotations

import pytest

from penstock.api.errors import DataError
from penstock.kafka.offsets import records
from penstock.kafka.offsets.records import canonical, decode_key, decode_value, encode_key, encode_value
from support.kafka.golden import Golden, golden


@pytest.mark.parametrize("record", golden("offset"), ids=lambda r: r.key.decode())
def test_offset_records_of_java_survive_a_round_trip(record: Golden):
    key = decode_key(record.key)
    assert key is not None
    assert key.connector == "golden-src"
    assert encode_key(*key) == record.key
    assert encode_value(decode_value(record.value)) == record.value


def test_the_order_of_members_makes_no_difference_to_the_canonical_form():
    assert canonical({"b": 1, "a": [{"y": 1, "x": 2}]}) == canonical({"a": [{"x": 2, "y": 1}], "b": 1})
    assert canonical({"a": 1}) != canonical({"a": "1"})


def test_bytes_are_written_in_base64():
    assert encode_key("c", {"p": b"\x00\xff"}) == b'["c",{"p":"AP8="}]'
    assert canonical({"p": b"\x00\xff"}) == canonical({"p": "AP8="})


def test_halves_of_surrogate_pairs_are_read_back():
    partition = {"file": "/data/\udcff", "b": 1.5, "a": None}
    key = decode_key(encode_key("c", partition))
    assert key == ("c", partition)
    assert canonical(partition) == canonical(dict(reversed(partition.items())))
    assert canonical(partition) != canonical({**partition, "file": "/data/\udcfe"})
    assert decode_value(encode_value(partition)) == partition


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        (None, "unexpected null value"),
        (b"{", "unknown serialization. Expected json"),
        (b"{}", "unexpected format"),
        (b"[]", "unexpected number of elements. Expected: 2, actual: 0"),
        (b"[1,{}]", "first element"),
        (b'["c",7]', "second element"),
    ],
)
def test_keys_that_are_passed_over(key: bytes | None, problem: str, caplog: pytest.LogCaptureFixture):
    assert decode_key(key) is None
    assert problem in caplog.text


def test_a_source_partition_may_be_null():
    assert decode_key(encode_key("c", None)) == ("c", None)


def test_values_that_are_no_offsets():
    assert decode_value(None) is None
    assert decode_value(b"null") is None
    with pytest.raises(DataError, match="no JSON"):
        decode_value(b"x")
    with pytest.raises(DataError, match="JSON object"):
        decode_value(b"[1]")


def test_offsets_hold_texts_and_primitive_values_only():
    with pytest.raises(DataError, match=r"^Offsets may only use String keys$"):
        encode_value({1: 2})  # type: ignore[dict-item]
    with pytest.raises(
        DataError, match=r"^Offsets may only contain primitive types as values, but field l contains ARRAY$"
    ):
        encode_key("c", {"l": []})


@pytest.mark.parametrize("value", [None, b"", b"no JSON", b"[1]", b"1", b"\xff", b"[" * 100_000])
def test_a_header_of_another_form_is_no_identity(value: bytes | None):
    assert records.identity_in([(records.IDENTITY_HEADER, value)]) is None


def test_identities_survive_a_round_trip():
    identity = {"head": "é\ud800", "inode": 2**64, "nested": {"a": [None, 1.5]}}
    assert records.identity_in([("other", b"1"), *records.headers_of(identity)]) == identity
    assert records.headers_of(None) == []
    assert records.identity_in([]) is None
