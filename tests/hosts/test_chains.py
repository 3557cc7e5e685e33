"""Chains of which some steps run here and some in the JVM give the same bytes, wherever each of them runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, DataError
from penstock.api.record import Header
from penstock.api.schema import FLOAT64, INT32, INT64, STRING, TIMESTAMP, array, struct
from penstock.hosts.jvm.tasks.converters import JavaConverter, JavaHeaderConverter
from penstock.hosts.jvm.tasks.remote_batch import RemoteBatch, remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm, task_jvm
from penstock.hosts.jvm.tasks.transforms import JavaPredicate, JavaTransformation
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.errors import ErrorHandler, ErrorSettings, Failure, Stage, Step
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.trace import trace
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from penstock.values.logical import moment_of
from support.tasks.runs import JSON, resolve
from support.waiting import until
from support.worker_process import QUICK_JAVA

from .plugins import plugin_path
from .test_codec import batches

BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
TRANSFORMS = "org.apache.kafka.connect.transforms."
BASES: dict[str, tuple[type, ...]] = {
    "Mark": (JavaTransformation,),
    "ValueContains": (JavaPredicate,),
    "Backwards": (JavaConverter, JavaHeaderConverter),
    "KafkasJson": (JavaConverter,),
}


def resolve_all(kind: str, name: str) -> type:
    """Also the plugins of the jar ``chain``."""
    package, _, simple = name.rpartition(".")
    if package == "penstock.tests.chain":
        return type(simple, BASES[simple], {"java_name": name})
    return resolve(kind, name)


@dataclass
class Run:
    plugin_path: tuple[str, ...]
    connector: str = "chains"
    task: int = 0
    config: dict[str, str] = field(default_factory=dict)
    connector_config: dict[str, str] = field(default_factory=dict)
    worker_config: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def jvm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TaskJvm]:
    path = plugin_path(tmp_path_factory.mktemp("plugins"), "chain")
    with task_jvm(Run((path,), worker_config={"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"})) as jvm:
        yield jvm


def here(batch: Batch) -> Batch:
    """The same batch with all of its columns here."""
    return Batch.of(
        batch.topics,
        batch.value_column,
        value_schema=batch.value_schemas,
        keys=batch.key_column,
        key_schema=batch.key_schemas,
        partitions=batch.partitions,
        timestamps=batch.timestamps,
        headers=batch.headers,
    )


Result = tuple[list[Any], ...] | str


def bytes_of(batch: Batch) -> Result:
    headers = [[(header.key, header.value) for header in row] for row in batch.headers]
    return batch.topics, batch.partitions, batch.keys, batch.values, headers, batch.timestamps


def run(
    config: dict[str, str], batch: Batch, place: Callable[[Batch], Batch] = lambda batch: batch, at_once: bool = False
) -> Result:
    """The bytes after all steps; ``place`` moves the batch before each of them. Or the class of the error."""
    chain = Chain.build(config, resolve_all)
    conversion = Conversion.build(config, {}, resolve_all)
    try:
        for step in [*chain.steps, *(conversion.from_java() if at_once else conversion.from_connect())]:
            batch = step.apply(place(batch))
            if not len(batch):
                break
        return bytes_of(batch)
    except Exception as error:
        return getattr(type(error), "java_name", type(error).__name__)
    finally:
        chain.close()
        conversion.close()


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


@settings(max_examples=60, deadline=None)
@given(config=configs(), schemaless=st.booleans(), places=st.lists(st.booleans(), min_size=8, max_size=8))
def test_chains_give_the_same_bytes_wherever_their_steps_run(
    jvm: TaskJvm, config: dict[str, str], schemaless: bool, places: list[bool]
) -> None:
    batch = records(7, schemaless)
    java = run(config, batch, lambda each: remote(jvm, each))
    event(java if isinstance(java, str) else "bytes")
    assert run(config, batch, here) == java
    assert run(config, remote(jvm, batch), at_once=True) == java
    turns = iter(places)
    assert run(config, batch, lambda each: remote(jvm, each) if next(turns) else here(each)) == java


@settings(max_examples=150, deadline=None)
@given(
    batch=batches(),
    schemas=st.sampled_from(["true", "false"]),
    decimals=st.sampled_from(["BASE64", "numeric"]),
    defaults=st.sampled_from(["true", "false"]),
)
def test_json_written_without_a_tree_is_kafkas(
    jvm: TaskJvm, batch: Batch, schemas: str, decimals: str, defaults: str
) -> None:
    """The other one is a class of a jar that inherits all of Kafka's."""
    settings = {"schemas.enable": schemas, "decimal.format": decimals, "replace.null.with.default": defaults}

    def written(converter: str) -> Result:
        config = {"key.converter": converter, "value.converter": converter}
        config |= {f"{part}.converter.{name}": value for part in ("key", "value") for name, value in settings.items()}
        return run(config, batch, lambda each: remote(jvm, each))

    kafkas = written("penstock.tests.chain.KafkasJson")
    event(kafkas if isinstance(kafkas, str) else "bytes")
    assert written(JSON) == kafkas


def test_versions_of_a_library_and_of_a_transform_are_apart_in_one_jvm(tmp_path: Path) -> None:
    """Each jar sees its own library, and nothing of Spark; of a transform in two versions the newest is the default."""
    library = "penstock.tests.library."
    path = plugin_path(tmp_path, "library1", "library2")
    run = Run((path,), "libraries", worker_config={"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"})
    config = {
        "transforms": "old,new,any,other",
        "transforms.old.type": f"{library}UsesLibrary",
        "transforms.old.plugin.version": "1.0",
        "transforms.new.type": f"{library}UsesLibrary",
        "transforms.new.plugin.version": "[2.0,3.0)",
        "transforms.any.type": f"{library}UsesLibrary",
        "transforms.other.type": f"{library}UsesTwo",
    }
    found = Plugins().plus(task_classes(JavaSettings.of(run.worker_config, run.plugin_path)))
    with task_jvm(run):
        chain = Chain.build(config, found.resolver(config))
        after, failures, _ = handled(chain.steps, Batch.of("t", ["a", "b"], value_schema=STRING))
        assert after.values == ["a 1.0 2.0 2.0 2.0", "b 1.0 2.0 2.0 2.0"]
        assert failures == []
    with pytest.raises(ConnectError, match=r"not found that matches the version range \[3\.0,3\.0\]"):
        Chain.build({**config, "transforms.old.plugin.version": "3.0"}, found.resolver(config))


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


def test_what_can_not_be_converted_at_once_is_found_by_the_converter_that_refuses_it(jvm: TaskJvm) -> None:
    config = {"key.converter": BYTES, "value.converter": JSON, "value.converter.schemas.enable": "false"}
    batch = remote(jvm, Batch.of("t", ["a", "b", "c"], keys=[b"1", "text", b"3"]))
    conversion = Conversion.build(config, {}, resolve_all)
    after, failures, _ = handled(conversion.from_java(), batch, tolerate=True)
    assert (after.keys, after.values) == ([b"1", b"3"], [b'"a"', b'"c"'])
    assert [(each.stage, each.record.values) for each in failures] == [(Stage.KEY_CONVERTER, ["b"])]


def test_texts_and_names_that_json_escapes_are_written_as_kafka_writes_them(jvm: TaskJvm) -> None:
    texts = ['"', "\\", "\n\x01\x7f", "\u2028", "ä", "𝄞"]
    schema = struct(*((text, STRING.with_(doc=text)) for text in texts))
    batch = Batch.of("t", [dict(zip(texts, texts, strict=True))], value_schema=schema, key_schema=STRING, keys=["𝄞"])
    results = [
        run({"key.converter": each, "value.converter": each}, batch, lambda sent: remote(jvm, sent))
        for each in (JSON, "penstock.tests.chain.KafkasJson")
    ]
    assert results[0] == results[1]
    assert isinstance(results[0], tuple)


MARK = {"transforms": "mark", "transforms.mark.type": "penstock.tests.chain.Mark", "transforms.mark.text": "seen"}


def handled(steps: list[Step], batch: Batch, **how: Any) -> tuple[Batch, list[Failure], Counts]:
    """The batch after the steps, what was reported on the way, and the metrics."""
    failures: list[Failure] = []
    counts = Counts(lambda values: None, ())
    errors = ErrorHandler(ErrorSettings(**how), counts, lambda seconds: False, (failures.append,))
    return errors.run(steps, batch), failures, counts


class Counts(Metrics):
    """Metrics that can be read."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.added: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        super().add(name, count)
        self.added[name] += count


def test_a_jars_transform_is_applied_to_records_of_python(jvm: TaskJvm) -> None:
    chain = Chain.build({**MARK, "transforms.mark.topic": "other"}, resolve_all)
    schema = struct(("id", INT64), name="thing", doc="words", parameters={"a": "b"})
    after = chain.steps[0].apply(Batch.of("t", [{"id": 1}], value_schema=schema))
    assert after.topics == ["other"]
    assert after.values == [{"id": 1, "mark": "seen"}]
    marked = struct(("id", INT64), ("mark", STRING.with_(optional=True, doc="who was here")), name="thing")
    assert after.value_schemas == [marked.with_(doc="words", parameters={"a": "b"})]
    assert after.headers == [(Header("mark", STRING, "seen"),)]


def test_a_jars_transform_has_metrics_of_its_own(jvm: TaskJvm) -> None:
    chain = Chain.build(MARK, resolve_all, MetricsOfPlugins({"connector": "c", "task": "0"}))
    chain.steps[0].apply(Batch.of("t", ["a", "b"]))
    tags = {"connector": "c", "task": "0", "transformation": "mark", "text": "seen"}
    wanted = {"name": "marked-total", "description": "Records that it has marked", "tags": tags, "value": 2.0}
    until(lambda: wanted in jvm.plugin_metrics(), "the metric", 60)
    assert [each for each in jvm.plugin_metrics() if each["tags"].get("connector") == "c"] == [wanted]


def test_the_record_that_fails_is_found_and_reported_with_javas_error(jvm: TaskJvm) -> None:
    chain = Chain.build(MARK, resolve_all)
    batch = Batch.of("t", ["a", "drop it", "bad", "b"], value_schema=STRING)
    for given_batch in (batch, remote(jvm, batch)):
        after, failures, _ = handled(chain.steps, given_batch, tolerate=True)
        assert after.values == ["a seen", "b seen"]
        (failure,) = failures
        assert isinstance(failure.error, DataError)
        assert str(failure.error) == "A bad value: bad"
        assert failure.record.values == ["bad"]
        assert trace(failure.error).startswith(
            "org.apache.kafka.connect.errors.DataException: A bad value: bad\n"
            "\tat penstock.tests.chain.Mark.apply(Mark.java:"
        )


def test_a_record_is_tried_again_as_often_as_it_failed_and_no_other_twice(jvm: TaskJvm) -> None:
    chain = Chain.build(MARK, resolve_all)
    batch = remote(jvm, Batch.of("t", ["a", "b", "again", "c"], value_schema=STRING))
    after, failures, counts = handled(chain.steps, batch, retry_timeout=60.0)
    assert after.values == ["a seen", "b seen", "again seen", "c seen"]
    assert failures == []
    # It failed in the batch of four; that one failure is the first attempt, which the next one follows.
    assert (counts.added["total-record-failures"], counts.added["total-retries"]) == (1, 1)


def test_a_jars_predicate_decides_on_transforms_of_either_kind(jvm: TaskJvm) -> None:
    config = {
        "transforms": "mark,hoist",
        "transforms.mark.type": "penstock.tests.chain.Mark",
        "transforms.mark.predicate": "has",
        "transforms.hoist.type": TRANSFORMS + "HoistField$Value",
        "transforms.hoist.field": "f",
        "transforms.hoist.predicate": "has",
        "transforms.hoist.negate": "true",
        "predicates": "has",
        "predicates.has.type": "penstock.tests.chain.ValueContains",
        "predicates.has.text": "x",
    }
    chain = Chain.build(config, resolve_all)
    batch = Batch.of("t", ["ax", "b", "x"])
    for given_batch in (batch, remote(jvm, batch)):
        after, _, _ = handled(chain.steps, given_batch)
        assert after.values == ["ax marked", {"f": "b"}, "x marked"]


def test_a_jars_converter_may_add_headers(jvm: TaskJvm) -> None:
    backwards = "penstock.tests.chain.Backwards"
    config = {
        "key.converter": backwards,
        "key.converter.prefix": ">",
        "value.converter": backwards,
        "header.converter": backwards,
    }
    conversion = Conversion.build(config, {}, resolve_all)
    batch = Batch.of("t", ["abc", None], keys=["k", "l"], headers=[(Header("h", STRING, "xy"),), ()])
    for given_batch in (batch, remote(jvm, batch)):
        after, _, _ = handled(conversion.from_connect(), given_batch)
        assert (after.keys, after.values) == ([b">k", b">l"], [b"cba", None])
        added = [("key-was", b"backwards"), ("value-was", b"backwards")]
        assert [[(h.key, h.value) for h in row] for row in after.headers] == [[("h", b"yx"), *added], added]


def test_a_jars_converter_reads_bytes(jvm: TaskJvm) -> None:
    backwards = "penstock.tests.chain.Backwards"
    config = {"key.converter": backwards, "value.converter": backwards, "header.converter": backwards}
    conversion = Conversion.build(config, {}, resolve_all)
    raw: Any = [(("h", b"yx"),), ()]
    batch = Batch.of("t", [b"cba", None], keys=[b"k", b"l"], headers=raw)
    for for_java in (False, True):
        after, _, _ = handled(conversion.to_connect(for_java), batch)
        assert isinstance(after, RemoteBatch) == for_java
        assert (after.keys, after.values) == (["k", "l"], ["abc", None])
        assert after.value_schemas == [STRING.with_(optional=True), None]
        assert after.headers == [(Header("h", STRING.with_(optional=True), "xy"),), ()]
