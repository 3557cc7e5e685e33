"""Rows and deletions made from records with keys, and keys that are refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api.batch import Batch, SinkOrigin
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import INT32, INT64, STRING, Schema, array, map_of, struct
from penstock.spark.query.sink.rows.keys import Keying, Keys, deleted
from penstock.spark.query.sink.rows.plan import DELETED, PLACE, RowPlan
from penstock.spark.query.sink.rows.row_maker import RowMaker, columns_in

KEY = struct(("id", INT32))
VALUE = struct(("name", STRING.with_(optional=True)), ("id", INT64), ("n", INT64))


def keyed(*records: tuple[Any, Any], fields: str = "id", deletes: bool = True, declared: bool = False, **more) -> Batch:
    schemas: dict[str, Schema | None] = {"key_schema": KEY, "value_schema": VALUE, **more}
    origin = SinkOrigin(
        ["t"] * len(records), [0] * len(records), list(range(len(records))), ["CreateTime"] * len(records)
    )
    keys, values = [key for key, _ in records], [value for _, value in records]
    batch = Batch.of("t", values, keys=keys, origin=origin, **schemas)  # type: ignore[arg-type]
    return Keying(Keys(tuple(fields.split(",")), deletes, declared), "a sink").apply(batch)


def test_a_row_has_the_keys_fields_in_place_of_the_values() -> None:
    batch = keyed(({"id": 1}, {"name": "a", "id": 9, "n": 2}), ({"id": 2}, None))
    assert batch.values == [{"name": "a", "id": 1, "n": 2}, {"id": 2}]
    assert deleted(batch) == [False, True]
    found = columns_in(batch)
    assert found is not None
    assert found.simpleString() == "struct<name:string,id:int,n:bigint>"


def test_rows_tell_their_place_and_whether_they_delete() -> None:
    batch = keyed(({"id": 1}, {"name": "a", "id": 9, "n": 2}), ({"id": 2}, None))
    columns = columns_in(batch)
    assert columns is not None
    made = RowMaker(RowPlan(columns.json(), keyed=True)).rows(batch, None)  # type: ignore[arg-type]
    assert made is not None
    place = {"partition": 0, "topic": "t"}
    assert made.to_pylist() == [
        {"name": "a", "id": 1, "n": 2, PLACE: {"offset": 0, **place}, DELETED: False},
        {"name": None, "id": 2, "n": None, PLACE: {"offset": 1, **place}, DELETED: True},
    ]


def test_without_deletes_records_without_a_value_are_left_out() -> None:
    batch = keyed(({"id": 1}, None), ({"id": 2}, {"name": "a", "id": 2, "n": 2}), deletes=False)
    assert batch.keys == [{"id": 2}]


@pytest.mark.parametrize(
    ("key", "value", "schemas", "row", "columns"),
    [
        (7, {"n": 1}, (INT64, struct(("n", INT64))), {"id": 7, "n": 1}, "id:bigint,n:bigint"),
        ("k", "text", (STRING, STRING), {"id": "k", "value": "text"}, "id:string,value:string"),
        ("k", [1], (None, None), {"id": "k", "value": "[1]"}, "id:string,value:string"),
        ({"id": 5, "x": 1}, 2, (None, None), {"id": 5, "value": 2}, "id:bigint,value:bigint"),
    ],
)
def test_keys_and_values_that_are_no_structs(key: Any, value: Any, schemas: Any, row: Any, columns: str) -> None:
    batch = keyed((key, value), key_schema=schemas[0], value_schema=schemas[1])
    assert batch.values == [row]
    found = columns_in(batch)
    assert found is not None
    assert found.simpleString() == f"struct<{columns}>"


def test_values_of_declared_columns_keep_what_they_are() -> None:
    batch = keyed(({"id": 1}, {"n": "7"}), ({"id": 2}, None), declared=True, key_schema=None, value_schema=None)
    assert batch.values == [{"n": "7", "id": 1}, {"id": 2}]
    assert deleted(batch) == [False, True]


def test_values_that_come_as_columns() -> None:
    keys, values = Table.of({"id": [1, 2]}), Table.of({"n": [5, 6]})
    batch = Batch.of("t", values, keys=keys, key_schema=KEY, value_schema=struct(("n", INT64)))
    rows = Keying(Keys(("id",), deletes=True, declared=False), "a sink").apply(batch)
    assert rows.values == [{"n": 5, "id": 1}, {"n": 6, "id": 2}]


@pytest.mark.parametrize(
    ("key", "more", "said"),
    [
        (None, {}, "The record has no key, by which insert.mode=upsert finds its row"),
        ({"id": 1}, {"fields": "id,other"}, "pk.fields names other, and the key has only: id"),
        (1, {"key_schema": INT64, "fields": "a,b"}, "The key is of type INT64, so pk.fields has to be the one name"),
        ([1], {"key_schema": array(INT64)}, "The key is of type ARRAY"),
        ({"id": {}}, {"key_schema": struct(("id", map_of(STRING, STRING)))}, "Field id of the key is of type MAP"),
    ],
)
def test_a_key_by_which_no_row_can_be_found_is_refused(key: Any, more: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        keyed((key, {"name": "a", "id": 1, "n": 2}), **more)


TEXTS = {"key_schema": STRING, "value_schema": STRING}


@pytest.mark.parametrize(
    ("key", "value", "more"),
    [
        ("k", "text", TEXTS | {"fields": "value"}),
        ("k", "text", TEXTS | {"fields": "Value"}),
        ({"value": 1}, {"n": 1}, {"key_schema": None, "value_schema": None, "fields": "value"}),
        ("k", "text", {"key_schema": None, "value_schema": None, "fields": "value", "declared": True}),
    ],
)
def test_a_key_does_not_replace_a_value_that_is_no_struct(key: Any, value: Any, more: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"pk.fields names [vV]alue, and the value is no struct.*HoistField\$Value"):
        keyed((key, value), **more)


def test_a_key_may_be_called_value_beside_a_struct_and_in_a_deletion() -> None:
    batch = keyed(("k", {"n": 1}), ("l", None), fields="value", key_schema=STRING, value_schema=struct(("n", INT64)))
    assert batch.values == [{"n": 1, "value": "k"}, {"value": "l"}]


def test_columns_that_spark_can_not_tell_apart_are_refused() -> None:
    value = struct(("ID", INT64), ("n", INT64))
    with pytest.raises(DataError, match="The value has a field ID beside the key's id of pk"):
        keyed(({"id": 1}, {"ID": 1, "n": 2}), value_schema=value)
    declared = keyed(({"id": 1}, {"ID": 1, "n": 2}), value_schema=value, declared=True)
    assert declared.values == [{"ID": 1, "n": 2, "id": 1}], "the declared columns are all there are"
