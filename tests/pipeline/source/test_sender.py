"""What becomes of records that a producer has when its task ends."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer

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


def test_what_has_not_arrived_is_given_up_at_the_end_and_is_no_failure() -> None:
    host, metrics = MemoryHost(), Metrics(lambda values: None, ())
    errors = ErrorHandler(ErrorSettings(), metrics, lambda seconds: False)
    sender = Sender(TaskRuntime(TaskId("c", 0), TaskControl(), host, metrics, errors), LossPolicy())
    producer = Producer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "on_delivery": sender.failed})
    sender.attach(producer, 1_048_576, TopicLimits(nobody, 1_000_000))
    for value in (b"1", b"2"):
        sender.put("t", None, value)
    assert len(producer) >= 2  # besides the records, events that librdkafka may have about its connections
    sender.close()
    until(lambda: producer.poll(0.1) >= 0 and not len(producer), "the end of the records", SECONDS)
    assert not sender.lost
    sender.check()
