"""The decoder of pgoutput's messages, on messages laid out as PostgreSQL's manual says."""

from __future__ import annotations

import struct

import pytest

from penstock.api.errors import DataError
from penstock.connectors.postgres.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    Relation,
    RelationColumn,
    RowChange,
    Truncate,
    decode,
)

IN_2000 = 946_684_800_000_000


def row(*values: str | None) -> bytes:
    parts = [struct.pack(">h", len(values))]
    for value in values:
        if value is None:
            parts.append(b"n")
        elif value is UNCHANGED:
            parts.append(b"u")
        else:
            data = value.encode()
            parts.append(b"t" + struct.pack(">I", len(data)) + data)
    return b"".join(parts)


def test_a_transaction_begins_and_ends() -> None:
    assert decode(b"B" + struct.pack(">QqI", 0x1_0000_0002, 5, 7)) == Begin(0x1_0000_0002, IN_2000 + 5, 7)
    assert decode(b"C" + struct.pack(">bQQq", 0, 1, 2, -3)) == Commit(1, 2, IN_2000 - 3)


def test_relation_messages_are_decoded() -> None:
    columns = [(1, b"id\0", 23, -1), (0, "größe\0".encode(), 1700, 655366)]
    data = b"R" + struct.pack(">I", 9) + b"public\0t\0f" + struct.pack(">h", 2)
    for flags, name, oid, modifier in columns:
        data += struct.pack(">b", flags) + name + struct.pack(">Ii", oid, modifier)
    expected = (RelationColumn("id", True, 23, -1), RelationColumn("größe", False, 1700, 655366))
    assert decode(data) == Relation(9, "public", "t", "f", expected)


def test_a_relation_of_the_catalog_has_no_name_of_a_schema() -> None:
    found = decode(b"R" + struct.pack(">I", 9) + b"\0t\0d" + struct.pack(">h", 0))
    assert found == Relation(9, "pg_catalog", "t", "d", ())


def test_row_changes_are_decoded() -> None:
    nine = struct.pack(">I", 9)
    assert decode(b"I" + nine + b"N" + row("1", None, "漢")) == RowChange("c", 9, None, False, ["1", None, "漢"])
    assert decode(b"U" + nine + b"N" + row("1", UNCHANGED)) == RowChange("u", 9, None, False, ["1", UNCHANGED])
    by_key = decode(b"U" + nine + b"K" + row("1", None) + b"N" + row("2", "a"))
    assert by_key == RowChange("u", 9, ["1", None], False, ["2", "a"])
    whole = decode(b"U" + nine + b"O" + row("1", "a") + b"N" + row("1", ""))
    assert whole == RowChange("u", 9, ["1", "a"], True, ["1", ""])
    assert decode(b"D" + nine + b"K" + row("1", None)) == RowChange("d", 9, ["1", None], False, None)
    assert decode(b"D" + nine + b"O" + row("1", "a")) == RowChange("d", 9, ["1", "a"], True, None)


def test_a_text_that_reads_like_the_mark_of_an_unchanged_value_is_a_text() -> None:
    found = decode(b"I" + struct.pack(">I", 9) + b"N" + row(str(UNCHANGED)))
    assert isinstance(found, RowChange)
    assert found.new is not None
    assert found.new[0] == "unchanged"
    assert found.new[0] is not UNCHANGED


def test_a_truncation_of_several_tables() -> None:
    assert decode(b"T" + struct.pack(">IbII", 2, 3, 8, 9)) == Truncate((8, 9))


@pytest.mark.parametrize("kind", ["O", "Y", "M"])
def test_messages_that_say_nothing_of_rows(kind: str) -> None:
    assert decode(kind.encode() + b"\0" * 20) is None


def test_malformed_messages_are_refused() -> None:
    with pytest.raises(DataError, match="a message 'S', which version 1"):
        decode(b"S\0\0")
    with pytest.raises(DataError, match="a value of kind 'b'"):
        decode(b"I" + struct.pack(">I", 9) + b"N" + struct.pack(">h", 1) + b"b")
