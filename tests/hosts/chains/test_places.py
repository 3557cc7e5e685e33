"""Chains of which some steps run here and some in the JVM give the same bytes, wherever each of them runs."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import event, given
from hypothesis import strategies as st

from hosts.chains.running import TRANSFORMS, Result, bytes_of, handled, here, resolve_all, run
from hosts.chains.test_random import SMALLER_TABLES
from penstock.api.batch import Batch
from penstock.api.record import Header
from penstock.api.schema import FLOAT64, INT32, INT64, STRING, TIMESTAMP, array, struct
from penstock.embedded.java import java
from penstock.hosts.jvm.tasks.remote_batch import remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.errors import PipelineStage
from penstock.values.logical import moment_of
from support.tasks.runs import JSON

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
RECORD = struct(
    ("id", INT64),
    ("name", STRING.with_(optional=True)),
    ("price", FLOAT64),
    ("at", TIMESTAMP),
    ("tags", array(STRING)),
    ("inner", struct(("a", INT32), ("b", STRING))),
    name="record",
    version=2,
    doc="words",
)


def records(n: int, schemaless: bool) -> Batch:
    def value(i: int) -> dict[str, Any]:
        found = {
            "id": i,
            "name": None if i % 3 == 2 else f"näme {i}",
            "price": i / 8,
            "at": moment_of(1_700_000_000_000 + i),
            "tags": ["x"] * (i % 3),
            "inner": {"a": i, "b": str(i)},
        }
        return {**found, "at": 1_700_000_000_000 + i} if schemaless else found

    return Batch.of(
        ["orders" if i % 2 else "events" for i in range(n)],
        [value(i) for i in range(n)],
        value_schema=None if schemaless else RECORD,
        keys=[f"k{i}" for i in range(n)],
        key_schema=None if schemaless else STRING,
        timestamps=[1_700_000_000_000 + i for i in range(n)],
        headers=[(Header("h", INT32, i),) if i % 2 else () for i in range(n)],
    )


POOL: dict[str, dict[str, str]] = {
    "insert": {"type": TRANSFORMS + "InsertField$Value", "topic.field": "topic", "timestamp.field": "ts"},
    "cast": {"type": TRANSFORMS + "Cast$Value", "spec": "id:string,price:float32"},
    "replace": {"type": TRANSFORMS + "ReplaceField$Value", "exclude": "tags", "renames": "name:title"},
    "mask": {"type": TRANSFORMS + "MaskField$Value", "fields": "price"},
    "extract": {"type": TRANSFORMS + "ExtractField$Value", "field": "inner"},
    "flatten": {"type": TRANSFORMS + "Flatten$Value", "delimiter": "_"},
    "hoist": {"type": TRANSFORMS + "HoistField$Value", "field": "line"},
    "key": {"type": TRANSFORMS + "ValueToKey", "fields": "id,price"},
    "nested": {"type": TRANSFORMS + "ValueToKey", "fields": "inner.a,id", "field.syntax.version": "V2"},
    "router": {"type": TRANSFORMS + "RegexRouter", "regex": "(.*)s", "replacement": "$1-x"},
    "stamps": {"type": TRANSFORMS + "TimestampRouter"},
    "time": {"type": TRANSFORMS + "TimestampConverter$Value", "field": "at", "target.type": "unix"},
    "schema": {"type": TRANSFORMS + "SetSchemaMetadata$Value", "schema.name": "other", "schema.version": "7"},
    "headers": {
        "type": TRANSFORMS + "HeaderFrom$Value",
        "fields": "id",
        "headers": "from-id",
        "operation": "copy",
    },
    "drop": {"type": TRANSFORMS + "DropHeaders", "headers": "h"},
    "filter": {"type": TRANSFORMS + "Filter"},
    "mark": {"type": "penstock.tests.chain.Mark"},
}


@st.composite
def configs(draw: st.DrawFn) -> dict[str, str]:
    chosen = draw(st.lists(st.sampled_from(list(POOL)), unique=True, max_size=4))
    config = {
        "transforms": ",".join(chosen),
        "predicates": "orders,has",
        "predicates.orders.type": TRANSFORMS + "predicates.TopicNameMatches",
        "predicates.orders.pattern": "orders.*",
        "predicates.has.type": TRANSFORMS + "predicates.HasHeaderKey",
        "predicates.has.name": "h",
        "key.converter": JSON,
        "value.converter": JSON,
        "value.converter.schemas.enable": draw(st.sampled_from(["true", "false"])),
    }
    for alias in chosen:
        config |= {f"transforms.{alias}.{name}": value for name, value in POOL[alias].items()}
        if alias == "filter" or draw(st.booleans()):
            config[f"transforms.{alias}.predicate"] = draw(st.sampled_from(["orders", "has"]))
            config[f"transforms.{alias}.negate"] = draw(st.sampled_from(["true", "false"]))
    return config


@given(config=configs(), schemaless=st.booleans(), places=st.lists(st.booleans(), min_size=8, max_size=8))
def test_chains_give_the_same_bytes_wherever_their_steps_run(
    jvm: TaskJvm, config: dict[str, str], schemaless: bool, places: list[bool]
) -> None:
    batch = records(7, schemaless)
    javas = comparable(run(config, batch, lambda each: remote(jvm, each)))
    event(javas if isinstance(javas, str) else "bytes")
    assert comparable(run(config, batch, here)) == javas
    assert comparable(run(config, remote(jvm, batch), at_once=True)) == javas
    turns = iter(places)
    assert comparable(run(config, batch, lambda each: remote(jvm, each) if next(turns) else here(each))) == javas


def comparable(result: Result) -> Any:
    """Parse JSON in an outcome where the order of the members of maps depends on the version of Java."""
    if isinstance(result, str) or java().version < SMALLER_TABLES:
        return result
    topics, partitions, keys, values, *rest = result
    return topics, partitions, *([each and orjson.loads(each) for each in column] for column in (keys, values)), *rest


def test_neighbours_whose_headers_are_converted_at_once_share_them(jvm: TaskJvm) -> None:
    rows = [(Header("a", STRING, text), Header("b", STRING, "y")) for text in ("x", "x", "z")]
    batch = Batch.of("t", ["1", "2", "3", "4"], keys=["k"] * 4, headers=[*rows, ()])
    conversion = Conversion.build({"key.converter": JSON, "value.converter": JSON}, {}, resolve_all)
    at_once, *rest = conversion.from_java()
    done = at_once.apply(remote(jvm, batch))
    first, second, *_ = done.headers
    assert first is second
    assert [step.apply(done) for step in rest] == [done] * 3
    one_by_one, _, _ = handled(conversion.from_connect(), batch)
    assert bytes_of(done) == bytes_of(one_by_one)


def test_a_failed_conversion_at_once_is_repeated_by_single_converters(jvm: TaskJvm) -> None:
    config = {"key.converter": BYTES, "value.converter": JSON, "value.converter.schemas.enable": "false"}
    batch = remote(jvm, Batch.of("t", ["a", "b", "c"], keys=[b"1", "text", b"3"]))
    conversion = Conversion.build(config, {}, resolve_all)
    after, failures, _ = handled(conversion.from_java(), batch, tolerate=True)
    assert (after.keys, after.values) == ([b"1", b"3"], [b'"a"', b'"c"'])
    assert [(each.stage, each.record.values) for each in failures] == [(PipelineStage.KEY_CONVERTER, ["b"])]
