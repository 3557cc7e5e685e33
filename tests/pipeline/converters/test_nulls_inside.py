"""Nulls in containers of a struct that come from JSON of the wrong kind."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.errors import DataError
from penstock.pipeline.converters import JsonConverter


def read(data: bytes) -> Any:
    subject = JsonConverter()
    subject.configure({"penstock.coercion": "java"}, is_key=False)
    _, [value] = subject.to_connect_batch(["t"], [()], [data])
    return value


def envelope(schema: bytes, payload: bytes) -> bytes:
    return b'{"schema":' + schema + b',"payload":' + payload + b"}"


@pytest.mark.parametrize(
    ("container", "value", "where"),
    [
        (b'"array","items":{"type":"string"}', b'["a",5]', 'element of array field: "f"'),
        (b'"map","keys":{"type":"string"},"values":{"type":"string"}', b'{"k":5}', 'value of map field: "f"'),
        (b'"map","keys":{"type":"string","optional":true},"values":{"type":"string"}', b'{"k":"v"}', None),
        (
            b'"array","items":{"type":"array","items":{"type":"string"}}', b'[["a"],[{}]]',
            'element of array element of array field: "f"',
        ),
    ],
)  # fmt: skip
def test_structs_refuse_nulls_that_come_from_nodes_of_the_wrong_kind(container, value, where):
    schema = b'{"type":"struct","fields":[{"field":"f","type":%b}]}' % container
    data = envelope(schema, b'{"f":%b}' % value)
    if where is None:
        assert read(data) == {"f": {"k": "v"}}
        return
    with pytest.raises(DataError, match=f"^Invalid value: null used for required {where}, schema type: STRING$"):
        read(data)
    assert read(envelope(b'{"type":%b}' % container, value)) is not None
