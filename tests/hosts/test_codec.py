"""Every value and schema of Connect crosses to the JVM and back as it was."""

from __future__ import annotations

import datetime as dt
import pickle
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api.batch import Batch, SinkOrigin, SourceOrigin
from penstock.api.columns import Table
from penstock.api.record import Header
from penstock.api.schema import (
    BOOLEAN,
    BYTES,
    DATE,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    TIME,
    TIMESTAMP,
    RecursiveSchema,
    Schema,
    SchemaType,
    array,
    decimal,
    map_of,
    struct,
)
from penstock.hosts.jvm.codec import schema_table
from penstock.hosts.jvm.codec.schema_table import MAX_NUMBERS, SchemaTable
from penstock.hosts.jvm.messages.worker import OpenSession
from penstock.hosts.jvm.process import JvmSpec, open_session
from penstock.hosts.jvm.tasks.remote_batch import RemoteBatch, remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def numbers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def in_milliseconds(moment: Any) -> Any:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000)


VALUES: dict[Schema, st.SearchStrategy[Any]] = {
    INT8: numbers(8),
    INT16: numbers(16),
    INT32: numbers(32),
    INT64: numbers(64),
    FLOAT32: st.floats(width=32, allow_nan=False),
    FLOAT64: st.floats(allow_nan=False),
    BOOLEAN: st.booleans(),
    STRING: TEXTS,
    BYTES: st.binary(max_size=6),
    DATE: st.dates(),
    TIME: st.times().map(in_milliseconds),
    TIMESTAMP: st.datetimes(timezones=st.just(dt.UTC)).map(in_milliseconds),
    decimal(3): st.integers(-(10**30), 10**30).map(lambda number: Decimal(number).scaleb(-3, _EXACT)),
}
_EXACT = __import__("decimal").Context(prec=60)


@st.composite
def schemas(draw: st.DrawFn, depth: int = 2) -> Schema:
    kinds = ["plain"] * 3 + (["array", "map", "struct"] if depth else [])
    match draw(st.sampled_from(kinds)):
        case "array":
            schema = array(draw(schemas(depth - 1)))
        case "map":
            schema = map_of(draw(st.sampled_from([STRING, INT32, BOOLEAN])), draw(schemas(depth - 1)))
        case "struct":
            names = draw(st.lists(NAMES, unique=True, max_size=4))
            schema = struct(*((name, draw(schemas(depth - 1))) for name in names))
        case _:
            schema = draw(st.sampled_from(list(VALUES)))
    details: dict[str, Any] = {"optional": draw(st.booleans())}
    if schema.name is None:
        details |= {
            "name": draw(st.none() | NAMES),
            "version": draw(st.none() | numbers(32)),
            "parameters": draw(st.dictionaries(NAMES, TEXTS, max_size=2)),
        }
    details["doc"] = draw(st.none() | TEXTS)
    if draw(st.booleans()):
        details["default"] = draw(values(schema))
    return schema.with_(**details)


def values(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.type:
        case SchemaType.ARRAY:
            assert schema.value_schema is not None
            found = st.lists(values(schema.value_schema), max_size=3)
        case SchemaType.MAP:
            assert schema.value_schema is not None
            assert schema.key_schema is not None
            found = st.dictionaries(values(schema.key_schema), values(schema.value_schema), max_size=3)
        case SchemaType.STRUCT:
            found = st.fixed_dictionaries({field.name: values(field.schema) for field in schema.fields})
        case _:
            plain = schema.with_(optional=False, doc=None, default=None)
            if plain.name not in (DATE.name, TIME.name, TIMESTAMP.name, decimal(3).name):
                plain = Schema(schema.type)
            found = VALUES[plain]
    return st.none() | found if schema.optional else found


PLAIN = st.recursive(
    st.none() | st.booleans() | numbers(64) | st.floats(allow_nan=False) | TEXTS | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
PAIRS = schemas().flatmap(lambda schema: st.tuples(st.just(schema), values(schema))) | st.tuples(st.none(), PLAIN)


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    n = draw(st.integers(1, 5))
    few = draw(st.lists(schemas(), min_size=1, max_size=2))

    def column() -> tuple[list[Any], list[Any]]:
        if draw(st.booleans()):
            pairs = [draw(PAIRS) for _ in range(n)]
        else:
            chosen = [draw(st.sampled_from(few)) for _ in range(n)]
            pairs = [(schema, draw(values(schema))) for schema in chosen]
        return [schema for schema, _ in pairs], [value for _, value in pairs]

    key_schemas, keys = column()
    value_schemas, found = column()
    headers = [tuple(Header(draw(NAMES), *draw(PAIRS)) for _ in range(draw(st.integers(0, 2)))) for _ in range(n)]
    return Batch.of(
        [draw(NAMES) for _ in range(n)],
        found,
        value_schema=value_schemas,
        keys=keys,
        key_schema=key_schemas,
        partitions=[draw(st.none() | st.integers(0, 9)) for _ in range(n)],
        timestamps=[draw(st.none() | st.integers(0, 2**40)) for _ in range(n)],
        headers=headers,
        origin=SourceOrigin([{"file": "a"}] * n, [{"position": i} for i in range(n)]),
    )


@pytest.fixture(scope="module")
def jvm(host_class_path: Any) -> Iterator[TaskJvm]:
    from penstock.embedded.java import java

    task = TaskJvm("codec", 0, {}, {}, {}, lambda: None)
    spec = JvmSpec(__file__, java().executable, host_class_path, ("-Xmx256m",), {"linger.ms": 1000})
    task._session = open_session(spec, OpenSession("codec"))
    yield task
    task.close()


def there_and_back(jvm: TaskJvm, batch: Batch) -> RemoteBatch:
    """Sent to the JVM, and not remembered here."""
    sent = remote(jvm, batch)
    assert type(sent) is RemoteBatch
    for name in ("key_schemas", "key_column", "value_schemas", "value_column", "headers"):
        del sent._columns[name]
    assert sent.topics == batch.topics
    assert sent.partitions == batch.partitions
    assert sent.timestamps == batch.timestamps
    return sent


def rows(batch: Batch) -> list[Any]:
    return [
        (batch.key_schemas[i], batch.keys[i], batch.value_schemas[i], batch.values[i], batch.headers[i])
        for i in range(len(batch))
    ]


@given(batches())
def test_everything_comes_back_as_it_was(jvm: TaskJvm, batch: Batch) -> None:
    assert rows(there_and_back(jvm, batch)) == rows(batch)


@pytest.mark.parametrize("through", ["a field", "a list", "a map", "two structs"])
def test_a_schema_that_contains_itself_comes_back(jvm: TaskJvm, through: str) -> None:
    again = RecursiveSchema(optional=True)
    inside = {
        "a field": again,
        "a list": array(again),
        "a map": map_of(STRING, again.with_(parameters={"x": "y"})),
        "two structs": struct(("more", array(again)), ("name", STRING), name="Between"),
    }[through]
    schema = struct(("value", INT64), ("next", inside.with_(optional=True)), name="Node", doc="words")
    again.close(schema)
    leaf = {"value": 2, "next": None}
    nested = {
        "a field": leaf,
        "a list": [leaf, None],
        "a map": {"k": leaf},
        "two structs": {"more": [leaf], "name": "n"},
    }
    value = {"value": 1, "next": nested[through]}
    batch = Batch.of("t", [value, leaf, value], value_schema=schema)
    found = there_and_back(jvm, batch)
    assert rows(found) == rows(batch)
    assert found.value_schemas[0] is schema
    assert found.value_schemas[0] == pickle.loads(pickle.dumps(schema))


def test_a_schema_that_comes_back_is_the_same_object(jvm: TaskJvm) -> None:
    schema = struct(("a", INT32), name="pair", doc="words", parameters={"x": "y"})
    assert there_and_back(jvm, Batch.of("t", [{"a": 1}], value_schema=schema)).value_schemas[0] is schema


def test_schemas_of_long_ago_are_forgotten(jvm: TaskJvm) -> None:
    """Each side numbers them, and says when the other may forget."""
    first = struct(("a", INT32), name="first", default={"a": 7})
    kept = remote(jvm, Batch.of("t", [{"a": 1}], value_schema=first))
    for batch in range(6):
        many = [STRING.with_(name=f"{batch}-{i}") for i in range(MAX_NUMBERS // 2)]
        assert there_and_back(jvm, Batch.of("t", ["x"] * len(many), value_schema=many)).value_schemas == many
    table = jvm.schemas
    assert table.generation >= 2
    assert len(table._received) <= 2 * MAX_NUMBERS + MAX_NUMBERS // 2
    assert len(table._objects) <= 4 * MAX_NUMBERS + 1
    for name in ("value_schemas", "value_column"):
        del kept._columns[name]
    assert kept.value_schemas == [first]
    assert kept.values == [{"a": 1}]
    assert there_and_back(jvm, Batch.of("t", [{"a": 2}], value_schema=first)).value_schemas[0] == first


def test_columns_of_the_generation_before_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema_table, "MAX_NUMBERS", 2)
    ours, theirs = SchemaTable(), SchemaTable()
    numbered = {ours.number(schema): schema for schema in (INT8, INT16)}
    theirs.learn(ours.take_descriptions())
    late = {ours.number(schema): schema for schema in (INT8, INT32)}
    theirs.learn(ours.take_descriptions())
    assert {number: theirs.get(number) for number in numbered | late} == numbered | late
    assert ours.generation == 2
    assert ours.number(INT64) == 5
    theirs.learn(ours.take_descriptions())
    assert {number: theirs.get(number) for number in late} == late
    with pytest.raises(KeyError):
        theirs.get(1)


def test_a_table_stays_a_table_and_nulls_are_where_they_were(jvm: TaskJvm) -> None:
    schema = struct(("a", INT32.with_(optional=True)), ("b", STRING))
    table = Table.of({"a": [1, None, 3], "b": ["x", "y", "ä𝄞"]})
    back = there_and_back(jvm, Batch.of("t", table, value_schema=schema))
    assert isinstance(back.value_column, Table)
    assert back.value_column == table


def test_parts_of_a_batch_are_chosen_and_joined_in_the_jvm(jvm: TaskJvm) -> None:
    batch = remote(jvm, Batch.of(list("abcdef"), list(range(6)), value_schema=INT64))
    parts = [batch.select([4, 5]), batch.select([0]), batch.select([1, 2]).select([1])]
    joined = Batch.concat(parts)
    assert type(joined) is RemoteBatch
    assert joined.topics == ["e", "f", "a", "c"]
    assert joined.values == [4, 5, 0, 2]


def test_columns_that_are_replaced_here_are_sent_when_the_jvm_needs_them(jvm: TaskJvm) -> None:
    batch = remote(jvm, Batch.of("t", [1, 2], value_schema=INT64, keys=["a", "b"], key_schema=STRING))
    changed = batch.with_(values=["x", "y"], value_schemas=[STRING, STRING], topics=["u", "v"])
    again = remote(jvm, changed)
    assert again.topics == ["u", "v"]
    assert again.values == ["x", "y"]
    assert again.value_schemas == [STRING, STRING]
    assert again.keys == ["a", "b"]
    assert again.select([1]).keys == ["b"]


def test_a_sinks_batch_keeps_where_it_is_from(jvm: TaskJvm) -> None:
    origin = SinkOrigin(["t"], [3], [42], ["CreateTime"])
    batch = Batch.of("t", [b"raw"], partitions=[3], timestamps=[5], headers=[(("h", b"1"),)], origin=origin)  # type: ignore[list-item]
    back = there_and_back(jvm, batch)
    assert back.values == [b"raw"]
    assert back.headers == [(Header("h", None, b"1"),)]
    assert back.origin == origin


def test_offsets_without_a_gap_cross_as_the_first_of_them(jvm: TaskJvm) -> None:
    numbers: Any = range(2**40, 2**40 + 4)
    assert there_and_back(jvm, Batch.of("t", numbers)).values == list(numbers)
