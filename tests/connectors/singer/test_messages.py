"""Messages of taps as records, and states as offsets."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.api import schema as s
from penstock.api.errors import ConnectError, DataError
from penstock.api.topic_names import TopicNames
from penstock.connectors.singer.messages import Messages, StreamRow, selected
from penstock.connectors.singer.runs import batch_of
from penstock.connectors.singer.schemas import mapped


def messages(*given: dict[str, Any], state: Any = None) -> Messages:
    found = Messages(state)
    for each in given:
        found.add(json.dumps(each).encode())
    return found


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "SCHEMA", "stream": "t", "schema": {"properties": properties}, "key_properties": ["id"]}


def record(**fields: Any) -> dict[str, Any]:
    return {"type": "RECORD", "stream": "t", "record": fields}


def state(value: Any) -> dict[str, Any]:
    return {"type": "STATE", "value": value}


ID = schema(id={"type": "integer"})


def test_a_state_is_the_offset_of_the_record_before_it() -> None:
    found = messages(ID, record(id=1), record(id=2), state(2), record(id=3), state="before")
    assert [row.value for row in found.rows] == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert found.states == ["before", 2, 2]


def test_the_last_record_waits_for_a_state() -> None:
    found = messages(ID, record(id=1), record(id=2))
    rows, states = found.take(10, all=False)
    assert ([row.value["id"] for row in rows], states) == ([1], [None])
    found.add(b'{"type": "STATE", "value": {"at": 2}}')
    rows, states = found.take(10, all=False)
    assert (rows, states) == ([], [])
    rows, states = found.take(10, all=True)
    assert ([row.value["id"] for row in rows], states) == ([2], [{"at": 2}])


def test_a_state_without_records_is_that_of_the_next_one() -> None:
    found = messages(ID, state(7), record(id=8))
    assert (found.states, found.state) == ([7], 7)


def test_keys_and_values_have_their_schemas() -> None:
    (row,) = messages(schema(id={"type": "integer"}, note={"type": ["null", "string"]}), record(id=1, more=2)).rows
    assert (row.stream, row.key, row.value) == ("t", {"id": 1}, {"id": 1, "note": None})
    assert row.key_schema == s.struct(("id", s.INT64), name="t.key")
    assert row.value_schema == s.struct(("id", s.OPTIONAL_INT64), ("note", s.OPTIONAL_STRING), name="t")


def test_a_schema_may_change_on_the_way() -> None:
    found = messages(ID, record(id=1), schema(id={"type": "integer"}, n={"type": "number"}), record(id=2, n=3))
    assert [len(row.value_schema.fields) for row in found.rows] == [1, 2]
    assert found.rows[1].value == {"id": 2, "n": 3.0}


@pytest.mark.parametrize(
    ("given", "schema", "value", "expected"),
    [
        ({"type": "integer"}, s.OPTIONAL_INT64, 5, 5),
        ({"type": ["null", "integer"]}, s.OPTIONAL_INT64, 5.0, 5),
        ({"type": "number"}, s.OPTIONAL_FLOAT64, 5, 5.0),
        ({"type": "boolean"}, s.OPTIONAL_BOOLEAN, True, True),
        ({"type": "string", "format": "date-time"}, s.OPTIONAL_STRING, "2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, s.OPTIONAL_STRING, "a", "a"),
        ({"type": ["string", "integer"]}, s.OPTIONAL_STRING, 5, "5"),
        ({"type": "object"}, s.OPTIONAL_STRING, {"a": [1]}, '{"a":[1]}'),
        ({"type": "array"}, s.OPTIONAL_STRING, [1, "b"], '[1,"b"]'),
        ({}, s.OPTIONAL_STRING, "a", '"a"'),
        (
            {"type": "array", "items": {"type": "object", "properties": {"n": {"type": "integer"}}}},
            s.array(s.struct(("n", s.OPTIONAL_INT64), optional=True), optional=True),
            [{"n": 1}, {}, None],
            [{"n": 1}, {"n": None}, None],
        ),
    ],
)
def test_json_schemas_become_connect_schemas(given: Any, schema: s.Schema, value: Any, expected: Any) -> None:
    found = mapped(given)
    assert found.schema == schema
    assert found.convert(value) == expected
    assert type(found.convert(value)) is type(expected)


@pytest.mark.parametrize(
    ("given", "error", "sentence"),
    [
        ([record(id=1)], ConnectError, "a record of stream t before its schema"),
        (
            [ID, record(id="x")],
            DataError,
            "A record of stream t does not fit its schema: id: a value of type str",
        ),
        ([ID, record(id=1 << 63)], DataError, "is no integer of 64 bits"),
        (
            [schema(id={"type": "integer"}, n={"type": "number"}), record(id=1, n=2**53 + 1)],
            DataError,
            "n: a value of type int has more digits than a 64-bit float",
        ),
        ([ID, record()], DataError, "id, which is of its key, is null"),
        ([{"type": "BATCH", "stream": "t"}], ConnectError, "remove `batch_config` from `singer.config`"),
        ([{"type": "RECORD"}], ConnectError, "a message RECORD without 'stream'"),
        ([schema()], ConnectError, "The schema of stream t has no properties"),
    ],
)
def test_malformed_messages_are_refused(given: list[dict[str, Any]], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        messages(*given)


NUMBERS = schema(id={"type": "integer"}, n={"type": "number"}, any={})


@pytest.mark.parametrize("text", ["0.100000000000000001", "12345678901234.567", "18446744073709551617", "1e-400"])
def test_a_number_with_more_digits_than_a_float_is_refused(text: str) -> None:
    found = messages(NUMBERS)
    with pytest.raises(DataError, match=r"n: a value of type .* has more digits than a 64-bit float"):
        found.add(f'{{"type":"RECORD","stream":"t","record":{{"id":1,"n":{text}}}}}'.encode())
    found.add(f'{{"type":"RECORD","stream":"t","record":{{"id":1,"any":[{text}]}}}}'.encode())
    (row,) = found.rows
    assert json.loads(row.value["any"], parse_float=Decimal, parse_int=Decimal) == [Decimal(text)]


@pytest.mark.parametrize(("text", "number"), [("0.10000000000000001", 0.1), ("18446744073709551616", 2.0**64)])
def test_a_number_with_the_digits_of_a_float_is_that_float(text: str, number: float) -> None:
    found = messages(NUMBERS)
    found.add(f'{{"type":"RECORD","stream":"t","record":{{"id":12345678901234567.0,"n":{text}}}}}'.encode())
    assert (found.rows[0].value["id"], found.rows[0].value["n"]) == (12345678901234567, number)


def test_a_line_that_is_no_json_is_not_shown() -> None:
    with pytest.raises(ConnectError, match="The tap has written a line that is no message") as caught:
        Messages(None).add(b"password=secret")
    assert "secret" not in str(caught.value)


def test_streams_of_a_catalog_are_selected() -> None:
    catalog = {"streams": [{"stream": "a", "metadata": [{"breadcrumb": [], "metadata": {"x": 1}}]}, {"stream": "b"}]}
    found = selected(catalog, ["a"], every=True)
    assert found["streams"] == [
        {
            "stream": "a",
            "metadata": [{"breadcrumb": [], "metadata": {"x": 1, "selected": True}}],
            "schema": {"selected": True},
            "selected": True,
        }
    ]
    assert selected(catalog, None, every=False) == catalog
    with pytest.raises(ConnectError, match="there is no stream c in the tap's catalog, but a, b"):
        selected(catalog, ["c"], every=True)


def test_streams_whose_names_no_topic_may_have_are_read() -> None:
    rows = [
        StreamRow(stream, None, None, s.struct(("id", s.INT64)), {"id": 1}) for stream in ("orders", "order items/2026")
    ]
    batch = batch_of(rows, [None, None], "tap.", {}, TopicNames())
    assert batch.topics == ["tap.orders", "tap.order_x0020_items_x002F_2026"]


def test_streams_of_one_topic_are_refused() -> None:
    names, value = TopicNames(), s.struct(("id", s.INT64))
    first, other = (StreamRow(stream, None, None, value, {"id": 1}) for stream in ("order items", "order_x0020_items"))
    batch_of([first], [None], "tap.", {}, names)
    with pytest.raises(ConnectError, match=r"`tap.order items` and `tap.order_x0020_items` would both be sent to"):
        batch_of([other], [None], "tap.", {}, names)
