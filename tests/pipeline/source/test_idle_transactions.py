"""A task with exactly once (KIP-618) that has nothing to write for longer than brokers remember a transactional id."""

from __future__ import annotations

import time

import pytest

from penstock.api.record import SourceRecord
from penstock.embedded.broker import Broker
from penstock.pipeline.task import TaskFencedError
from support.kafka.client import Kafka
from support.tasks.runs import TaskRun, eventually, new_name
from support.tasks.scripted_source import ScriptedSource, records, scripted

pytestmark = pytest.mark.integration

FORGETFUL = {
    "transactional.id.expiration.ms": "6000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}
"""By default brokers forget an id seven days after its last transaction."""


def test_a_task_that_was_idle_for_too_long_is_lost_and_not_failed() -> None:
    with Broker(extra=FORGETFUL) as broker:
        kafka = Kafka(broker.bootstrap)
        topic, offsets_topic = kafka.create_topic(), kafka.create_topic()
        once = {"exactly_once": True, "offsets_topic": offsets_topic, "group_id": new_name("g")}
        config = {"producer.override.transaction.timeout.ms": "10000"}

        def later(task: ScriptedSource) -> list[SourceRecord]:
            time.sleep(12)
            return records(topic, "b", start=1)

        idle = TaskRun(scripted(records(topic, "a"), later), broker.bootstrap, config, **once)
        eventually(lambda: idle.error)
        idle.join()
        assert isinstance(idle.error, TaskFencedError), idle.failure()
        assert "transactional.id.expiration.ms" in str(idle.error)
        again = {**once, "run": 2}
        with TaskRun(
            scripted(records(topic, "b", start=1)), broker.bootstrap, config, connector=idle.connector, **again
        ):
            eventually(lambda: kafka.values(topic) == [b"a", b"b"])
        eventually(lambda: kafka.values(offsets_topic) == [b'{"o":1}', b'{"o":2}'])
