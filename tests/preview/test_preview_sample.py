"""Detection of a partition's end, without Kafka."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError

from penstock.preview.sample import _until


@dataclass(frozen=True)
class Told:
    place: int
    failure: KafkaError | None = None

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.place

    def error(self) -> KafkaError | None:
        return self.failure


def test_nothing_is_waited_for_behind_the_mark_of_a_transaction() -> None:
    told = [Told(7), Told(9, KafkaError(KafkaError._TRANSPORT)), Told(9, KafkaError(KafkaError._PARTITION_EOF))]
    consumer: Any = type("", (), {"poll": staticmethod(lambda _: told.pop(0))})
    assert [message.offset() for message in _until(consumer, {("t", 0): 9}, math.inf, 5)] == [7]
    assert told == []
