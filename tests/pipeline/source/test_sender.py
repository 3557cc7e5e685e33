"""What becomes of records that a producer has when its task ends."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Producer

from penstock.api.batch import Batch
from penstock.api.errors import DataError
from penstock.core.model.tasks import TaskId
from penstock.pipeline.errors import ErrorHandler, ErrorSettings
from penstock.pipeline.metrics import Metrics
from penstock.pipeline.runtime import TaskRuntime
from penstock.pipeline.source.sender import LossPolicy, Sender
from penstock.pipeline.source.topic_limits import TopicLimits
from penstock.pipeline.task import TaskControl
from support.tasks.runs import MemoryHost
from support.waiting import SECONDS, until


def nobody() -> Any:
    raise AssertionError("no broker is asked")


def sending() -> tuple[Sender, Producer]:
    host, metrics = MemoryHost(), Metrics(lambda values: None, ())
    errors = ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    sender = Sender(TaskRuntime(TaskId("c", 0), TaskControl(), host, metrics, errors), LossPolicy())
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "on_delivery": sender.failed})
    sender.attach(producer, 1_048_576, TopicLimits(nobody, 1_000_000))
    return sender, producer


def test_a_partition_that_is_none_is_refused_as_in_java() -> None:
    sender, _ = sending()
    batch = Batch.of("t", [b"1", b"2"], partitions=[None, -1])
    with pytest.raises(
        DataError, match=r"^Invalid partition: -1\. Partition number should always be non-negative or n"
    ):
        sender.send(batch)
    sender.close()


def test_what_has_not_arrived_is_given_up_at_the_end_and_is_no_failure() -> None:
    sender, producer = sending()
    for value in (b"1", b"2"):
        sender.put("t", None, value)
    assert len(producer) >= 2  # besides the records, events that librdkafka may have about its connections
    sender.close()
    until(lambda: producer.poll(0.1) >= 0 and not len(producer), "the end of the records", SECONDS)
    assert not sender.lost
    sender.check()
