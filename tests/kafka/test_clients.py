from __future__ import annotations

import time
from typing import Any

from penstock.kafka.clients import init_transactions


class Slow:
    """A producer whose brokers take their time."""

    def __init__(self) -> None:
        self.allowed: list[float] = []

    def list_topics(self, topic: str, timeout: float) -> None:
        self.init_transactions(timeout)

    def init_transactions(self, timeout: float) -> None:
        self.allowed.append(timeout)
        time.sleep(0.05)


def test_a_transactional_id_is_claimed_within_the_time_given() -> None:
    producer: Any = Slow()
    init_transactions(producer, 0.09)
    first, second, last = producer.allowed
    assert first <= 0.09
    assert second <= 0.04
    assert last == 0.001
