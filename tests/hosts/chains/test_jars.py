"""Transforms, predicates and converters of jars in a chain."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hosts.chains.running import TRANSFORMS, Run, handled, resolve_all
from hosts.plugins import plugin_path
from penstock.api.batch import Batch
from penstock.api.errors import ConnectError, DataError
from penstock.api.record import Header
from penstock.api.schema import INT64, STRING, struct
from penstock.hosts.errors import FatalJavaError
from penstock.hosts.jvm.plugins.catalogue import url_of
from penstock.hosts.jvm.tasks.remote_batch import RemoteBatch, remote
from penstock.hosts.jvm.tasks.task_jvm import TaskJvm, task_jvm
from penstock.pipeline.chain import Chain
from penstock.pipeline.conversion import Conversion
from penstock.pipeline.telemetry.plugin_metrics import MetricsOfPlugins
from penstock.pipeline.trace import trace
from penstock.plugins import Plugins
from penstock.plugins.jars import JavaSettings, task_classes
from support.waiting import until
from support.worker_process import QUICK_JAVA

pytestmark = pytest.mark.integration

MARK = {"transforms": "mark", "transforms.mark.type": "penstock.tests.chain.Mark", "transforms.mark.text": "seen"}


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
    until(lambda: wanted in jvm.plugin_metrics(), "the metric")
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


def test_an_error_of_java_is_that_of_no_record(jvm: TaskJvm) -> None:
    chain = Chain.build(MARK, resolve_all)
    batch = Batch.of("t", ["a", "b", "gone", "c"], value_schema=STRING)
    for given_batch in (batch, remote(jvm, batch), batch.select((2,))):
        with pytest.raises(FatalJavaError, match="some/missing/Class") as raised:
            handled(chain.steps, given_batch, tolerate=True, retry_timeout=60.0)
        assert trace(raised.value).startswith(
            "java.lang.NoClassDefFoundError: some/missing/Class\n\tat penstock.tests.chain.Mark.apply(Mark.java:"
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


def test_a_jars_predicate_is_asked_once_about_each_record_though_the_transform_fails_for_one(jvm: TaskJvm) -> None:
    second = {"predicates": "second", "predicates.second.type": "penstock.tests.chain.EverySecond"}
    chain = Chain.build({**MARK, "transforms.mark.predicate": "second", **second}, resolve_all)
    batch = remote(jvm, Batch.of("t", ["a", "bad", "b", "c", "d", "e"], value_schema=STRING))
    after, failures, _ = handled(chain.steps, batch, tolerate=True)
    assert after.values == ["a", "b", "c seen", "d", "e seen"]
    assert [failure.record.values for failure in failures] == [["bad"]]


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
        "transforms.other.type": f"{library}Unversioned",
    }
    found = Plugins().plus(task_classes(JavaSettings.of(run.worker_config, run.plugin_path)))
    with task_jvm(run):
        chain = Chain.build(config, found.resolver(config))
        after, failures, _ = handled(chain.steps, Batch.of("t", ["a", "b"], value_schema=STRING))
        assert after.values == ["a 1.0 2.0 2.0 2.0", "b 1.0 2.0 2.0 2.0"]
        assert failures == []
    with pytest.raises(ConnectError, match=r"not found that matches the version range \[3\.0,3\.0\]"):
        Chain.build({**config, "transforms.old.plugin.version": "3.0"}, found.resolver(config))


def test_a_class_without_a_version_is_that_of_the_connectors_location(tmp_path: Path) -> None:
    """Two locations have one of this name, which no version tells apart."""
    path = plugin_path(tmp_path, "library1", "library2")
    run = Run((path,), "twins", worker_config={"penstock.java.opts": f"{QUICK_JAVA} -Xmx256m"})
    found = Plugins().plus(task_classes(JavaSettings.of(run.worker_config, run.plugin_path)))
    config = {"transforms": "its", "transforms.its.type": "penstock.tests.library.Unversioned"}
    with task_jvm(run):
        for place, version in (("library1", "1.0"), ("library2", "2.0"), ("elsewhere", "2.0")):
            near = partial(found.resolve, near=url_of(tmp_path / place))
            after, _, _ = handled(Chain.build(config, near).steps, Batch.of("t", ["a"], value_schema=STRING))
            assert after.values == [f"a {version}"]


def test_kafkas_own_converter_is_not_hidden_by_an_old_one_that_a_location_bundles(tmp_path: Path) -> None:
    run = Run((plugin_path(tmp_path, "bundled"),), "bundled", worker_config={"penstock.java.opts": QUICK_JAVA})
    json = "org.apache.kafka.connect.json.JsonConverter"
    config = {"key.converter": json, "value.converter": json, "value.converter.schemas.enable": "false"}
    with task_jvm(run) as jvm:
        conversion = Conversion.build(config, {}, resolve_all)
        batch = remote(jvm, Batch.of("t", ["a"], value_schema=STRING))
        after, failures, _ = handled(conversion.from_connect(), batch)
        assert (after.values, failures) == ([b'"a"'], [])
