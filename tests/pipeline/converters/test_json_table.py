"""JSON that is read or written as columns is the same as JSON of single records, down to the order of keys."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.batch import Batch
from penstock.api.columns import Table
from penstock.api.errors import DataError
from penstock.api.schema import (
    BOOLEAN,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    STRING,
    SchemaType,
    array,
    struct,
)
from penstock.pipeline.converters import JsonConverter
from penstock.pipeline.converters.json_reader import JsonReader
from penstock.values.column_printing import to_strings
from penstock.values.printing import to_string
from pipeline.converters.json_values import converter

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


OBJECTS = st.fixed_dictionaries(
    {"user": SCALARS, "Aa": st.integers(0, 9) | SCALARS, "b": st.lists(SCALARS, max_size=2)}
)
KINDS = (
    st.integers(0, 9),
    st.text(max_size=3),
    st.floats(1, 9),
    st.none() | st.integers(2**63 - 1, 2**63),
    st.lists(st.integers(0, 9), max_size=3),
    st.none() | st.lists(st.text(max_size=2), max_size=2),
    OBJECTS,
    st.none() | OBJECTS,
    st.lists(OBJECTS, max_size=2),
    ITEMS,
)


@st.composite
def objects_of_one_shape(draw) -> list[bytes]:
    keys = draw(st.lists(KEYS, min_size=1, max_size=5, unique=True))
    kinds = {key: draw(st.sampled_from(KINDS)) for key in keys}
    shuffled = draw(st.booleans())
    return [
        orjson.dumps({key: draw(kinds[key]) for key in (draw(st.permutations(keys)) if shuffled else keys)})
        for _ in range(draw(st.integers(1, 4)))
    ]


def spelled(value: Any) -> str:
    """Describe a value with its types and the order of its keys."""
    return repr(value)


def both_ways(subject: JsonConverter, data: list[bytes]) -> tuple[Any, Any]:
    """(schemas and values as a batch, the same record by record)."""
    schemas, values = subject.to_connect_batch(["t"] * len(data), [()] * len(data), list(data))
    return (schemas, values), [subject.to_connect("t", (), item) for item in data]


@given(objects_of_one_shape())
def test_maps(data):
    (schemas, values), one_by_one = both_ways(converter(schemas_enable="false", penstock_coercion="java"), data)
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
    subject = converter(penstock_coercion="java")
    first = b'{"schema":' + ROW_JSON + b',"payload":{"id":1,"user":"u","amount":1.0,"n":1}}'
    assert subject.to_connect_batch(["t"], [()], [first])[0] == [ROW]
    data = [b'{"schema":' + ROW_JSON + b',"payload":' + orjson.dumps(row) + b"}" for row in rows]
    (schemas, values), one_by_one = both_ways(subject, data)
    assert [spelled(value) for value in values] == [spelled(value) for _, value in one_by_one]
    assert schemas == [ROW] * len(rows)
    assert to_strings(schemas, values) == [to_string(ROW, value) for value in values]


OPTIONAL_FIELDS = (
    ("small", INT8, "int8", st.integers(-130, 130)),
    ("large", INT64, "int64", st.integers(-(2**63), 2**64 - 1)),
    ("amount", FLOAT64, "double", st.sampled_from([0.0, -0.0, 1.5, -1e300])),
    ("ok", BOOLEAN, "boolean", st.booleans()),
    ("user", STRING, "string", st.text(max_size=2)),
)


@given(st.lists(st.fixed_dictionaries({name: st.none() | kind for name, _, _, kind in OPTIONAL_FIELDS}), min_size=1))
def test_nulls_in_structs(rows):
    subject = converter(penstock_coercion="java")
    fields = [{"type": kind, "optional": True, "field": name} for name, _, kind, _ in OPTIONAL_FIELDS]
    schema = {"type": "struct", "optional": False, "fields": fields}
    data = [orjson.dumps({"schema": schema, "payload": row}) for row in rows]
    subject.to_connect("t", (), data[0])
    subject.to_connect_batch(["t"], [()], data[:1])
    (schemas, values), one_by_one = both_ways(subject, data)
    assert schemas == [struct(*((name, type.with_(optional=True)) for name, type, _, _ in OPTIONAL_FIELDS))] * len(rows)
    assert [spelled(value) for value in values] == [spelled(value) for _, value in one_by_one]
    assert to_strings(schemas, values) == [to_string(schemas[0], value) for value in values]


INNER = struct(("street", STRING), ("zip", INT8.with_(optional=True)), ("city", STRING.with_(default="c")))
CONTAINERS = {
    "required": (INNER, st.none() | st.integers(0, 1)),
    "optional": (INNER.with_(optional=True), st.none()),
    "texts": (array(STRING), st.lists(st.none() | st.text(max_size=2), max_size=2)),
    "bytes": (array(INT8.with_(optional=True)).with_(optional=True), st.lists(st.none() | st.integers(-130, 130))),
    "doubles": (array(FLOAT64), st.lists(st.sampled_from([1.5, 2.0, 0.0, -0.0, 3]), max_size=2)),
    "structs": (array(INNER), st.none()),
}
INNER_NODES = st.fixed_dictionaries(
    {"street": st.text(max_size=2), "zip": st.none() | st.integers(-3, 130), "city": st.none() | st.text(max_size=2)}
)


@pytest.mark.parametrize("java", [True, False])
@pytest.mark.parametrize("name", CONTAINERS)
@given(data=st.data())
def test_structs_and_arrays_in_structs(name, java, data):
    schema, others = CONTAINERS[name]
    row = struct((name, schema))
    usual = others if schema.type is SchemaType.ARRAY else INNER_NODES
    values = usual if name != "structs" else st.lists(INNER_NODES, max_size=2)
    odd = others | values | INNER_NODES.map(lambda node: dict(list(node.items())[1:]))
    some = data.draw(st.sampled_from([values, values | st.none(), odd]))
    nodes = data.draw(st.lists(st.fixed_dictionaries({name: some}), min_size=1, max_size=4))
    reader = JsonReader(True, 10, java)
    table, alone = (
        either(lambda: reader.table(row, again(nodes))),
        either(lambda: list(map(reader.reader(row), again(nodes)))),
    )
    if table is not None:
        assert spelled(table if isinstance(table, str) else list(table)) == spelled(alone)
    if not isinstance(alone, str):
        assert to_strings([row] * len(nodes), table or alone) == [to_string(row, value) for value in alone]


HEADS = [
    b'{"schema":{"type":"struct","optional":true,"fields":[{"type":"int8","optional":true,"field":"a"}]},"payload":',
    b'{"schema":{"type":"struct","optional":false,"fields":[{"type":"string","field":"a"}]},"payload":',
    b'{"schema":{"type":"string","optional":true,"doc":",\\"payload\\":"},"payload":',
    b'{"schema":{"type":"string","optional":true,"parameters":{"a":"1"}},"payload":',
    b'{"schema":null,"payload":',
    b'{ "schema":{"type":"int64","optional":true},"payload":',
]
ENVELOPES = st.none() | st.builds(
    lambda head, payload, end: head + payload + end,
    st.sampled_from(HEADS),
    st.sampled_from([b'{"a":1}', b'{"a":"x"}', b'"x"', b"1", b"null", b"{}", b'{"a":1},"b":{"c":1}', b'1,"payload":2']),
    st.sampled_from([b"}", b"}", b"}", b" }", b"", b"} "]),
)


@pytest.mark.parametrize("cache", ["1000", "1"])
@given(st.lists(st.lists(ENVELOPES, min_size=1, max_size=6), max_size=3))
def test_envelopes_of_several_schemas(cache, batches):
    subject = converter(schemas_cache_size=cache)
    for data in batches:
        alone = either(lambda data=data: [converter().to_connect("t", (), item) for item in data])
        try:
            schemas, values = subject.to_connect_batch(["t"] * len(data), [()] * len(data), data)
        except DataError:
            assert alone == "an error"
            continue
        assert spelled(list(zip(schemas, values, strict=True))) == spelled(alone)
        assert to_strings(schemas, values) == list(map(to_string, schemas, values))


def test_nulls_among_objects():
    data = [b'{"id":1}', None, b'{"id":2}', None]
    (schemas, values), one_by_one = both_ways(converter(schemas_enable="false", penstock_coercion="java"), data)
    assert (schemas, values) == ([None] * 4, [{"id": 1}, None, {"id": 2}, None])
    assert values == [value for _, value in one_by_one]
    with pytest.raises(DataError):
        converter().to_connect_batch(["t"] * 4, [()] * 4, data)


def again(nodes: list[Any]) -> list[Any]:
    """Copy the nodes, since readers may change them."""
    found: list[Any] = orjson.loads(orjson.dumps(nodes))
    return found


def either(read: Any) -> Any:
    try:
        return read()
    except DataError:
        return "an error"


@pytest.mark.parametrize("other", [b"", b"}", None, b'{"schema":null,"payload":1}', b"head", b"tail", b"both"])
def test_envelopes_with_another_head_or_end(other):
    subject, good = converter(), b'{"schema":{"type":"int8","optional":false},"payload":1}'
    heads = {b"head": good[:-2], b"tail": good[1:], b"both": good + b" "}
    data = [good, heads.get(other, other)]
    subject.to_connect_batch(["t"], [()], [good])
    assert subject._payloads([good] * 2) == [b"1", b"1"]
    assert subject._payloads(data) is None


def test_columns_are_what_objects_of_one_shape_become():
    data = [b'{"id":1,"user":"a"}', b'{"user":"b","id":2}']
    _, values = converter(schemas_enable="false").to_connect_batch(["t"] * 2, [()] * 2, list(data))
    assert isinstance(values, Table)
    assert {name: list(column) for name, column in values.as_dict().items()} == {"id": [1, 2], "user": ["a", "b"]}


@pytest.mark.parametrize("other", [b"[]", b"null", b"3", b'{"id":1,"more":2}', b"{}", b'{"other":1}'])
def test_values_of_another_shape_are_a_list(other):
    data = [b'{"id":1}', other]
    (_, values), one_by_one = both_ways(converter(schemas_enable="false", penstock_coercion="java"), data)
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
