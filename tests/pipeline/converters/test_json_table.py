"""JSON that is read as columns is the same as JSON that is read record by record, down to the order of keys."""

from __future__ import annotations

import datetime as dt
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import DATE, FLOAT64, INT8, INT32, STRING, TIME, TIMESTAMP, struct
from penstock.pipeline.converters import JsonConverter
from penstock.values.column_printing import to_strings
from penstock.values.printing import to_string

# "Aa" and "BB" have the same hash code: which comes first in a Java map depends on which was put first.
KEYS = st.sampled_from(["a", "b", "Aa", "BB", "id", "%s", "", "üß", "user", "amount"])
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.sampled_from([0.0, -0.0, 1.5, 1e7, 1e-4, 1e19, -1e300])
    | st.text(max_size=5)
)
ITEMS = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(KEYS, SCALARS, max_size=3)


@st.composite
def objects_of_one_shape(draw) -> list[bytes]:
    keys = draw(st.lists(KEYS, min_size=1, max_size=5, unique=True))
    kinds = {
        key: draw(st.sampled_from([st.integers(0, 9), st.text(max_size=3), st.floats(1, 9), ITEMS])) for key in keys
    }
    shuffled = draw(st.booleans())
    return [
        orjson.dumps({key: draw(kinds[key]) for key in (draw(st.permutations(keys)) if shuffled else keys)})
        for _ in range(draw(st.integers(1, 4)))
    ]


def converter(**settings: str) -> JsonConverter:
    subject = JsonConverter()
    subject.configure({name.replace("_", "."): value for name, value in settings.items()}, is_key=False)
    return subject


def spelled(value: Any) -> str:
    """A value with its types and the order of its keys."""
    return repr(value)


def both_ways(subject: JsonConverter, data: list[bytes]) -> tuple[Any, Any]:
    """(schemas and values as a batch, the same record by record)."""
    schemas, values = subject.to_connect_batch(["t"] * len(data), [()] * len(data), list(data))
    return (schemas, values), [subject.to_connect("t", (), item) for item in data]


@given(objects_of_one_shape())
def test_maps(data):
    (schemas, values), one_by_one = both_ways(converter(schemas_enable="false"), data)
    assert [spelled(value) for value in values] == [spelled(value) for _, value in one_by_one]
    assert to_strings(schemas, values) == [to_string(None, value) for value in values]


ROW = struct(("id", INT8), ("user", STRING.with_(optional=True)), ("amount", FLOAT64), ("n", INT32.with_(default=7)))
ROW_JSON = (
    b'{"type":"struct","optional":false,"fields":[{"type":"int8","optional":false,"field":"id"},'
    b'{"type":"string","optional":true,"field":"user"},{"type":"double","optional":false,"field":"amount"},'
    b'{"type":"int32","optional":false,"default":7,"field":"n"}]}'
)
ROWS = st.fixed_dictionaries(
    {
        "id": st.integers(-200, 200) | st.floats(-5, 5),
        "user": st.none() | st.text(max_size=3) | st.integers(0, 3),
        "amount": st.floats(-9, 9) | st.integers(0, 9),
        "n": st.none() | st.integers(0, 9),
    },
    optional={"more": st.integers(0, 9)},
)


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_structs_in_envelopes(rows):
    subject = converter()
    first = b'{"schema":' + ROW_JSON + b',"payload":{"id":1,"user":"u","amount":1.0,"n":1}}'
    assert subject.to_connect_batch(["t"], [()], [first])[0] == [ROW]
    data = [b'{"schema":' + ROW_JSON + b',"payload":' + orjson.dumps(row) + b"}" for row in rows]
    (schemas, values), one_by_one = both_ways(subject, data)
    assert [spelled(value) for value in values] == [spelled(value) for _, value in one_by_one]
    assert schemas == [ROW] * len(rows)
    assert to_strings(schemas, values) == [to_string(ROW, value) for value in values]


def test_columns_are_what_objects_of_one_shape_become():
    data = [b'{"id":1,"user":"a"}', b'{"user":"b","id":2}']
    _, values = converter(schemas_enable="false").to_connect_batch(["t"] * 2, [()] * 2, list(data))
    assert isinstance(values, Table)
    assert {name: list(column) for name, column in values.as_dict().items()} == {"id": [1, 2], "user": ["a", "b"]}


@pytest.mark.parametrize("other", [b"[]", b"null", b"3", b'{"id":1,"more":2}', b"{}", b'{"other":1}'])
def test_values_of_another_shape_are_a_list(other):
    data = [b'{"id":1}', other]
    (_, values), one_by_one = both_ways(converter(schemas_enable="false"), data)
    assert isinstance(values, list)
    assert values == [value for _, value in one_by_one]


def test_a_batch_takes_and_gives_tables():
    batch = Batch.of("t", Table(("a", "b"), ([1, 2, 3], "xyz")))
    assert batch.values == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": 3, "b": "z"}]
    chosen = batch.select([2, 0])
    assert isinstance(chosen.value_column, Table)
    assert chosen.values == [{"a": 3, "b": "z"}, {"a": 1, "b": "x"}]
    assert len(batch.select(())) == 0
    assert Batch.concat([chosen, batch.select([1])]).values == [
        {"a": 3, "b": "z"},
        {"a": 1, "b": "x"},
        {"a": 2, "b": "y"},
    ]


MOMENTS = struct(
    ("day", DATE.with_(optional=True)),
    ("at", TIMESTAMP.with_(default=dt.datetime(2026, 1, 1, tzinfo=dt.UTC))),
    ("clock", TIME.with_(optional=True)),
)


@given(
    st.lists(
        st.tuples(
            st.none() | st.dates(),
            st.none() | st.datetimes(timezones=st.just(dt.UTC)) | st.datetimes(),
            st.none() | st.times(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_columns_of_dates_and_times_are_written_as_records_are(rows):
    subject = converter(schemas_enable="false")
    table = Table(("day", "at", "clock"), list(zip(*rows, strict=True)))
    count = len(rows)
    written = subject.from_connect_batch(["t"] * count, [()] * count, [MOMENTS] * count, table)
    assert written == [subject.from_connect("t", (), MOMENTS, row) for row in table.rows()]


def test_a_date_that_is_none_fails_as_it_does_in_a_record():
    with pytest.raises(DataError, match="expected Date but was class"):
        converter(schemas_enable="false").from_connect_batch(
            ["t"], [()], [struct(("day", DATE))], Table(("day",), (["2026"],))
        )


@pytest.mark.parametrize("column", [[{"day": "x"}], Table(["day"], [["x"]])])
def test_a_struct_named_like_a_date_is_refused_in_columns_too(column):
    schema = struct(("day", STRING), name=DATE.name)
    with pytest.raises(DataError, match=r"but was class org\.apache\.kafka\.connect\.data\.Struct"):
        converter().from_connect_batch(["t"], [()], [schema], column)


TEXTS = st.text(max_size=3) | st.lists(st.sampled_from(['"', ",", "\\", "\n", "\r", " ", "\x1f", "😀", "a"])).map(
    "".join
)
TEXTS_AND_NUMBERS = struct(("text", STRING), ("maybe", STRING.with_(optional=True)), ("number", INT32))


@given(st.lists(st.tuples(TEXTS, st.none() | TEXTS, st.integers(0, 9)), min_size=1, max_size=4))
def test_columns_of_texts_are_written_as_records_are(rows):
    subject = converter()
    table = Table(("text", "maybe", "number"), list(zip(*rows, strict=True)))
    count = len(rows)
    written = subject.from_connect_batch(["t"] * count, [()] * count, [TEXTS_AND_NUMBERS] * count, table)
    assert written == [subject.from_connect("t", (), TEXTS_AND_NUMBERS, row) for row in table.rows()]
