"""Records as messages for targets, and Connect's schemas as JSON Schema."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

from penstock.api import schema as s
from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.connectors.singer.json_schemas import json_schema, to_json
from penstock.connectors.singer.schemas import mapped
from penstock.connectors.singer.streams import Streams

ORDER = s.struct(("id", s.INT64), ("note", s.OPTIONAL_STRING), name="order")
WIDER = s.struct(("id", s.INT64), ("note", s.OPTIONAL_STRING), ("price", s.OPTIONAL_FLOAT64), name="order")


def messages(streams: Streams, values: list[Any], topic: str = "t", **columns: Any) -> list[dict[str, Any]]:
    refused: list[DataError] = []
    lines = streams.lines(Batch.of(topic, values, **columns), lambda _, error: refused.append(error))
    if refused:
        raise refused[0]
    return [json.loads(line) for line in lines]


def kinds(found: list[dict[str, Any]]) -> str:
    return "".join(each["type"][0] for each in found)


def test_a_schema_comes_first_and_when_it_changes() -> None:
    streams = Streams("shop_${topic}", "none", ())
    first = messages(streams, [{"id": 1, "note": None}, {"id": 2}], value_schema=ORDER)
    assert first == [
        {
            "type": "SCHEMA",
            "stream": "shop_t",
            "schema": {
                "type": "object",
                "properties": {"id": {"type": ["integer"]}, "note": {"type": ["null", "string"]}},
            },
            "key_properties": [],
        },
        {"type": "RECORD", "stream": "shop_t", "record": {"id": 1, "note": None}},
        {"type": "RECORD", "stream": "shop_t", "record": {"id": 2}},
    ]
    assert kinds(messages(streams, [{"id": 3}], value_schema=ORDER.with_(doc=None))) == "R"
    assert kinds(messages(streams, [{"id": 3}, {"id": 4}], value_schema=WIDER)) == "SRR"
    assert kinds(messages(streams, [{"id": 3}], value_schema=ORDER)) == "SR"
    assert kinds(messages(streams, [{"id": 3}], topic="other", value_schema=ORDER)) == "SR"


def test_maps_without_schemas_have_the_names_so_far() -> None:
    streams = Streams("${topic}", "none", ())
    found = messages(streams, [{"a": 1}, {"a": 2}, {"b": [None]}, {"a": 1, "b": 2}])
    assert kinds(found) == "SRRSRR"
    assert [list(each["schema"]["properties"].items()) for each in found if each["type"] == "SCHEMA"] == [
        [("a", {})],
        [("a", {}), ("b", {})],
    ]


def test_record_keys_become_key_properties() -> None:
    key = s.struct(("id", s.OPTIONAL_INT64), ("shop", s.STRING))
    found = messages(
        Streams("${topic}", "record_key", ["id"]),
        [{"note": "a"}],
        value_schema=s.struct(("note", s.STRING)),
        keys=[{"id": 7, "shop": "x"}],
        key_schema=key,
    )
    assert found[0]["key_properties"] == ["id"]
    assert found[0]["schema"]["properties"] == {"note": {"type": ["string"]}, "id": {"type": ["integer"]}}
    assert found[1]["record"] == {"note": "a", "id": 7}
    plain = messages(Streams("${topic}", "record_key", ["k"]), [{"note": "a"}], keys=["x"], key_schema=s.STRING)
    assert (plain[0]["key_properties"], plain[1]["record"]) == (["k"], {"note": "a", "k": "x"})
    assert plain[0]["schema"]["properties"] == {"note": {}, "k": {"type": ["string"]}}


def test_fields_of_values_become_key_properties() -> None:
    found = messages(Streams("${topic}", "record_value", ["id"]), [{"id": 1}], value_schema=ORDER)
    assert found[0]["key_properties"] == ["id"]
    assert messages(Streams("${topic}", "record_value", ()), [{"a": 1, "b": 2}])[0]["key_properties"] == ["a", "b"]


@pytest.mark.parametrize(
    ("streams", "value", "columns", "sentence"),
    [
        (Streams("t", "none", ()), None, {}, "`behavior.on.null.values=ignore` leaves such records out"),
        (Streams("t", "none", ()), "text", {"value_schema": s.STRING}, "has to be a struct, or a map without a schema"),
        (Streams("t", "none", ()), [1], {}, "A record of topic t can't be written: its value has to be a struct"),
        (Streams("t", "none", ()), {"n": 1 << 70}, {}, "it can't be written as JSON: Integer exceeds 64-bit range"),
        (
            Streams("t", "none", ()),
            {"n": None, "x": {"y": [float("nan")]}},
            {},
            "it can't be written as JSON, which has no NaN",
        ),
        (Streams("t", "none", ()), {"n": float("-inf")}, {}, "it can't be written as JSON, which has no NaN"),
        (Streams("t", "none", ()), {"n": Decimal("NaN")}, {}, "it can't be written as JSON"),
        (Streams("t", "record_key", ()), {"n": 1}, {}, "it has no key, which `pk.mode=record_key` needs"),
        (Streams("t", "record_key", ()), {"n": 1}, {"keys": [5]}, "`pk.fields` has to have one name, which it gets"),
        (Streams("t", "record_key", ["a"]), {"n": 1}, {"keys": [{"b": 1}]}, "its key has no a, which is among"),
        (Streams("t", "record_value", ["a"]), {"n": 1}, {}, "its value has no a, which is among `pk.fields`"),
    ],
)
def test_records_without_usable_keys_are_refused(
    streams: Streams, value: Any, columns: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(DataError, match=sentence):
        messages(streams, [value], **columns)
    assert kinds(messages(Streams("t", "none", ()), [{"n": 1}])) == "SR", "the next one is not concerned"


@pytest.mark.parametrize(
    ("schema", "value", "described", "written"),
    [
        (s.INT8, 5, {"type": ["integer"]}, "5"),
        (s.FLOAT64, 1.5, {"type": ["number"]}, "1.5"),
        (s.OPTIONAL_BOOLEAN, True, {"type": ["null", "boolean"]}, "true"),
        (s.STRING.with_(doc="its name"), "é", {"type": ["string"], "description": "its name"}, '"é"'),
        (s.BYTES, b"ab", {"type": ["string"], "contentEncoding": "base64"}, '"YWI="'),
        (s.decimal(3), Decimal("12345678901234567890.120"), {"type": ["number"]}, "12345678901234567890.120"),
        (s.DATE, dt.date(2020, 1, 2), {"type": ["string"], "format": "date"}, '"2020-01-02"'),
        *(
            (s.DATE, dt.date.fromisoformat(day), {"type": ["string"], "format": "date"}, f'"{day}"')
            for day in ("0001-01-01", "1582-10-04", "1582-10-10", "1582-10-15", "9999-12-31")
        ),
        *(
            (
                s.TIMESTAMP,
                dt.datetime.fromisoformat(at),
                {"type": ["string"], "format": "date-time"},
                f'"{at}"',
            )
            for at in ("0001-01-01T00:00:00Z", "1582-10-10T01:02:03.456000Z", "9999-12-31T23:59:59.999000Z")
        ),
        (s.TIME, dt.time(1, 2, 3, 4000), {"type": ["string"], "format": "time"}, '"01:02:03.004000"'),
        (
            s.TIMESTAMP,
            dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
            {"type": ["string"], "format": "date-time"},
            '"2020-01-02T03:04:05Z"',
        ),
        (s.array(s.INT32), [1, 2], {"type": ["array"], "items": {"type": ["integer"]}}, "[1,2]"),
        (
            s.map_of(s.INT32, s.STRING, optional=True),
            {1: "a"},
            {"type": ["null", "object"], "additionalProperties": {"type": ["string"]}},
            '{"1":"a"}',
        ),
    ],
)
def test_connect_schemas_become_json_schemas(
    schema: s.Schema, value: Any, described: dict[str, Any], written: str
) -> None:
    assert json_schema(schema) == described
    assert to_json(value).decode() == written


def test_a_schema_of_a_tap_comes_back_as_it_was() -> None:
    given = s.struct(
        ("id", s.OPTIONAL_INT64),
        ("tags", s.array(s.OPTIONAL_STRING, optional=True)),
        ("at", s.struct(("x", s.OPTIONAL_FLOAT64), optional=True)),
        optional=True,
    )
    assert mapped(json_schema(given)).schema == given
