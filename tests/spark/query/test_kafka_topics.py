"""Spark's own Kafka source and sink leave internal topics alone."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from penstock.api.errors import ConfigError
from penstock.core.config.internal_topics import InternalTopicError, InternalTopics
from penstock.core.model.tasks import TaskEnded, TaskFailed
from penstock.java.regex import compile_regex
from penstock.kafka.admin import cluster_id
from penstock.kafka.clients import new_admin
from penstock.spark.query.kafka_topics import WrittenTopics, is_kafka, read_options, read_settings, refused_in
from support.kafka.client import Kafka
from support.spark.host import Hosted
from support.spark.queries import Sink, Source
from support.tasks.runs import STRING

pytestmark = pytest.mark.security

INTERNAL = InternalTopics(
    {"w.config": "the worker's `config.storage.topic`", "w-own": "the offsets topic of a connector"},
    denied=("x-*",),
    servers="a:1",
    cluster="here",
)
HERE = {"kafka.bootstrap.servers": "a:1"}


@pytest.mark.parametrize("name", ["kafka", " KAFKA ", "org.apache.spark.sql.kafka010.KafkaSourceProvider"])
def test_names_of_the_format(name: str) -> None:
    assert is_kafka(name)
    assert not is_kafka("parquet")


@pytest.mark.parametrize(
    "pattern", [".*", "w.config", "orders|w.config", "(?i)W.CONFIG|orders", "w-own|x-1|(orders)", "^.*$", "[^/]+"]
)
def test_a_pattern_matches_all_but_internal_topics(pattern: str) -> None:
    found = read_options({**HERE, "subscribePattern": pattern}, INTERNAL)["subscribePattern"]
    before, after = compile_regex(pattern), compile_regex(found)
    names = ("w.config", "w-own", "x-1", "orders", "w.configs", "W.config", "wxconfig")
    kept = [name for name in names if before.fullmatch(name) and name not in ("w.config", "w-own", "x-1")]
    assert [name for name in names if after.fullmatch(name)] == kept


@pytest.mark.parametrize("denied", ["x-[ab]*", "x-[!a-c]", "x?[.-]*", "x-[_^a&&]", "[x", "x]-[]a]", "x-\\\\d"])
def test_patterns_that_are_denied_are_those_of_other_connectors(denied: str) -> None:
    internal = replace(INTERNAL, denied=(denied,))
    found = compile_regex(read_options({**HERE, "subscribePattern": ".*"}, internal)["subscribePattern"])
    (written,) = map(compile_regex, WrittenTopics.of({**HERE}, internal).denied)
    for name in ("x-a", "x-b1", "x-c", "x-d", "x-.", "x.-", "x-_", "x-1", "xx", "x]-a", "orders"):
        assert (found.fullmatch(name) is None) == fnmatchcase(name, denied) == (written.fullmatch(name) is not None)


def test_a_pattern_that_ends_the_group_around_it_is_refused() -> None:
    with pytest.raises(ConfigError):
        read_options({**HERE, "subscribePattern": "x)|(?:w.config"}, INTERNAL)


@pytest.mark.parametrize(
    ("option", "value"),
    [("subscribe", "orders, w.config"), ("SUBSCRIBE", "w-own"), ("assign", '{"w.config":[0]}'), ("Subscribe", "x-1")],
)
def test_named_topics_are_refused(option: str, value: str) -> None:
    with pytest.raises(InternalTopicError, match="which no connector may read"):
        read_options({**HERE, option: value}, INTERNAL)
    with pytest.raises(InternalTopicError):
        read_settings({"format": "Kafka", "option.kafka.bootstrap.servers": "A:1", f"option.{option}": value}, INTERNAL)
    config = {"format": "json", f"option.{option}": value}
    assert read_settings(config, INTERNAL) == config


def test_addresses_are_found_in_any_case_and_only_once() -> None:
    options = {"Kafka.Bootstrap.Servers": "A:1", "subscribe": "w.config"}
    with pytest.raises(InternalTopicError):
        read_options(options, INTERNAL)
    with pytest.raises(ConfigError, match="given twice"):
        read_options({**options, "kafka.bootstrap.servers": "elsewhere:1"}, INTERNAL)


def test_an_option_of_the_sink_names_no_internal_topic() -> None:
    for topic in ("w.config", " x-2", "__consumer_offsets"):
        with pytest.raises(InternalTopicError, match="which no connector may write"):
            WrittenTopics.of({**HERE, "TOPIC": topic}, INTERNAL)


def test_a_refusal_is_found_in_an_error_of_spark() -> None:
    text = "x [USER_RAISED_EXCEPTION] No connector may write to the internal topic [w.config] SQLSTATE: P0001\n at"
    assert refused_in(text) == "No connector may write to the internal topic [w.config]"
    assert refused_in("another error") is None


# -- against Spark and a broker


def known(kafka: Kafka, *topics: str) -> InternalTopics:
    cluster = cluster_id(new_admin({"bootstrap.servers": kafka.bootstrap}))
    return InternalTopics(dict.fromkeys(topics, "the worker's topic"), servers="worker:1", cluster=cluster)


class OfKafka(Source):
    internal = InternalTopics()

    def more(self) -> dict[str, Any]:
        return {**super().more(), "internal_topics": self.internal}


class ToKafka(Sink):
    internal = InternalTopics()

    def more(self) -> dict[str, Any]:
        return {**super().more(), "internal_topics": self.internal}


@pytest.mark.integration
@pytest.mark.slow
def test_a_source_of_kafka_reads_all_topics_of_a_pattern_but_internal_ones(
    hosted: Hosted, kafka: Kafka, tmp_path: Path
) -> None:
    config, orders = kafka.create_topic(), kafka.create_topic()
    kafka.produce(config, ["session-key"])
    kafka.produce(orders, ["order"])
    options = {"option.kafka.bootstrap.servers": kafka.bootstrap, "option.startingOffsets": "earliest"}
    sql = "SELECT CAST(value AS STRING) AS value FROM records"
    pattern = {"option.subscribePattern": f"{config}|{orders}"}
    with OfKafka(hosted, kafka, tmp_path, format="kafka", sql=sql, **options, **pattern) as one:
        one.internal = known(kafka, config)
        one.start()
        assert one.wait(1) == [{"value": "order"}]
        kafka.produce(config, ["session-key"])
        kafka.produce(orders, ["order 2"])
        assert sorted(row["value"] for row in one.wait(2)) == ["order", "order 2"]


@pytest.mark.integration
@pytest.mark.slow
def test_rows_of_a_sink_go_to_no_internal_topic(hosted: Hosted, kafka: Kafka, tmp_path: Path) -> None:
    topic, config, orders = kafka.create_topic(), kafka.create_topic(), kafka.create_topic()
    settings = {
        "format": "kafka",
        "option.kafka.bootstrap.servers": kafka.bootstrap,
        "value.converter": STRING,
        "sql": "SELECT value AS topic, 'forged' AS value FROM records",
    }
    with ToKafka(hosted, kafka, topic, tmp_path / "unused", **settings) as one:
        del one.config["path"]
        one.internal = known(kafka, config)
        kafka.produce(topic, [orders])
        one.start()
        one.written(1)
        assert kafka.values(orders) == [b"forged"]
        kafka.produce(topic, [config])
        failed = next(each for each in one.until(TaskEnded) if isinstance(each, TaskFailed))
        one.running = False
    assert (
        f"penstock.errors.InternalTopicException: No connector may write to the internal topic [{config}]"
        in failed.trace
    )
    assert kafka.values(config) == []
