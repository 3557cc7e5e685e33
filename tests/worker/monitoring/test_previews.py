"""A worker's handling of previews of sources that Spark reads; Spark's part has its own test."""

from __future__ import annotations

import base64
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from penstock.api.batch import Batch, SourceOrigin
from penstock.core.config.validation import WorkerRules
from penstock.core.model.local_requests import Preview
from penstock.core.model.messages import Refused
from penstock.hosts.python.wire import whole, write
from penstock.pipeline.task import TaskSpec
from penstock.plugins import Plugins
from penstock.preview.process import AT_ONCE, Previews
from penstock.spark.messages.driver import SourceSampled
from penstock.worker.monitoring.previews import WorkerPreviews

PLUGINS = Plugins.discover()
STRING = "org.apache.kafka.connect.storage.StringConverter"
CONFIG = {"connector.class": "SparkSource", "topic": "t", "format": "rate", "checkpoint.location": "/c"}
Asked = list[tuple[TaskSpec, int]]


def previews(answer: SourceSampled, asked: Asked) -> WorkerPreviews:
    def sample(spec: TaskSpec, limit: int, seconds: float) -> Future[SourceSampled]:
        asked.append((spec, limit))
        future: Future[SourceSampled] = Future()
        future.set_result(answer)
        return future

    return WorkerPreviews(
        config={"key.converter": STRING, "value.converter": STRING},
        plugins=PLUGINS,
        known=lambda name: CONFIG if name == "known" else None,
        validate=lambda config: PLUGINS.validate(config, WorkerRules("g")),
        resolve=lambda config: {name: value.replace("${secret}", "s3cret") for name, value in config.items()},
        check=lambda config: None,
        clean=lambda text: text.replace("s3cret", "[hidden]"),
        sample=sample,
        processes=Previews(300),
    )


def ask(config: dict[str, str | None], patch: bool = False, poll: bool = False) -> Preview:
    return Preview("known", config, patch, limit=7, poll=poll)


def records(*values: str) -> SourceSampled:
    batch = Batch.of("t", list(values), origin=SourceOrigin([{"query": "known"}], [{"batch": -1}]))
    return SourceSampled("g", base64.b64encode(write(whole(batch))).decode())


def test_the_records_of_spark_go_through_the_chain() -> None:
    asked: Asked = []
    found = previews(records("one"), asked).answer(ask({"option.rowsPerSecond": "${secret}"}, patch=True))
    assert (found["kind"], found["error"], found["records"][0]["result"]["value"]) == ("source", None, "one")
    ((spec, limit),) = asked
    assert (spec.task_class, limit) == ("penstock.connectors.spark.connectors:SparkSourceTask", 7)
    assert spec.config == {**CONFIG, "name": "known", "option.rowsPerSecond": "s3cret"}
    assert previews(SourceSampled("g"), asked).answer(ask(dict(CONFIG)))["records"] == []


def test_sources_with_side_effects_are_read_only_on_request() -> None:
    asked: Asked = []
    of = previews(records("one"), asked)
    query = {"connector.class": "JdbcSource", "connection.url": "jdbc:sqlite:/x", "mode": "bulk", "topic.prefix": "t"}
    named = {**query, "query": "SELECT nextval('n') AS n"}
    for config in ({**CONFIG, "format": "socket"}, named, {**query, "query.suffix": "FOR UPDATE"}):
        refused = of.answer(ask(dict(config)))["error"]
        assert (refused["stage"], "polling it is harmless" in refused["message"]) == ("TASK_POLL", True)
        assert asked == []
        assert of.answer(ask(dict(config), poll=True))["error"] is None
        asked.clear()
    assert of.answer(ask(dict(query)))["error"] is None
    assert len(asked) == 1


def test_few_wait_for_spark_at_a_time() -> None:
    def sample(*_: Any) -> Any:
        return of.answer(ask(dict(CONFIG)))

    of = replace(previews(SourceSampled("g"), []), sample=sample)
    for _ in range(2):
        with pytest.raises(Refused, match=f"{AT_ONCE} previews are waiting for Spark, the maximum"):
            of.answer(ask(dict(CONFIG)))


def test_errors_of_spark_are_cleaned() -> None:
    error = previews(SourceSampled("g", error="no login with s3cret"), []).answer(ask(dict(CONFIG)))["error"]
    assert error == {"stage": "TASK_POLL", "message": "no login with [hidden]"}
    with pytest.raises(Refused, match="not found"):
        previews(SourceSampled("g"), []).answer(Preview("unknown", {}, True))
