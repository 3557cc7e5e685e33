"""Internal topics that the doctor can't read, or not to their ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from penstock.api.errors import ConnectError
from penstock.doctor import topics
from penstock.doctor.findings import Verdict

FORBIDDEN = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed")


class Brokers:
    """They have the config topic, whose ends can be asked for, and send these messages once."""

    def __init__(self, *messages: Any) -> None:
        self.messages = list(messages)

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics={"configs": SimpleNamespace(partitions=[0])})

    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        return 0, 5

    def assign(self, partitions: list[TopicPartition]) -> None: ...

    def consume(self, number: int, timeout: float) -> list[Any]:
        found, self.messages = self.messages, []
        return found

    def position(self, partitions: list[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition("configs", 0, -1001)]


class Forbidden(Brokers):
    def get_watermark_offsets(self, partition: TopicPartition, timeout: float) -> tuple[int, int]:
        raise KafkaException(FORBIDDEN)


def connect(monkeypatch: pytest.MonkeyPatch, brokers: Brokers) -> None:
    @contextmanager
    def consumer(_: object) -> Iterator[Brokers]:
        yield brokers

    monkeypatch.setattr(topics, "_consumer", consumer)
    monkeypatch.setattr(topics, "_PATIENCE", 0.0)


@pytest.mark.parametrize(
    ("brokers", "why"),
    [
        (Forbidden(), "Topic authorization failed"),
        (Brokers(SimpleNamespace(error=lambda: FORBIDDEN)), "Topic authorization failed"),
        (Brokers(), "the brokers have sent no records for 0 s"),
    ],
    ids=["no ends", "no records", "silent"],
)
def test_a_topic_that_can_not_be_read_is_named(brokers: Brokers, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, brokers)
    with pytest.raises(ConnectError) as raised:
        topics.look({"bootstrap.servers": "localhost:9092", "config.storage.topic": "configs"})
    assert str(raised.value) == f"The config topic `configs` can't be read: {why}"


def test_a_topic_whose_name_is_a_reference_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    connect(monkeypatch, Brokers())
    names = {f"{kind}.storage.topic": f"${{file:/topics:{kind}}}" for kind in topics.KINDS}
    found = topics.look({"bootstrap.servers": "localhost:9092", **names})
    assert {(each.subject, each.verdict) for each in found.findings} == {(name, Verdict.UNCHECKED) for name in names}
    assert all("a reference to a config provider" in each.says for each in found.findings)
    assert topics.source_offsets(found, "c") == "its source offsets were not read"
