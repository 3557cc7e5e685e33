"""Dead letters of one try of a partition."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from penstock.spark.query.sink.rows import held_letters
from penstock.spark.query.sink.rows.held_letters import HeldProducer


class Full:
    """A producer with room for one record until it is polled, which refuses what is too large."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.room = True

    def __len__(self) -> int:
        """Return the number of messages that are not sent, as librdkafka's."""
        return 0

    def produce(self, topic: str, value: str, on_delivery: Any) -> None:
        if value == "large":
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        if not self.room:
            raise BufferError
        self.room = False
        self.sent.append((topic, value))

    def poll(self, _: float) -> int:
        self.room = True
        return 0

    def flush(self, _: float) -> int:
        return len(self.sent)


def test_they_are_sent_when_the_try_ends() -> None:
    made: list[Full] = []

    def make() -> Any:
        made.append(Full())
        return made[0]

    held, errors = HeldProducer(make), []
    for value in ("a", "large", "b"):
        held.produce("letters", value, on_delivery=lambda error, _: errors.append(error.code()))
    assert held.poll(0) == 0
    assert made == []
    assert held.flush(1.0) == 2
    assert made[0].sent == [("letters", "a"), ("letters", "b")]
    assert errors == [KafkaError.MSG_SIZE_TOO_LARGE]
    held.produce("letters", "c", on_delivery=None)
    held.flush(1.0)
    assert len(made) == 1
    assert len(made[0].sent) == 3


def test_too_many_are_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_letters, "MAX_HELD", 2)
    producer: Any = Full()
    held = HeldProducer(lambda: producer)
    for value in ("a", "b", "c"):
        held.produce("letters", value, on_delivery=None)
    assert producer.sent == [("letters", "a"), ("letters", "b")]
