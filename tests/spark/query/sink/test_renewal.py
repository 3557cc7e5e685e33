"""A sink's query keeps its offsets, though nothing arrives for longer than brokers keep them."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer

from penstock.api.errors import RetriableError
from penstock.kafka.client_settings import connector_consumer
from penstock.kafka.clients import new_consumer
from penstock.kafka.offsets.groups import committed_offsets
from penstock.kafka.statistics import ClientStatistics
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.task import TaskControl, TaskFencedError
from penstock.spark.query.asking import check_brokers
from penstock.spark.query.sink import query as sink_query
from penstock.spark.query.sink import task
from penstock.spark.query.sink.batches import QueryInput
from penstock.spark.query.sink.offsets import QueryOffsets, committing_producer
from penstock.spark.query.sink.progress import Span
from penstock.spark.query.sink.retries import CountedRetries
from support.kafka.client import Kafka
from support.kafka.lost import CONSUMER, lose
from support.tasks.runs import MemoryHost, eventually, new_name
from support.tasks.specs import SOURCE


class Group:
    def __init__(self) -> None:
        self.unfenced, self.renewals = None, 0

    def renew(self) -> None:
        self.renewals += 1
        if self.renewals == 1:
            raise RetriableError("no broker answers")


TOPICS: Any = SimpleNamespace(ids=lambda topics: None)


def test_a_paused_task_commits_its_offsets_again(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((task, "PAUSED_SECONDS"), (sink_query, "RENEW_SECONDS"), (sink_query, "RETRY_SECONDS")):
        monkeypatch.setattr(module, name, 0.01)
    group: Any = Group()
    nothing: Any = None
    retries = CountedRetries(0, 0.0)
    source = QueryInput(TOPICS, group, nothing, 60.0, nothing)
    spec = replace(SOURCE, kind="query", paused=True)
    control, host = TaskControl(pausing=True), MemoryHost()
    metrics = Metrics(host.metrics, ())
    parts = (spec, source, nothing, retries, control, host, metrics, lambda: None)
    thread = threading.Thread(target=task._run, args=parts)
    thread.start()
    eventually(lambda: group.renewals >= 3)
    control.stop()
    thread.join()
    assert host.states == ["paused"]


@pytest.mark.parametrize("state", ["paused", "running", "retrying"])
def test_a_run_whose_consumers_have_lost_their_brokers_is_lost(state: str) -> None:
    nothing: Any = None
    group: Any = Group()
    looks = 0

    def look() -> None:
        nonlocal looks
        looks += 1
        if looks == (2 if state == "retrying" else 1):
            raise TaskFencedError("A consumer of the query has lost all its brokers")

    def claim() -> None:
        raise RetriableError("no broker answers")

    group.claimed, group.claim, paused = False, claim, state == "paused"
    source = QueryInput(TOPICS, group, nothing, 60.0, nothing, look)
    control, host = TaskControl(pausing=paused), MemoryHost()
    spec = replace(SOURCE, kind="query", paused=paused)
    parts = (spec, source, nothing, CountedRetries(0, 0.0), control, host, Metrics(host.metrics, (), every=0.0))
    with pytest.raises(TaskFencedError, match="has lost all its brokers"):
        task._run(*parts, lambda: None)


def test_a_consumer_that_has_lost_its_brokers_is_noticed() -> None:
    statistics = ClientStatistics("consumer", "asked")
    with closing(Consumer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "group.id": "g"})) as consumer:
        check_brokers([(consumer, statistics)])
        lose(statistics, CONSUMER)
        with pytest.raises(TaskFencedError, match="A consumer of the query has lost all its brokers"):
            check_brokers([(consumer, statistics)])


@pytest.mark.integration
def test_offsets_are_committed_again_as_they_are(kafka: Kafka) -> None:
    worker, connector = {"bootstrap.servers": kafka.bootstrap}, {"name": new_name("query")}
    java = connector_consumer(worker, connector, "consumer")
    consumer = new_consumer({**java, "isolation.level": "read_committed"})
    group = QueryOffsets(
        lambda: committed_offsets(java, "lister", java["group.id"], 30),
        consumer,
        lambda: committing_producer(worker, connector, "producer", connector["name"]),
        lambda: False,
    )
    group.renew()
    partition, other = (kafka.create_topic(), 0), (kafka.create_topic(), 0)
    version = group.read([partition, other]).version.next()
    group.begin(version, Span({partition: 0, other: 3}, {partition: 5, other: 4}))
    # The list of the group's partitions may lack one for a moment after the commit of a transaction.
    before = eventually(lambda: found if other in (found := group.read([partition])).offsets else None)
    group.renew()
    assert group.read([partition]) == before
    group.done(version, Span({partition: 0, other: 3}, {partition: 5, other: 4}))
    group.renew()
    assert group.read([partition, other]).version == version
    consumer.close()
