"""Rows of the attention list about sinks of one worker, from a real broker and a clock that the test sets."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from penstock.api.errors import ConnectError
from penstock.core.model import messages as m
from penstock.core.model.tasks import TaskId, TaskMetrics
from penstock.embedded.ports import free_port
from penstock.kafka.offsets import sink_looks
from penstock.observe import LogLevels
from penstock.worker.monitoring import sink_progress
from penstock.worker.monitoring.sink_progress import SinkProgress
from support.kafka.client import Kafka
from support.rest.cluster import RestCluster
from support.waiting import until

SINK = {"connector.class": "FileStreamSink", "file": "f"}


@pytest.fixture
def cluster() -> Iterator[RestCluster]:
    with ThreadPoolExecutor(2) as pool:
        cluster = RestCluster(pool, LogLevels())
        cluster.start("one")
        yield cluster


class Watched:
    """The sinks of worker ``one``, looked at when the test says so."""

    def __init__(self, cluster: RestCluster, bootstrap: str) -> None:
        self.now, self.cluster = 1_700_000_000.0, cluster
        self.hangs = threading.Event()
        """Set when the config provider ``hang`` returns."""
        self.hanging_calls = 0
        self.progress = SinkProgress(
            {"bootstrap.servers": bootstrap},
            cluster.workers["one"].herder,
            kind_of=cluster.plugins.kind,
            resolve=self._resolve,
            check=self._check,
            clock=lambda: self.now,
        )

    def _resolve(self, config: Mapping[str, str]) -> dict[str, str]:
        if "${hang:it}" in config.values():
            self.hanging_calls += 1
            self.hangs.wait()
        return {
            key: value.replace("${x:port}", "1").replace("resolved-as-a-bracket", "(") for key, value in config.items()
        }

    def _check(self, config: Mapping[str, str], prefixes: Collection[str]) -> None:
        if "consumer.override.forbidden" in config:
            raise ConnectError("this override is forbidden")

    def create(self, name: str, topics: str, **more: str) -> None:
        config = {**SINK, "name": name, "topics": topics, **{k.replace("__", "."): v for k, v in more.items()}}
        assert self.cluster.submit("one", m.CreateConnector(name, config)).result().status == 201

    def rows(self, after: float = 0.0) -> list[tuple[Any, ...]]:
        self.now += after
        self.progress.look()
        return [(row.kind, row.connector, row.why) for row in self.progress.rows().rows]


@pytest.fixture
def watched(cluster: RestCluster, bootstrap: str) -> Watched:
    return Watched(cluster, bootstrap)


def test_a_sink_whose_topic_does_not_exist(watched: Watched, kafka: Kafka) -> None:
    there = kafka.create_topic()
    watched.create("good", there)
    watched.create("bad", f"{there},{there}-no")
    ((kind, connector, why),) = watched.rows()
    assert (kind, connector) == ("missing-topics", "bad")
    assert f"topic {there}-no does not exist" in why


def test_lag_that_does_not_move_until_the_group_commits(watched: Watched, kafka: Kafka) -> None:
    topic = kafka.create_topic()
    kafka.produce(topic, [b"a", b"b", b"c"])
    group = f"connect-{topic}"
    kafka.commit(group, topic, 1)
    watched.create(topic, topic)
    assert (watched.rows(), watched.rows(after=170)) == ([], [])
    still = f"Its group {group} commits nothing, 2 records wait: {topic}-0 at 1 of 3"
    assert watched.rows(after=30) == [("standstill", topic, still)]
    kafka.commit(group, topic, 3)
    assert watched.rows(after=1) == []


def test_tasks_that_take_records_are_told_from_those_that_do_not(watched: Watched, kafka: Kafka) -> None:
    watched.create("orders", kafka.create_topic())
    metrics = TaskMetrics(TaskId("orders", 0), 1, {"sink-record-send-total": 5.0})
    watched.progress.observe(metrics)
    assert watched.progress.rows().busy == {"orders"}
    watched.now += 200
    watched.progress.observe(metrics)
    assert watched.progress.rows().busy == set()


def test_the_cluster_and_the_group_of_the_consumers_overrides_count(watched: Watched, kafka: Kafka) -> None:
    topic, group = kafka.create_topic(), "a-group-of-its-own"
    kafka.produce(topic, [b"a"])
    kafka.commit(group, topic, 1)
    watched.create("own-group", topic, consumer__override__group__id=group)
    assert watched.rows() == []
    nowhere = f"127.0.0.1:{free_port()}"
    watched.create("nowhere", topic, consumer__override__bootstrap__servers=nowhere)
    ((kind, connector, why),) = watched.rows(after=200)
    assert (kind, connector) == ("unknown", "nowhere")
    assert f"the brokers at {nowhere} gave no answer" in why
    assert "they have never been read" in why


def test_references_are_resolved_and_forbidden_overrides_are_not_used(
    watched: Watched, kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_looks, "LIMIT_S", 0.5)  # no broker answers in any case
    topic = kafka.create_topic()
    servers = "127.0.0.1:${x:port}"
    watched.create("resolved", topic, consumer__override__bootstrap__servers=servers)
    watched.create("refused", topic, consumer__override__forbidden="x")
    found = {connector: why for _, connector, why in watched.rows()}
    assert "127.0.0.1:1 gave no answer" in found["resolved"]
    assert "this override is forbidden" in found["refused"]


def test_a_look_that_does_not_end_holds_up_no_other(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_progress, "RESOLVE_S", 3600.0)
    watched.hangs.clear()
    watched.create("hanging", "t", consumer__override__client__rack="${hang:it}")
    watched.progress.begin_round()
    watched.create("bad", "there-is-no-such-topic")
    watched.progress.begin_round()
    until(lambda: [row.connector for row in watched.progress.rows().rows] == ["bad"], "the row of the other sink")
    assert not watched.hangs.is_set()
    watched.hangs.set()
    watched.progress.close()


def test_a_call_of_a_config_provider_that_hangs_is_not_repeated(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_progress, "RESOLVE_S", 0.01)
    watched.create("hanging", "there-is-no-such-topic", consumer__override__client__rack="${hang:it}")
    for _ in range(3):
        ((kind, connector, why),) = watched.rows()
        assert (kind, connector) == ("unknown", "hanging")
        assert "a config provider, or the policy for overrides, has not returned" in why
    assert watched.hanging_calls == 1
    monkeypatch.setattr(sink_progress, "RESOLVE_S", 3600.0)
    watched.hangs.set()
    until(lambda: [kind for kind, _, _ in watched.rows()] == ["missing-topics"], "the look once it has returned")


def test_a_pattern_that_is_none_hides_no_other_sink(watched: Watched) -> None:
    pattern = {"topics.regex": "resolved-as-a-bracket", "consumer.override.client.id": "${x:port}"}
    config = {**SINK, "name": "bad-pattern", **pattern}
    assert watched.cluster.submit("one", m.CreateConnector("bad-pattern", config)).result().status == 201
    watched.create("other", "there-is-no-such-topic")
    found = {connector: (kind, why) for kind, connector, why in watched.rows()}
    kind, why = found["bad-pattern"]
    assert kind == "unknown"
    assert "its settings can't be used: " in why
    assert found["other"][0] == "missing-topics"


def test_paused_and_deleted_sinks_are_not_watched(watched: Watched) -> None:
    for name in ("paused", "deleted"):
        watched.create(name, "there-is-no-such-topic")
    assert [name for _, name, _ in watched.rows()] == ["paused", "deleted"]
    watched.cluster.submit("one", m.SetTargetState("paused", "PAUSED")).result()
    watched.cluster.submit("one", m.DeleteConnector("deleted")).result()
    assert watched.progress.rows().rows == ()  # before the next look
    assert watched.rows() == []
