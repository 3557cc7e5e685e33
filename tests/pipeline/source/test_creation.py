"""Topics created before the first record, by the connector's rules and its task's requests (KIP-158)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ConfigSource
from confluent_kafka.admin import ResourceType as AclResource

from penstock.api.record import SourceRecord
from penstock.api.schema import STRING
from penstock.api.source import SourceTask
from penstock.api.topic_settings import CleanupPolicy, TopicSettings
from penstock.pipeline.source import topic_creation
from support.kafka.client import Kafka
from support.kafka.secured_broker import Secured, secured_broker
from support.tasks.runs import TaskRun, eventually, new_name

pytestmark = pytest.mark.integration

ALL = {"topic.creation": "r", "topic.creation.r.regex": ".*", "topic.creation.r.partitions": "3"}
SHIPPED = {"topic.creation.default.partitions": "3", "topic.creation.default.replication.factor": "1"}


class Sending(SourceTask):
    """Sends one record to each of ``topics`` and records the questions that it gets about new ones."""

    topics: list[str]
    asked: list[TopicSettings]

    def poll(self) -> list[SourceRecord] | None:
        names = self.topics[:]
        del self.topics[: len(names)]
        return [
            SourceRecord(topic=n, key="k", key_schema=STRING, value="v", source_partition={}, source_offset={"o": 1})
            for n in names
        ]

    def settings_for_new_topic(self, settings: TopicSettings) -> TopicSettings | None:
        self.asked.append(settings)
        return self.answer(settings)

    def answer(self, settings: TopicSettings) -> TopicSettings | None:
        return settings


def sending(*topics: str, **members: Any) -> type[Sending]:
    return type("Task", (Sending,), {"topics": list(topics), "asked": [], "__module__": __name__, **members})


def run(task: type[Sending], kafka: Kafka, config: dict[str, str], **spec: Any) -> None:
    """Run the task until its topics have its records."""
    topics = list(task.topics)
    with TaskRun(task, kafka.bootstrap, config, **spec):
        eventually(lambda: set(topics) <= kafka.topics())
        for topic in topics:
            eventually(lambda topic=topic: kafka.values(topic) == [b"v"])


def partitions(kafka: Kafka, topic: str) -> int:
    return len(kafka.admin.list_topics(timeout=900).topics[topic].partitions)


def own_settings(kafka: Kafka, topic: str) -> dict[str, str]:
    """Return the settings that the topic overrides."""
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: entry.value for name, entry in kafka.configs(topic).items() if entry.source == own}


def test_the_first_rule_of_the_draft_that_matches_applies(kafka: Kafka) -> None:
    first, second = new_name("first"), new_name("second")
    config = {
        "topic.creation": "firstRule,defaultRule",
        "topic.creation.firstRule.regex": "first-\\p{Alnum}+",
        "topic.creation.firstRule.replication.factor": "1",
        "topic.creation.firstRule.partitions": "5",
        "topic.creation.firstRule.cleanup.policy": "compact",
        "topic.creation.firstRule.unclean.leader.election.enable": "false",
        "topic.creation.defaultRule.regex": ".*",
        "topic.creation.defaultRule.min.insync.replicas": "1",
    }
    run(sending(first, second), kafka, config)
    assert partitions(kafka, first) == 5
    assert own_settings(kafka, first) == {"cleanup.policy": "compact", "unclean.leader.election.enable": "false"}
    assert partitions(kafka, second) == 1
    assert own_settings(kafka, second) == {"min.insync.replicas": "1"}


def test_a_regex_must_match_the_whole_name_and_what_none_matches_is_left_to_the_broker(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_name("whole")
    task = sending(topic)
    with caplog.at_level(logging.INFO):
        run(task, kafka, {**ALL, "topic.creation.r.regex": "whole"})
    assert partitions(kafka, topic) == 1
    assert task.asked == []
    assert f"No topic creation rule matches topic '{topic}'" in caplog.text


@pytest.mark.parametrize("rules", [ALL, SHIPPED], ids=["draft", "shipped"])
def test_a_task_may_change_everything(kafka: Kafka, rules: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    topic = new_name("changed")
    seen: list[Any] = []

    def answer(self: Any, settings: TopicSettings) -> TopicSettings:
        seen.append((settings.name, settings.partitions, settings.cleanup_policy, settings.config("retention.ms")))
        return (
            settings.with_configs({"retention.ms": 7777, "max.message.bytes": 5000})
            .with_partitions(settings.partitions + 1)
            .with_replication_factor(1)
            .with_cleanup_policy(CleanupPolicy.COMPACT_AND_DELETE)
            .with_min_in_sync_replicas(1)
            .with_unclean_leader_election(True)
            .with_config("max.message.bytes", None)
        )

    prefix = "topic.creation.r" if rules is ALL else "topic.creation.default"
    with caplog.at_level(logging.INFO):
        run(sending(topic, answer=answer), kafka, {**rules, f"{prefix}.compression.type": "gzip"})
    assert seen == [(topic, 3, None, None)]
    assert partitions(kafka, topic) == 4
    assert own_settings(kafka, topic) == {
        "retention.ms": "7777",
        "cleanup.policy": "compact,delete",
        "min.insync.replicas": "1",
        "unclean.leader.election.enable": "true",
    }
    assert f"Creating topic '{topic}'" in caplog.text
    assert f"Created topic '(name={topic}, numPartitions=4, replicationFactor=1, " in caplog.text


def test_a_task_may_refuse(kafka: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    topic = new_name("refused")
    with caplog.at_level(logging.INFO):
        run(sending(topic, answer=lambda self, settings: None), kafka, ALL)
    assert partitions(kafka, topic) == 1
    assert f"The task wants topic '{topic}' not to be created by the worker" in caplog.text


def test_an_existing_topic_is_never_touched(kafka: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    topic = kafka.create_topic(partitions=2, config={"retention.ms": "1234567"})
    task = sending(topic)
    with caplog.at_level(logging.INFO):
        run(task, kafka, {**ALL, "topic.creation.r.retention.ms": "7654321"})
    assert partitions(kafka, topic) == 2
    assert own_settings(kafka, topic) == {"retention.ms": "1234567"}
    assert task.asked == []
    assert f"Topic '{topic}' already exists." in caplog.text


def test_a_topic_that_another_client_creates_meanwhile_is_used(kafka: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    topic = new_name("meanwhile")

    def answer(self: Any, settings: TopicSettings) -> TopicSettings:
        kafka.create_topic(settings.name, partitions=2)
        return settings

    with caplog.at_level(logging.INFO):
        run(sending(topic, answer=answer), kafka, ALL)
    assert partitions(kafka, topic) == 2
    assert f"Found existing topic '{topic}'" in caplog.text


def test_the_task_is_asked_once_for_a_topic(kafka: Kafka) -> None:
    topic = new_name("once")
    task = sending(topic)
    with TaskRun(task, kafka.bootstrap, ALL):
        eventually(lambda: topic in kafka.topics() and kafka.values(topic) == [b"v"])
        task.topics += [topic, topic]
        eventually(lambda: len(kafka.values(topic)) == 3)
    assert [settings.name for settings in task.asked] == [topic]


@pytest.mark.parametrize("rules", [ALL, SHIPPED], ids=["draft", "shipped"])
def test_a_worker_without_topic_creation_applies_no_rule_and_warns_once(
    kafka: Kafka, rules: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    topic = new_name("disabled")
    task = sending(topic)
    run(task, kafka, rules, worker={"topic.creation.enable": "false"}, connector="told")
    assert partitions(kafka, topic) == 1
    assert task.asked == []
    told = [r for r in caplog.records if "The topic.creation settings of connector told have no effect" in r.message]
    assert len(told) == 1


def test_a_connector_without_rules_logs_no_warning(kafka: Kafka, caplog: pytest.LogCaptureFixture) -> None:
    task = sending(new_name("ruleless"))
    run(task, kafka, {}, worker={"topic.creation.enable": "false"})
    assert task.asked == []
    assert "have no effect" not in caplog.text


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured_broker(tmp_path_factory.mktemp("secured")) as kafka:
        yield kafka


def test_a_missing_permission_fails_the_task_and_is_named(secured: Secured) -> None:
    user, topic = secured.add_user(), new_name("forbidden")
    login = secured.login("SCRAM-SHA-512", user, "PEM")
    config = {f"{client}.override.{k}": v for client in ("producer", "admin") for k, v in login.items()} | ALL
    trace = TaskRun(sending(topic), secured.bootstrap, config).failure()
    assert trace.startswith(
        f"org.apache.kafka.connect.errors.ConnectException: Not authorized to describe topic(s) '{topic}'\n"
        "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: "
        f"[{topic}] (User:{user} needs DESCRIBE on Topic:{topic})"
    )
    secured.grant(f"User:{user}", AclResource.TOPIC, topic, AclOperation.DESCRIBE, AclOperation.WRITE)
    trace = TaskRun(sending(topic), secured.bootstrap, config).failure()
    assert (
        f"Task failed to create new topic (name={topic}, numPartitions=3, replicationFactor=default, "
        "replicasAssignments=null, configs={}). Ensure that the task is authorized to create topics or that the "
        "topic exists and restart the task\n"
        "Caused by: org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics: "
        f"[{topic}] (User:{user} needs CREATE on Topic:{topic})"
    ) in trace
    secured.grant(f"User:{user}", AclResource.TOPIC, topic, AclOperation.CREATE)
    run(sending(topic), secured, config)
    assert partitions(secured, topic) == 3


def test_topic_creation_retries_while_brokers_cannot_be_reached(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A topic that cannot be looked up yet does not end the task, as in Java; the task can be stopped meanwhile."""
    monkeypatch.setattr(topic_creation, "WAIT_SECONDS", 1)
    config = {**ALL, "admin.override.bootstrap.servers": "127.0.0.1:1"}
    task = sending(new_name("waiting"))
    run = TaskRun(task, kafka.bootstrap, config).started()
    eventually(lambda: run.error or caplog.text.count("Failed to send records. Backing off before retrying") >= 2)
    run.stop()
    run.check()
    assert task.asked == []
