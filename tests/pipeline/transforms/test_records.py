"""Transforms of topics, headers and whole records: lists in, lists out."""

from __future__ import annotations

import pytest

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.api.record import Header, SourceRecord
from penstock.api.schema import INT8, INT32, STRING, struct
from penstock.java.errors import DatePatternError
from penstock.java.text import java_class_name
from penstock.pipeline import transforms
from pipeline.transforms.applying import applied


def test_headers():
    batch = applied(transforms.InsertHeader(), Batch.of("t", [0, 0]), header="h", value_literal="[1,2]")
    [[header], _] = batch.headers
    assert (header.key, header.value, header.schema.value_schema) == ("h", [1, 2], INT8)
    batch = applied(transforms.InsertHeader(), batch, header="g", value_literal="x")
    assert [[h.key for h in headers] for headers in batch.headers] == [["h", "g"]] * 2
    assert applied(transforms.DropHeaders(), batch, headers="h,nope").headers == [(Header("g", STRING, "x"),)] * 2


@pytest.mark.parametrize(("operation", "left"), [("copy", {"a": 1, "b": 2}), ("move", {"b": 2})])
def test_header_from(operation, left):
    schema = struct(("a", INT32), ("b", INT32))
    given = Batch.of("t", [{"a": 1, "b": 2}], value_schema=schema, headers=[(Header("x", None, 0),)])
    batch = applied(transforms.HeaderFromValue(), given, fields="a", headers="h", operation=operation)
    assert (batch.values, batch.headers) == ([left], [(Header("x", None, 0), Header("h", INT32, 1))])
    assert [field.name for field in batch.value_schemas[0]] == list(left)


@pytest.mark.parametrize(
    ("transform", "config"),
    [
        (transforms.InsertHeader, {"header": "h", "value_literal": "1"}),
        (transforms.HeaderFromValue, {"fields": "a", "headers": "h", "operation": "copy"}),
    ],
)
def test_a_plugin_may_have_given_a_list_of_headers(transform, config):
    given = Batch.of_source_records([SourceRecord(topic="t", value={"a": 1}, headers=[Header("x", None, 0)])])
    assert [header.key for header in applied(transform(), given, **config).headers[0]] == ["x", "h"]


def test_routers():
    batch = Batch.of(["orders-1", "orders-2", "other"], [0, 0, 0], timestamps=[0, 86399999, 86400000])
    assert applied(transforms.RegexRouter(), batch, regex="(.*)-\\d", replacement="all-$1").topics == [
        "all-orders",
        "all-orders",
        "other",
    ]
    assert applied(transforms.TimestampRouter(), batch).topics == [
        "orders-1-19700101",
        "orders-2-19700101",
        "other-19700102",
    ]


def test_a_pattern_that_is_none_fails_records_and_not_the_start():
    router = transforms.TimestampRouter()
    router.configure({"timestamp.format": "foo"})
    assert len(router.apply_batch(Batch.of("t", [], timestamps=[]))) == 0
    with pytest.raises(DataError, match=r"^Timestamp missing on record: "):
        router.apply_batch(Batch.of("t", [1], timestamps=[None]))
    for _ in range(2):
        with pytest.raises(DatePatternError, match=r"^Illegal pattern character 'f'$") as caught:
            router.apply_batch(Batch.of("t", [1], timestamps=[0]))
    assert java_class_name(type(caught.value)) == "java.lang.IllegalArgumentException"


def test_filter_drops_everything():
    assert len(applied(transforms.Filter(), Batch.of("t", [1, 2]))) == 0
