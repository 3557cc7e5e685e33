"""Topics for one test each."""

from __future__ import annotations

import pytest

from support.kafka.client import Kafka


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.create_topic()


@pytest.fixture
def offsets_topic(kafka: Kafka) -> str:
    return kafka.create_topic(config={"cleanup.policy": "compact"})
