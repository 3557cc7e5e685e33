"""Random Connect schemas with values of them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from penstock.api.schema import DATE, TIME, TIMESTAMP, Schema, SchemaType, array, decimal, map_of, struct

_WORDS = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True)
_TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(  # noqa: DTZ001
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=dt.UTC)
)
TIMES = st.times().map(lambda time: time.replace(microsecond=time.microsecond // 1000 * 1000))

_SCALARS: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (Schema(SchemaType.INT8), st.integers(-128, 127)),
    (Schema(SchemaType.INT16), st.integers(-(2**15), 2**15 - 1)),
    (Schema(SchemaType.INT32), st.integers(-(2**31), 2**31 - 1)),
    (Schema(SchemaType.INT64), st.integers(-(2**63), 2**63 - 1)),
    (Schema(SchemaType.FLOAT32), st.floats(width=32, allow_nan=False, allow_infinity=False)),
    (Schema(SchemaType.FLOAT64), st.floats(allow_nan=False, allow_infinity=False)),
    (Schema(SchemaType.BOOLEAN), st.booleans()),
    (Schema(SchemaType.STRING), _TEXTS),
    (Schema(SchemaType.BYTES), st.binary(max_size=8)),
    (decimal(2), st.integers(-(10**20), 10**20).map(lambda n: Decimal(n).scaleb(-2))),
    (DATE, st.dates()),
    (TIME, TIMES),
    (TIMESTAMP, MOMENTS),
]


def scalars(without: frozenset[SchemaType] = frozenset()) -> st.SearchStrategy[tuple[Schema, st.SearchStrategy[Any]]]:
    return st.sampled_from([pair for pair in _SCALARS if pair[0].type not in without])


@st.composite
def nested(draw: st.DrawFn, depth: int, counter: list[int]) -> tuple[Schema, st.SearchStrategy[Any]]:
    kind = draw(st.sampled_from(["scalar", "scalar", "array", "map", "struct"])) if depth else "scalar"
    match kind:
        case "array":
            items, values = draw(nested(depth - 1, counter))
            pair: tuple[Schema, st.SearchStrategy[Any]] = array(items), st.lists(values, max_size=3)
        case "map":
            items, values = draw(nested(depth - 1, counter))
            pair = map_of(Schema(SchemaType.STRING), items), st.dictionaries(_TEXTS, values, max_size=3)
        case "struct":
            pair = draw(structs(depth - 1, counter))
        case _:
            pair = draw(scalars())
    if draw(st.booleans()):
        return pair[0].with_(optional=True), st.none() | pair[1]
    return pair


@st.composite
def structs(draw: st.DrawFn, depth: int, counter: list[int]) -> tuple[Schema, st.SearchStrategy[Any]]:
    counter[0] += 1
    name = f"org.example.Record{counter[0]}"
    fields = {
        word: draw(nested(depth, counter)) for word in draw(st.lists(_WORDS, min_size=1, max_size=4, unique=True))
    }
    schema = struct(*((word, pair[0]) for word, pair in fields.items()), name=name)
    return schema, st.fixed_dictionaries({word: pair[1] for word, pair in fields.items()})


@st.composite
def schemas_with_values(draw: st.DrawFn) -> tuple[Schema, list[Any]]:
    """Draw a struct, and three values of it."""
    schema, values = draw(structs(2, [0]))
    return schema, [draw(values) for _ in range(3)]


@st.composite
def protobuf_schemas_with_values(draw: st.DrawFn) -> tuple[Schema, list[Any]]:
    """Draw a struct that Protobuf supports: no nulls in lists and maps, no lists of lists, named maps."""

    def field(depth: int) -> tuple[Schema, st.SearchStrategy[Any]]:
        kind = draw(st.sampled_from(["scalar", "scalar", "array", "map", "struct"] if depth else ["scalar"]))
        schema, values = message(depth - 1) if kind == "struct" else draw(scalars())
        if kind == "array":
            return array(schema), st.lists(values, max_size=3)
        if kind == "map":
            counter[0] += 1
            keys = map_of(Schema(SchemaType.STRING), schema, name=f"Map{counter[0]}")
            return keys, st.dictionaries(_TEXTS, values, max_size=3)
        if draw(st.booleans()):
            return schema.with_(optional=True), st.none() | values
        return schema, values

    def message(depth: int) -> tuple[Schema, st.SearchStrategy[Any]]:
        counter[0] += 1
        name = f"Record{counter[0]}"
        # Protobuf refuses two fields whose names in JSON, without underscores, are the same.
        one_in_json = lambda word: word.replace("_", "").lower()  # noqa: E731
        names = _WORDS.filter(lambda word: word[0] != "_")
        words = draw(st.lists(names, min_size=1, max_size=4, unique_by=one_in_json))
        fields = {word: field(depth) for word in words}
        schema = struct(*((word, pair[0]) for word, pair in fields.items()), name=name)
        return schema, st.fixed_dictionaries({word: pair[1] for word, pair in fields.items()})

    counter = [0]
    schema, values = message(2)
    return schema, [draw(values) for _ in range(3)]
